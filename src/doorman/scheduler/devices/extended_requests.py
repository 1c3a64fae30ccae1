"""Extended resources that a DeviceClass stands for: the requests for devices that a pod's containers come to.

Rules
-----
1. A container that runs as long as the pod (an ordinary one, or a sidecar) has devices of its own.
2. Init containers that end before those start may use the devices of all that start later; what one of them needs
   beyond that is asked for once, for the one that needs most, and the others use the same.
3. A request is named `container-<index>-request-<index>`: the container's place among all, init containers first, and
   the resource's place among all that the container asks for, by name.

>>> from doorman.api.views.pods import PodSpec, ResourceRequirements
>>> gpus = ResourceRequirements(requests={"cpu": "1", "example.com/gpu": "2"})
>>> spec = PodSpec(containers=(Container(name="train", resources=gpus),))
>>> made = extended_requests(spec, {"example.com/gpu": "gpu"})
>>> [(request.name, request.exactly.device_class_name, request.exactly.count) for request in made.requests]
[('container-0-request-1', 'gpu', 2)]
>>> made.mappings
({'containerName': 'train', 'resourceName': 'example.com/gpu', 'requestName': 'container-0-request-1'},)
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from doorman.api.machinery.quantity import QuantityError, whole_value
from doorman.api.views.pods import Container, Pod, PodSpec
from doorman.api.views.resource.resource_claims import (
    EXTENDED_RESOURCE_ANNOTATION,
    DeviceRequest,
    ExactDeviceRequest,
)
from doorman.base.json_types import Document

NAME: Final = "<extended-resources>"
"""Of the claim while it exists in memory only; no claim can have it."""


class ExtendedRequests(msgspec.Struct, frozen=True):
    requests: tuple[DeviceRequest, ...]
    mappings: tuple[Mapping[str, str], ...]
    """For the pod's status: which container uses which request for which resource."""


def extended_requests(spec: PodSpec, classes: Mapping[str, str]) -> ExtendedRequests:
    """`classes`: of which class devices are needed, by resource."""
    containers = (*spec.init_containers, *spec.containers)
    passing = [
        at for at, each in enumerate(containers) if at < len(spec.init_containers) and each.restart_policy != "Always"
    ]
    staying = [at for at in range(len(containers)) if at not in passing]
    requests: list[DeviceRequest] = []
    mappings: list[Mapping[str, str]] = []
    for resource in sorted(classes):
        own: dict[int, DeviceRequest] = {}
        for at in staying:
            request, used = _request(at, containers[at], resource, classes[resource], ())
            if request is not None:
                own[at] = request
            mappings.extend(used)
        most, passing_mappings = _passing(containers, passing, own, resource, classes[resource])
        requests.extend(most)
        requests.extend(own.values())
        mappings.extend(passing_mappings)
    requests.sort(key=lambda request: request.name)
    return ExtendedRequests(tuple(requests), tuple(mappings))


def claim_manifest(pod: Pod, requests: Iterable[DeviceRequest]) -> Document:
    """The claim that is made for the pod's extended resources."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid, "controller": True}
    return {
        "metadata": {
            "generateName": f"{pod.metadata.name}-extended-resources-",
            "namespace": pod.metadata.namespace,
            "annotations": {EXTENDED_RESOURCE_ANNOTATION: "true"},
            "ownerReferences": [owner],
        },
        "spec": {"devices": {"requests": [_manifest(request) for request in requests]}},
    }


def _manifest(request: DeviceRequest) -> Document:
    assert request.exactly is not None, "extended resources are asked for by number"
    exactly = {
        "deviceClassName": request.exactly.device_class_name,
        "allocationMode": request.exactly.allocation_mode,
        "count": request.exactly.count,
    }
    return {"name": request.name, "exactly": exactly}


def _passing(
    containers: Sequence[Container],
    passing: Sequence[int],
    own: Mapping[int, DeviceRequest],
    resource: str,
    device_class: str,
) -> tuple[list[DeviceRequest], list[Mapping[str, str]]]:
    """Rule 2."""
    most: DeviceRequest | None = None
    names: set[str] = set()
    mappings: list[Mapping[str, str]] = []
    for at in passing:
        later = [request for place, request in sorted(own.items()) if place >= at]
        request, used = _request(at, containers[at], resource, device_class, later)
        if request is not None:
            names.add(request.name)
            if most is None or _count(most) < _count(request):
                most = request
        mappings.extend(used)
    if most is None:
        return [], mappings
    return [most], [
        {**mapping, "requestName": most.name} if mapping["requestName"] in names else mapping for mapping in mappings
    ]


def _request(
    at: int, container: Container, resource: str, device_class: str, usable: Sequence[DeviceRequest]
) -> tuple[DeviceRequest | None, list[Mapping[str, str]]]:
    """What the container needs beyond what it may use, and what it uses."""
    asked = container.resources.requests
    try:
        wanted = whole_value(asked[resource]) if resource in asked else 0
    except QuantityError:
        wanted = 0
    if not wanted:
        return None, []
    mappings: list[Mapping[str, str]] = []

    def uses(name: str) -> None:
        mappings.append({"containerName": container.name, "resourceName": resource, "requestName": name})

    there = 0
    for request in usable:
        there += _count(request)
        uses(request.name)
        if there >= wanted:
            return None, mappings
    name = f"container-{at}-request-{sorted(asked).index(resource)}"
    uses(name)
    exactly = ExactDeviceRequest(device_class_name=device_class, count=wanted - there)
    return DeviceRequest(name=name, exactly=exactly), mappings


def _count(request: DeviceRequest) -> int:
    assert request.exactly is not None, "extended resources are asked for by number"
    return request.exactly.count
