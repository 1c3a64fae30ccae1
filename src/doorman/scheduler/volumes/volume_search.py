"""Whether a pod's claims can be satisfied on a node: by the volumes they have, by free ones, or by new ones."""

from collections.abc import Sequence
from typing import Final

import msgspec

from doorman.api.machinery.label_selectors import matches
from doorman.api.machinery.quantity import whole_value
from doorman.api.views.nodes import Node
from doorman.api.views.storage.csi import CsiStorageCapacity
from doorman.api.views.storage.persistent_volumes import STORAGE, PersistentVolumeClaim
from doorman.api.views.storage.volume_classes import StorageClass
from doorman.api.volume_annotations import NO_PROVISIONER, SELECTED_NODE
from doorman.scheduler.framework import FINAL
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings, StaticBinding
from doorman.scheduler.volumes.pod_volume_claims import PodVolumeClaims
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.volume_matching import (
    class_of_claim,
    is_reachable,
    matching_volume,
    requested_storage,
    topology_matches,
)

NODE_CONFLICT: Final = 1
BIND_CONFLICT: Final = 2
NO_SPACE: Final = 4
NO_VOLUME: Final = 8

REASONS: Final = {
    NODE_CONFLICT: "node(s) didn't match PersistentVolume's node affinity",
    BIND_CONFLICT: "node(s) didn't find available persistent volumes to bind",
    NO_SPACE: "node(s) did not have enough free storage",
    NO_VOLUME: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
"""By bit; a code has one or more of them, and is final."""


class VolumeSearch(msgspec.Struct, frozen=True, kw_only=True):
    """What a search on one node came to."""

    code: int = 0
    bindings: PodVolumeBindings = PodVolumeBindings()


def search_volumes(claims: PodVolumeClaims, node: Node, state: VolumeState) -> VolumeSearch:
    code = _bound_code(claims.bound, node, state)
    provisioned: list[PersistentVolumeClaim] = []
    unchosen: list[PersistentVolumeClaim] = []
    for claim in claims.delayed:
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is None:
            unchosen.append(claim)
        elif selected == node.metadata.name:
            provisioned.append(claim)
        else:
            return VolumeSearch(code=code | BIND_CONFLICT | FINAL)
    static, unmatched = _static_bindings(unchosen, node, state)
    code |= _provision_code([*provisioned, *unmatched], node, state)
    if code:
        return VolumeSearch(code=code | FINAL)
    return VolumeSearch(bindings=PodVolumeBindings(static=static, provisioned=(*provisioned, *unmatched)))


def _bound_code(bound: Sequence[PersistentVolumeClaim], node: Node, state: VolumeState) -> int:
    for claim in bound:
        volume = state.volume(claim.spec.volume_name)
        if volume is None:
            return NO_VOLUME
        if not is_reachable(volume, node):
            return NODE_CONFLICT
    return 0


def _static_bindings(
    claims: Sequence[PersistentVolumeClaim], node: Node, state: VolumeState
) -> tuple[tuple[StaticBinding, ...], tuple[PersistentVolumeClaim, ...]]:
    """Free volumes for claims, the smallest claim first, and the claims for which there is none."""
    found: list[StaticBinding] = []
    unmatched: list[PersistentVolumeClaim] = []
    for claim in sorted(claims, key=requested_storage):
        chosen = frozenset(binding.volume.metadata.name for binding in found)
        volumes = state.volumes_of_class(class_of_claim(claim))
        volume = matching_volume(claim, volumes, node=node, chosen=chosen, delayed=True)
        if volume is None:
            unmatched.append(claim)
        else:
            found.append(StaticBinding(volume=volume, claim=claim))
    return tuple(found), tuple(unmatched)


def _provision_code(claims: Sequence[PersistentVolumeClaim], node: Node, state: VolumeState) -> int:
    for claim in claims:
        storage_class = state.classes.get(class_of_claim(claim))
        if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
            return BIND_CONFLICT
        if not topology_matches(storage_class.allowed_topologies, node.metadata.labels):
            return BIND_CONFLICT
        is_asked = STORAGE in claim.spec.resources.requests and publishes_capacities(storage_class, state)
        if is_asked and sufficient_capacity(claim, storage_class, node, state) is None:
            return NO_SPACE
    return 0


def publishes_capacities(storage_class: StorageClass, state: VolumeState) -> bool:
    """Only such drivers are asked for room."""
    driver = state.drivers.get(storage_class.provisioner)
    return driver is not None and bool(driver.spec.storage_capacity)


def sufficient_capacity(
    claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node, state: VolumeState
) -> CsiStorageCapacity | None:
    """What the driver says about room for the claim, seen from the node. None: there is none, or it says nothing."""
    if not publishes_capacities(storage_class, state):
        return None
    size = requested_storage(claim)
    for capacity in state.capacities.values():
        limit = volume_limit(capacity)
        if (
            capacity.storage_class_name == storage_class.metadata.name
            and limit is not None
            and limit >= size
            and capacity.node_topology is not None
            and matches(capacity.node_topology, node.metadata.labels)
        ):
            return capacity
    return None


def volume_limit(capacity: CsiStorageCapacity) -> int | None:
    """The largest volume that can be made there."""
    text = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
    return whole_value(text) if text is not None else None
