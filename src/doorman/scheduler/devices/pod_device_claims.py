"""The claims of one pod as the scheduler meets them: those that have devices, those that need some, and the one that
is made for extended resources.
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pods import Pod
from doorman.api.views.resource.resource_claims import (
    EXTENDED_RESOURCE_ANNOTATION,
    DeviceClaim,
    ResourceClaim,
    ResourceClaimSpec,
)
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.devices.device_fits import NO_RESOURCE, STALE_CLAIM, spec_key
from doorman.scheduler.devices.device_state import DeviceState, pending_uid
from doorman.scheduler.devices.extended_requests import NAME, ExtendedRequests, extended_requests
from doorman.scheduler.framework import PreFilterReject
from doorman.semantics.devices.pod_claims import NoClaimYet, claim_reference, is_made_for
from doorman.semantics.pods.pod_resources import pod_requests
from doorman.semantics.pods.resource_names import is_extended_resource


class ClaimsNotReady(Exception):
    """A claim of the pod is not there, or not to be used; the text is Kubernetes' own."""


class ExtendedClaim(msgspec.Struct, frozen=True):
    """The claim for extended resources: which there are, and the claim that an earlier attempt has left, if any."""

    amounts: tuple[tuple[str, int], ...]
    stale: ResourceClaim | None = None


class ExtendedOnNode(msgspec.Struct, frozen=True):
    """What extended resources come to on a node: the requests, and the claim of which they are a part."""

    requests: ExtendedRequests
    claim: ResourceClaim


class PodDeviceClaims(msgspec.Struct, frozen=True, dict=True):
    pod: Pod
    allocated: tuple[ResourceClaim, ...]
    unallocated: tuple[ResourceClaim, ...]
    extended: ExtendedClaim | None = None

    @cached_property
    def key(self) -> bytes:
        """The same for pods whose claims ask for the same."""
        if self.extended is None:
            return spec_key(self.unallocated)
        spec = self.pod.spec
        containers = [each.resources.requests for each in (*spec.init_containers, *spec.containers)]
        sidecars = [each.restart_policy for each in spec.init_containers]
        own = msgspec.json.encode((containers, sidecars, self.extended.stale is not None))
        return spec_key(self.unallocated) + own

    def on_node(self, state: DeviceState, cluster: ClusterState, row: int) -> Sequence[ResourceClaim] | int:
        """What must be allocated on the node; or the code that says why it cannot be."""
        if self.extended is None:
            return self.unallocated
        made = self.extended_on(state, cluster, row)
        if isinstance(made, int):
            return made
        return self.unallocated if made is None else (*self.unallocated, made.claim)

    def extended_on(self, state: DeviceState, cluster: ClusterState, row: int) -> ExtendedOnNode | int | None:
        """What is to be asked for on a node; None when the node has all of it itself."""
        assert self.extended is not None, "asked only of pods with extended resources"
        if self.extended.stale is not None:
            return STALE_CLAIM
        classes: dict[str, str] = {}
        for name, _ in self.extended.amounts:
            there = int(cluster.allocatable[cluster.resources.index(name)][row])
            device_class = state.classes.standing_for(name)
            if device_class is not None and there == 0:
                classes[name] = device_class.metadata.name
            elif there == 0 and name not in cluster.node(row).status.allocatable:
                return NO_RESOURCE
        return self._extended_of(classes) if classes else None

    def _extended_of(self, classes: dict[str, str]) -> ExtendedOnNode:
        key = tuple(classes.items())
        found = self._made.get(key)
        if found is None:
            requests = extended_requests(self.pod.spec, classes)
            meta = self.pod.metadata
            own = ObjectMeta(name=NAME, namespace=meta.namespace, uid=pending_uid(meta.uid))
            spec = ResourceClaimSpec(devices=DeviceClaim(requests=requests.requests))
            found = self._made[key] = ExtendedOnNode(requests, ResourceClaim(metadata=own, spec=spec))
        return found

    @cached_property
    def _made(self) -> dict[tuple[tuple[str, str], ...], ExtendedOnNode]:
        """By the resources that devices stand for, and their classes: the same on nearly all nodes."""
        return {}


def claims_of(pod: Pod, state: DeviceState) -> list[ResourceClaim]:
    """The pod's claims, each of which must be there. Raises ClaimsNotReady."""
    found: list[ResourceClaim] = []
    namespace = pod.metadata.namespace
    for entry in pod.spec.resource_claims:
        try:
            reference = claim_reference(pod, entry)
        except NoClaimYet as error:
            raise ClaimsNotReady(str(error)) from error
        if not reference.name:
            continue
        claim = state.claim(f"{namespace}/{reference.name}")
        if claim is None:
            raise ClaimsNotReady(f'resourceclaim.resource.k8s.io "{reference.name}" not found')
        if claim.metadata.deletion_timestamp:
            raise ClaimsNotReady(f'resourceclaim "{reference.name}" is being deleted')
        if reference.is_generated and not is_made_for(claim, pod):
            who = f"{namespace}/{reference.name} was not created for Pod {namespace}/{pod.metadata.name}"
            raise ClaimsNotReady(f"ResourceClaim {who} (Pod is not owner)")
        found.append(claim)
    return found


def pod_device_claims(pod: Pod, state: DeviceState) -> PodDeviceClaims | PreFilterReject | None:
    """What must be looked at for a pod; why it fits nowhere for now; or None when it needs no devices."""
    try:
        claims = claims_of(pod, state)
    except ClaimsNotReady as error:
        return PreFilterReject(message=str(error))
    extended = extended_claim_or_none(pod, state)
    if not claims and extended is None:
        return None
    unallocated = [claim for claim in claims if claim.status.allocation is None]
    for claim in unallocated:
        problem = _problem(claim, state)
        if problem:
            return PreFilterReject(message=problem)
    allocated = tuple(claim for claim in claims if claim.status.allocation is not None)
    return PodDeviceClaims(pod, allocated, tuple(unallocated), extended)


def extended_claim_or_none(pod: Pod, state: DeviceState) -> ExtendedClaim | None:
    if not state.classes.by_name or not _names_any(pod, state):
        return None
    amounts = [(name, amount) for name, amount in sorted(pod_requests(pod.spec).items()) if amount > 0]
    extended = [(name, amount) for name, amount in amounts if is_extended_resource(name) or _is_backed(name, state)]
    if not any(_is_backed(name, state) for name, _ in extended):
        return None
    stale = [
        claim
        for claim in state.claims_of(pod.metadata.uid)
        if claim.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true"
    ]
    return ExtendedClaim(tuple(extended), stale[0] if stale else None)


def _names_any(pod: Pod, state: DeviceState) -> bool:
    """Whether any container names a resource that a class stands for: of most pods it is known without adding up."""
    spec = pod.spec
    for container in (*spec.init_containers, *spec.containers):
        for name in container.resources.requests:
            if _is_backed(name, state):
                return True
    return any(_is_backed(name, state) for name in spec.overhead)


def _is_backed(resource: str, state: DeviceState) -> bool:
    return state.classes.standing_for(resource) is not None


def _problem(claim: ResourceClaim, state: DeviceState) -> str:
    """Why an unallocated claim cannot be allocated for now, on any node."""
    key = claim.metadata.key
    if state.is_pending(claim.metadata.uid):
        return f"resource claim {key} is in the process of being allocated"
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            wanted = [(request.name, request.exactly.device_class_name)]
        else:
            wanted = [(f"{request.name}/{each.name}", each.device_class_name) for each in request.first_available]
        if not wanted:
            return f"resource claim {key}, request {request.name}: unknown request type"
        for name, device_class in wanted:
            if device_class not in state.classes.by_name:
                return f"request {name}: device class {device_class} does not exist"
    return ""
