"""service-lb-controller: addresses for services of type LoadBalancer, from a cloud that is simulated.

It reads services and nodes. Upstream's cloud-controller-manager does this with a provider; here the provider is a pool
of addresses, and no traffic flows. Where no node is simulated it leaves services to whoever balances their load.

Rules
-----
1. A service of type LoadBalancer without a class is told `EnsuringLoadBalancer` and held by a finalizer; a moment later
   it has its addresses, one of each of its families, and `EnsuredLoadBalancer`.
2. The address it asks for (`spec.loadBalancerIP`) is given if no other service has it. Else it is one of the pool that
   no other has. What a service has, whoever gave it, stays.
3. A service that goes, or is of another type now, loses it: `DeletingLoadBalancer`, `DeletedLoadBalancer`, and the
   finalizer is taken away.
4. Nodes count that are not being deleted, not labelled to be left out, and not about to be removed by an autoscaler.
   When they change, each service hears of it: `UpdatedLoadBalancer`, or `UnAvailableLoadBalancer` where there is none.

Keys: `service/<namespace>/<name>`, and `nodes`.
"""

import zlib
from collections.abc import Container, Iterable
from ipaddress import ip_address, ip_network
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.services import Service
from doorman.base.clock import Instant
from doorman.client.actions import Action, Patch, PatchType, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.status_reports import reference_to

NAME: Final = "service-lb-controller"
COMPONENT: Final = "service-controller"
WORKERS: Final = 4
FINALIZER: Final = "service.kubernetes.io/load-balancer-cleanup"
EXCLUDED: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
TO_BE_DELETED: Final = "ToBeDeletedByClusterAutoscaler"
ENSURE_SECONDS: Final = 1.0
"""How long the simulated cloud takes to make a load balancer."""
POOLS: Final = {"IPv4": ip_network("198.18.0.0/15"), "IPv6": ip_network("2001:2::/112")}
"""Networks that are kept for benchmarks: no address of them is anybody's."""
_FALSE: Final = frozenset(("0", "f", "F", "FALSE", "false", "False"))


def wants_load_balancer(service: Service) -> bool:
    """Who names a class means another provider."""
    return service.spec.type == "LoadBalancer" and service.spec.load_balancer_class is None


def service_keys(change: ObjectChange) -> Iterable[str]:
    new: Service | None = change.new
    if new is None or not (wants_load_balancer(new) or FINALIZER in new.metadata.finalizers):
        return ()
    return (f"service/{new.metadata.key}",)


def node_keys(change: ObjectChange) -> Iterable[str]:
    """Nodes that come, go, or are labelled."""
    old, new = change.old, change.new
    if old is not None and new is not None and _is_included(old) is _is_included(new):
        return ()
    return ("nodes",)


SOURCES: Final = (Source("services", service_keys), Source("nodes", node_keys))


def balances(node: Node) -> bool:
    """Rule 4."""
    is_leaving = bool(node.metadata.deletion_timestamp) or any(one.key == TO_BE_DELETED for one in node.spec.taints)
    return not is_leaving and _is_included(node)


def decide_addresses(service: Service, taken: Container[str]) -> tuple[str, ...]:
    """Rule 2: one of each family; those it has stay."""
    own = [one.ip for one in service.status.load_balancer.ingress if one.ip]
    asked = service.spec.load_balancer_ip
    found = []
    for family in service.spec.ip_families or ("IPv4",):
        if asked and asked not in taken and _family_of(asked) == family:
            found.append(asked)
            continue
        kept = next((one for one in own if _family_of(one) == family and one not in taken), "")
        found.append(kept or _free_address(family, service.metadata.uid, taken))
    return tuple(filter(None, found))


def is_settled(service: Service, taken: Container[str]) -> bool:
    """Whether it has what rule 2 gives it."""
    has, asked = [one.ip for one in service.status.load_balancer.ingress], service.spec.load_balancer_ip
    return bool(has) and (not asked or asked in has or asked in taken)


class LoadBalancerController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, services: ListerOf[Service], nodes: ListerOf[Node], simulated: str) -> None:
        """`simulated`: the annotation of nodes that are."""
        self._services = services
        self._nodes = nodes
        self._simulated = simulated
        self._asked: dict[str, Instant] = {}
        """By uid: when its load balancer is made."""
        self._hosts: dict[str, tuple[str, ...]] = {}
        """By uid: the nodes it was last told of."""

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        if key == "nodes":
            return self._tell_of_nodes(now)
        service = self._services.get(key.removeprefix("service/"))
        if service is None:
            return DONE
        is_held = FINALIZER in service.metadata.finalizers
        if is_held and (service.metadata.deletion_timestamp or service.spec.type != "LoadBalancer"):
            return Result(actions=self._remove(service))
        if service.metadata.deletion_timestamp or not wants_load_balancer(service) or not self._is_ours():
            return DONE
        return self._ensure(key, service, now)

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the service is the next try."""

    def _is_ours(self) -> bool:
        return any(node.metadata.annotations.get(self._simulated) == "true" for node in self._nodes.list())

    def _ensure(self, key: str, service: Service, now: Instant) -> Result:
        """Rule 1."""
        uid = service.metadata.uid
        taken = self._taken_by_others(service)
        if FINALIZER in service.metadata.finalizers and is_settled(service, taken):
            self._asked.pop(uid, None)
            self._hosts.setdefault(uid, self._balancing())
            return DONE
        due = self._asked.get(uid)
        if due is None:
            due = self._asked[uid] = now + ENSURE_SECONDS
            actions: list[Action] = [_event(service, "EnsuringLoadBalancer", "Ensuring load balancer")]
            if FINALIZER not in service.metadata.finalizers:
                finalizers = [*service.metadata.finalizers, FINALIZER]
                actions.append(_patch(service, {"metadata": {"finalizers": finalizers}}))
            return Result(actions=actions, wakes=((key, due),))
        if now < due:
            return Result(wakes=((key, due),))
        del self._asked[uid]
        hosts = self._hosts[uid] = self._balancing()
        told = [] if hosts else [_unavailable(service)]
        ingress = [{"ip": address, "ipMode": "VIP"} for address in decide_addresses(service, taken)]
        return Result(
            actions=(
                *told,
                _patch(service, {"status": {"loadBalancer": {"ingress": ingress}}}),
                _event(service, "EnsuredLoadBalancer", "Ensured load balancer"),
            )
        )

    def _remove(self, service: Service) -> tuple[Action, ...]:
        """Rule 3."""
        meta = service.metadata
        self._asked.pop(meta.uid, None)
        self._hosts.pop(meta.uid, None)
        left = [one for one in meta.finalizers if one != FINALIZER]
        is_going = bool(meta.deletion_timestamp)
        cleared = {} if is_going else {"status": {"loadBalancer": {"ingress": None}}}
        return (
            _event(service, "DeletingLoadBalancer", "Deleting load balancer"),
            _patch(service, {"metadata": {"finalizers": left or None}, **cleared}),
            _event(service, "DeletedLoadBalancer", "Deleted load balancer"),
        )

    def _tell_of_nodes(self, now: Instant) -> Result:
        """Rule 4. Services that waited for a node to be simulated are looked at, too."""
        services = [one for one in self._services.list() if wants_load_balancer(one)]
        if not services:
            return DONE  # without a look at all the nodes
        hosts = self._balancing()
        actions: list[Action] = []
        wakes: list[tuple[str, Instant]] = []
        for service in services:
            if service.metadata.deletion_timestamp:
                continue
            before = self._hosts.get(service.metadata.uid)
            if before is None:
                wakes.append((f"service/{service.metadata.key}", now))
            elif before != hosts:
                self._hosts[service.metadata.uid] = hosts
                updated = _event(service, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
                actions.append(updated if hosts else _unavailable(service))
        return Result(actions=actions, wakes=wakes)

    def _balancing(self) -> tuple[str, ...]:
        return tuple(node.metadata.name for node in self._nodes.list() if balances(node))

    def _taken_by_others(self, service: Service) -> set[str]:
        return {
            ingress.ip
            for other in self._services.list()
            if other.metadata.uid != service.metadata.uid
            for ingress in other.status.load_balancer.ingress
        }


def _is_included(node: Node) -> bool:
    """A label that is no boolean leaves the node out, too."""
    text = node.metadata.labels.get(EXCLUDED)
    return text is None or text in _FALSE


def _family_of(address: str) -> str:
    try:
        return f"IPv{ip_address(address).version}"
    except ValueError:
        return ""


def _free_address(family: str, uid: str, taken: Container[str]) -> str:
    """By a hash of the uid, so that the same cluster gives the same addresses; the next one that is free, if any is."""
    pool = POOLS[family]
    usable = min(pool.num_addresses, 1 << 16) - 2
    first = zlib.crc32(uid.encode())
    for step in range(usable):
        address = str(pool[1 + (first + step) % usable])
        if address not in taken:
            return address
    return ""


def _patch(service: Service, body: dict[str, object]) -> Patch:
    """Through status, as upstream does: its rights go no further."""
    return Patch(
        resource="services",
        namespace=service.metadata.namespace,
        name=service.metadata.name,
        subresource="status",
        body=body,
        type=PatchType.MERGE,
    )


def _event(service: Service, reason: str, message: str, *, kind: str = "Normal") -> RecordEvent:
    regarding = reference_to(service.metadata, api_version="v1", kind="Service")
    return RecordEvent(regarding=regarding, type=kind, reason=reason, message=message, component=COMPONENT)


def _unavailable(service: Service) -> RecordEvent:
    text = "There are no available nodes for LoadBalancer"
    return _event(service, "UnAvailableLoadBalancer", text, kind="Warning")
