"""endpointslicemirroring-controller: slices of Endpoints that people write for services which select no pods.

It reads services, Endpoints and slices.

1. Endpoints are mirrored when there is a service of their name that selects nothing, unless a label says not to, or an
   annotation shows that they are the lock of a leader election.
2. Each subset and family of addresses is a slice, of a thousand endpoints at most; addresses that are not ready are
   endpoints that are not ready.
3. Slices carry the labels and annotations of the Endpoints, and go with them.

Keys: Endpoints, `namespace/name`.
"""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Final

from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.services import Endpoints, EndpointSlice, Service
from doorman.api.well_known import LAST_APPLIED
from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.client.actions import Action, Create, Delete, Update
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.service.endpoint_slices import MANAGED_BY, RESOURCE, SERVICE_NAME
from doorman.controllers.service.service_pods import TRIGGER

NAME: Final = "endpointslice-mirroring-controller"
MANAGER: Final = "endpointslicemirroring-controller.k8s.io"
SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
ENDPOINTS_MAX: Final = 1000
WORKERS: Final = 5


def own_keys(change: ObjectChange) -> Iterable[str]:
    return (change.newest.metadata.key,)


def slice_keys(change: ObjectChange) -> Iterable[str]:
    """When somebody changed or deleted one of ours."""
    meta = change.newest.metadata
    if change.old is None or meta.labels.get(MANAGED_BY) != MANAGER:
        return ()
    return (f"{meta.namespace}/{meta.labels.get(SERVICE_NAME, '')}",)


def decide_mirrored(endpoints: Endpoints | None, service: Service | None) -> bool:
    """Whether there are to be slices of them."""
    if endpoints is None or service is None or service.spec.selector:
        return False
    meta = endpoints.metadata
    return meta.labels.get(SKIP) != "true" and LEADER not in meta.annotations and not meta.deletion_timestamp


def decide_slices(subsets: Iterable[Document]) -> list[Document]:
    """Address type, endpoints and ports of each slice there is to be."""
    found: list[Document] = []
    for subset in subsets:
        by_type: dict[str, list[Document]] = {}
        for member, is_ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(member) or ():
                kind = "IPv6" if ip_address(address["ip"]).version == 6 else "IPv4"
                by_type.setdefault(kind, []).append(_endpoint(address, is_ready=is_ready))
        ports = [_port(port) for port in subset.get("ports") or ()]
        for kind, members in sorted(by_type.items()):
            for start in range(0, len(members), ENDPOINTS_MAX):
                some = members[start : start + ENDPOINTS_MAX]
                found.append({"addressType": kind, "endpoints": some, "ports": ports})
    return found


class EndpointSliceMirroringController:
    name = NAME
    workers = WORKERS

    def __init__(
        self, services: ListerOf[Service], endpoints: ListerOf[Endpoints], slices: ListerOf[EndpointSlice]
    ) -> None:
        self._services = services
        self._endpoints = endpoints
        self._slices = slices
        self.sources: Sequence[Source] = (
            Source("services", own_keys),
            Source("endpoints", own_keys),
            Source(RESOURCE, slice_keys),
        )

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        endpoints = self._endpoints.get(key)
        existing = list(self._own(key))
        is_mirrored = decide_mirrored(endpoints, self._services.get(key))
        wanted: list[Document] = []
        if is_mirrored and endpoints is not None:
            head = _metadata(endpoints)
            wanted = [{"metadata": dict(head), **one} for one in decide_slices(endpoints.subsets or ())]
        actions = _actions(key, existing, wanted)
        return Result(actions=actions) if actions else DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change of the Endpoints or their service tries again."""
        return

    def _own(self, key: str) -> Iterable[EndpointSlice]:
        namespace, _, name = key.partition("/")
        for found in self._slices.by(BY_NAMESPACE, namespace):
            labels = found.metadata.labels
            if labels.get(SERVICE_NAME) == name and labels.get(MANAGED_BY) == MANAGER:
                yield found


def _actions(key: str, existing: list[EndpointSlice], wanted: list[Document]) -> list[Action]:
    """Slices whose family of addresses fits are used again: that cannot be changed."""
    namespace, _, name = key.partition("/")
    actions: list[Action] = []
    free = list(existing)
    for body in wanted:
        found = next((one for one in free if one.address_type == body["addressType"]), None)
        if found is None:
            body["metadata"] |= {"generateName": f"{name}-"}
            actions.append(Create(resource=RESOURCE, namespace=namespace, body=body))
            continue
        free.remove(found)
        if not _is_same(found, body):
            body["metadata"] |= {"name": found.metadata.name}
            actions.append(Update(resource=RESOURCE, namespace=namespace, name=found.metadata.name, body=body))
    for found in free:
        meta = found.metadata
        actions.append(Delete(resource=RESOURCE, namespace=namespace, name=meta.name, uid=meta.uid))
    return actions


def _is_same(found: EndpointSlice, body: Document) -> bool:
    meta, wanted = found.metadata, body["metadata"]
    there = (found.endpoints or [], found.ports or [], meta.labels, meta.annotations)
    return there == (body["endpoints"], body["ports"], wanted["labels"], wanted["annotations"])


def _metadata(endpoints: Endpoints) -> Document:
    meta = endpoints.metadata
    owner = {"apiVersion": "v1", "kind": "Endpoints", "name": meta.name, "uid": meta.uid}
    notes = {key: value for key, value in meta.annotations.items() if key not in (TRIGGER, LAST_APPLIED)}
    return {
        "namespace": meta.namespace,
        "labels": {**meta.labels, SERVICE_NAME: meta.name, MANAGED_BY: MANAGER},
        "annotations": notes,
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }


def _endpoint(address: Document, *, is_ready: bool) -> Document:
    out: Document = {"addresses": [address["ip"]], "conditions": {"ready": is_ready}}
    for name in ("hostname", "nodeName", "targetRef"):
        if address.get(name):
            out[name] = address[name]
    return out


def _port(port: Document) -> Document:
    out: Document = {
        "name": port.get("name") or "",
        "port": port.get("port"),
        "protocol": port.get("protocol") or "TCP",
    }
    return {**out, "appProtocol": port["appProtocol"]} if port.get("appProtocol") else out
