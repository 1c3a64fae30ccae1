"""endpoints-controller: an Endpoints object of the name of every service that selects pods.

It reads services and pods (`service_pods.py`). Pods that are being deleted are not in it. The object goes with its
service.

Keys: services, `namespace/name`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.api.views.pods import Pod
from doorman.api.views.services import Endpoints, Service, selecting_in
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import Create, Delete, Update
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.service.service_pods import (
    HEADLESS,
    TRIGGER,
    by_ports,
    is_asked,
    is_headless,
    pod_keys,
    pods_behind,
    reference_to,
    service_keys,
)

NAME: Final = "endpoints-controller"
RESOURCE: Final = "endpoints"
MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
MANAGER: Final = "endpoint-controller"
WORKERS: Final = 5


def endpoints_keys(change: ObjectChange) -> Iterable[str]:
    """When somebody deleted it. Those without a service are their makers' to change, and may be there before it."""
    return (change.newest.metadata.key,) if change.new is None else ()


def decide_subsets(service: Service, pods: Iterable[Pod]) -> list[dict[str, Any]]:  # JSON
    subsets = []
    for ports, reached in sorted(by_ports(service, pods).items()):
        subset: dict[str, Any] = {}
        for member, group in (
            ("addresses", [pod for pod in reached if is_asked(service, pod)]),
            ("notReadyAddresses", [pod for pod in reached if not is_asked(service, pod)]),
        ):
            if group:
                subset[member] = [_address(pod) for pod in group]
        if ports:
            subset["ports"] = [_port(*port) for port in ports]
        subsets.append(subset)
    return subsets


def decide_labels(service: Service) -> Mapping[str, str]:
    headless = {HEADLESS: ""} if is_headless(service) else {}
    return {**service.metadata.labels, **headless, MANAGED_BY: MANAGER}


class EndpointsController:
    name = NAME
    workers = WORKERS

    def __init__(self, services: ListerOf[Service], pods: ListerOf[Pod], endpoints: ListerOf[Endpoints]) -> None:
        self._services = services
        self._pods = pods
        self._endpoints = endpoints
        self.sources: Sequence[Source] = (
            Source("services", service_keys),
            Source("pods", pod_keys(services)),
            Source(RESOURCE, endpoints_keys),
        )

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        service, found = self._services.get(key), self._endpoints.get(key)
        namespace, _, name = key.partition("/")
        if service is None:
            gone = Delete(resource=RESOURCE, namespace=namespace, name=name)
            return Result(actions=(gone,)) if found is not None else DONE
        if not selecting_in(service):
            return DONE
        subsets = decide_subsets(service, pods_behind(service, self._pods, with_terminating=False))
        labels = dict(decide_labels(service))
        if found is not None and found.subsets == subsets and found.metadata.labels == labels:
            return DONE
        metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": {TRIGGER: to_time(now)}}
        body: dict[str, Any] = {"metadata": metadata, **({"subsets": subsets} if subsets else {})}
        if found is None:
            return Result(actions=(Create(resource=RESOURCE, namespace=namespace, body=body),))
        return Result(actions=(Update(resource=RESOURCE, namespace=namespace, name=name, body=body),))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change of the service or of a pod tries again."""
        return


def _address(pod: Pod) -> dict[str, Any]:  # JSON
    node = {"nodeName": pod.spec.node_name} if pod.spec.node_name else {}
    return {"ip": pod.status.pod_ip, **node, "targetRef": reference_to(pod.metadata)}


def _port(name: str, number: int, protocol: str, app_protocol: str) -> dict[str, Any]:  # JSON
    shown: dict[str, Any] = {"name": name} if name else {}
    shown |= {"port": number, "protocol": protocol}
    return {**shown, "appProtocol": app_protocol} if app_protocol else shown
