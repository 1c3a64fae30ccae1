"""Which pods stand behind a service, at which ports: what both controllers of endpoints go by.

1. A pod belongs to a service of its namespace whose selector its labels match, once it has an address and until it
   has ended.
2. A port that is named leads to the container port of that name and protocol. A pod without it is not reached at it.
3. A pod is asked for traffic when it is Ready, or when the service publishes those that are not.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.pods import Pod
from doorman.api.views.services import Service
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.pod_state import is_ready

SELECTING: Final = "selecting"
"""The index of services that select pods, by namespace."""
HEADLESS: Final = "service.kubernetes.io/headless"
TRIGGER: Final = "endpoints.kubernetes.io/last-change-trigger-time"

Ports = tuple[tuple[str, int, str, str], ...]
"""Name, number, protocol and application protocol of each."""


def service_keys(change: ObjectChange) -> Iterable[str]:
    old, new = change.old, change.new
    is_same = old is not None and new is not None and old.spec == new.spec
    return () if is_same and old.metadata.labels == new.metadata.labels else (change.newest.metadata.key,)


def pod_keys(services: ListerOf[Service]) -> Callable[[ObjectChange], Iterable[str]]:
    """Services that a pod belongs or belonged to. Where no service selects anything this costs one look-up."""

    def keys(change: ObjectChange) -> Iterable[str]:
        old: Pod | None = change.old
        new: Pod | None = change.new
        candidates = services.by(SELECTING, change.newest.metadata.namespace)
        if not candidates or (old is not None and new is not None and _facts(old) == _facts(new)):
            return ()
        seen = [pod.metadata.labels for pod in (old, new) if pod is not None]
        return [one.metadata.key for one in candidates if any(_selects(one, labels) for labels in seen)]

    return keys


def pods_behind(service: Service, pods: ListerOf[Pod], *, with_terminating: bool) -> Sequence[Pod]:
    """In order of their names."""
    return [
        pod
        for pod in pods.by(BY_NAMESPACE, service.metadata.namespace)
        if _selects(service, pod.metadata.labels)
        and pod.status.pod_ip
        and not pod.is_finished
        and (with_terminating or not pod.metadata.deletion_timestamp)
    ]


def by_ports(service: Service, pods: Iterable[Pod]) -> Mapping[Ports, Sequence[Pod]]:
    """Pods that are reached at the same ports, together."""
    found: dict[Ports, list[Pod]] = {}
    for pod in pods:
        ports = ports_of(service, pod)
        if ports or not service.spec.ports:
            found.setdefault(ports, []).append(pod)
    return found


def ports_of(service: Service, pod: Pod) -> Ports:
    found = []
    for port in service.spec.ports:
        number = port.target_port or port.port
        if isinstance(number, str):
            number = _named(pod, number, port.protocol)
        if number:
            found.append((port.name, number, port.protocol, port.app_protocol))
    return tuple(found)


def is_asked(service: Service, pod: Pod) -> bool:
    return service.spec.publish_not_ready_addresses or is_ready(pod)


def is_headless(service: Service) -> bool:
    return service.spec.cluster_ips[:1] == ("None",)


def reference_to(meta: ObjectMeta) -> dict[str, Any]:  # JSON
    return {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}


def _named(pod: Pod, name: str, protocol: str) -> int:
    sidecars = (one for one in pod.spec.init_containers if one.restart_policy == "Always")
    for container in (*pod.spec.containers, *sidecars):
        for port in container.ports:
            if port.name == name and port.protocol == protocol:
                return port.container_port
    return 0


def _selects(service: Service, labels: Mapping[str, str]) -> bool:
    selector = service.spec.selector
    return bool(selector) and all(labels.get(name) == value for name, value in selector.items())


def _facts(pod: Pod) -> tuple[object, ...]:
    meta, status = pod.metadata, pod.status
    return meta.labels, status.pod_ip, is_ready(pod), bool(meta.deletion_timestamp), pod.is_finished, meta.uid
