"""endpointslice-controller: slices of at most a hundred endpoints for every service that selects pods.

It reads services, pods (`service_pods.py`), and of nodes the zone. Pods that are being deleted are in a slice until
they are gone, and say so. A service without pods has one slice without endpoints. Slices belong to their service, so
the garbage collector takes them away.

Keys: services, `namespace/name`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.pods import Pod
from doorman.api.views.services import EndpointSlice, Service, selecting_in
from doorman.api.well_known import ZONE_LABEL
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.client.actions import Action, Create, Delete, Update
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.pod_state import is_ready
from doorman.controllers.service.service_pods import (
    HEADLESS,
    TRIGGER,
    Ports,
    by_ports,
    is_headless,
    pod_keys,
    pods_behind,
    reference_to,
    service_keys,
)

NAME: Final = "endpointslice-controller"
RESOURCE: Final = "endpointslices.discovery.k8s.io"
SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
MANAGER: Final = "endpointslice-controller.k8s.io"
ENDPOINTS_MAX: Final = 100
WORKERS: Final = 5

SliceContents = tuple[list[Document], list[Document]]
"""Endpoints and ports of a slice."""


def slice_keys(change: ObjectChange) -> Iterable[str]:
    """When somebody changed or deleted one of ours."""
    meta = change.newest.metadata
    if change.old is None or meta.labels.get(MANAGED_BY) != MANAGER:
        return ()
    return (f"{meta.namespace}/{meta.labels.get(SERVICE_NAME, '')}",)


def decide_contents(service: Service, pods: Iterable[Pod], nodes: ListerOf[Node]) -> list[SliceContents]:
    """Of each slice there is to be."""
    contents = []
    for ports, reached in sorted(by_ports(service, pods).items()):
        for start in range(0, len(reached), ENDPOINTS_MAX):
            some = [_endpoint(service, pod, nodes) for pod in reached[start : start + ENDPOINTS_MAX]]
            contents.append((some, _ports(ports)))
    return contents or [([], [])]


class EndpointSliceController:
    name = NAME
    workers = WORKERS

    def __init__(
        self,
        services: ListerOf[Service],
        pods: ListerOf[Pod],
        slices: ListerOf[EndpointSlice],
        nodes: ListerOf[Node],
    ) -> None:
        self._services = services
        self._pods = pods
        self._slices = slices
        self._nodes = nodes
        self.sources: Sequence[Source] = (
            Source("services", service_keys),
            Source("pods", pod_keys(services)),
            Source(RESOURCE, slice_keys),
        )

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        service = self._services.get(key)
        if service is None or service.metadata.deletion_timestamp or not selecting_in(service):
            return DONE
        wanted = decide_contents(service, pods_behind(service, self._pods, with_terminating=True), self._nodes)
        labels = _labels(service)
        actions: list[Action] = []
        existing = list(self._own(service))
        for found, (endpoints, ports) in zip(existing, wanted, strict=False):
            is_same = (found.endpoints or []) == endpoints and (found.ports or []) == ports
            if not is_same or found.metadata.labels != labels:
                body = _body(service, labels, endpoints, ports, now)
                body["metadata"] |= {"name": found.metadata.name}
                where = service.metadata.namespace
                actions.append(Update(resource=RESOURCE, namespace=where, name=found.metadata.name, body=body))
        for endpoints, ports in wanted[len(existing) :]:
            body = _body(service, labels, endpoints, ports, now)
            body["metadata"] |= {"generateName": f"{service.metadata.name}-"}
            actions.append(Create(resource=RESOURCE, namespace=service.metadata.namespace, body=body))
        for found in existing[len(wanted) :]:
            meta = found.metadata
            actions.append(Delete(resource=RESOURCE, namespace=meta.namespace, name=meta.name, uid=meta.uid))
        return Result(actions=actions) if actions else DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change of the service or of a pod tries again."""
        return

    def _own(self, service: Service) -> Iterable[EndpointSlice]:
        for found in self._slices.by(BY_NAMESPACE, service.metadata.namespace):
            labels = found.metadata.labels
            if labels.get(SERVICE_NAME) == service.metadata.name and labels.get(MANAGED_BY) == MANAGER:
                yield found


def _labels(service: Service) -> dict[str, str]:
    headless = {HEADLESS: ""} if is_headless(service) else {}
    return {**service.metadata.labels, **headless, SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER}


def _body(
    service: Service, labels: dict[str, str], endpoints: list[Document], ports: list[Document], now: Instant
) -> Document:
    meta = service.metadata
    owner = {"apiVersion": "v1", "kind": "Service", "name": meta.name, "uid": meta.uid}
    metadata: Document = {
        "namespace": meta.namespace,
        "labels": labels,
        "annotations": {TRIGGER: to_time(now)},
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }
    return {"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints, "ports": ports}


def _endpoint(service: Service, pod: Pod, nodes: ListerOf[Node]) -> Document:
    ready, going = is_ready(pod), bool(pod.metadata.deletion_timestamp)
    is_asked = service.spec.publish_not_ready_addresses or (ready and not going)
    out: Document = {
        "addresses": [pod.status.pod_ip],
        "conditions": {"ready": is_asked, "serving": ready, "terminating": going},
        "targetRef": reference_to(pod.metadata),
    }
    if pod.spec.node_name:
        out["nodeName"] = pod.spec.node_name
        node = nodes.get(pod.spec.node_name)
        if node is not None and node.metadata.labels.get(ZONE_LABEL):
            out["zone"] = node.metadata.labels[ZONE_LABEL]
    return out


def _ports(ports: Ports) -> list[Document]:
    found = []
    for name, number, protocol, app_protocol in ports:
        shown: Document = {"name": name, "port": number, "protocol": protocol}
        found.append({**shown, "appProtocol": app_protocol} if app_protocol else shown)
    return found
