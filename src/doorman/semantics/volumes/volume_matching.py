"""Which volume is right for a claim, and from which nodes a volume can be used.

The scheduler and the controller that binds ask the same functions; the scheduler asks for a node as well.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from doorman.api.machinery.label_selectors import selector_of
from doorman.api.machinery.quantity import QuantityError, parse_quantity
from doorman.api.views.nodes import Node
from doorman.api.views.storage.persistent_volumes import STORAGE, PersistentVolume, PersistentVolumeClaim
from doorman.api.views.storage.volume_classes import WAIT_FOR_FIRST_CONSUMER, StorageClass, TopologySelectorTerm
from doorman.api.volume_annotations import BIND_COMPLETED
from doorman.api.well_known import STORAGE_CLASS_ANNOTATION
from doorman.semantics.pods.node_selectors import term_matches

_AVAILABLE_PHASE: Final = "Available"
FILESYSTEM: Final = "Filesystem"
NOTHING: Final = Fraction(0)


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The class it asks for; empty when it asks for none."""
    return claim.metadata.annotations.get(STORAGE_CLASS_ANNOTATION) or claim.spec.storage_class_name or ""


def class_of_volume(volume: PersistentVolume) -> str:
    return volume.metadata.annotations.get(STORAGE_CLASS_ANNOTATION) or volume.spec.storage_class_name


def requested_storage(claim: PersistentVolumeClaim) -> Fraction:
    return _amount(claim.spec.resources.requests)


def capacity_of(volume: PersistentVolume) -> Fraction:
    return _amount(volume.spec.capacity)


def _amount(quantities: Mapping[str, str]) -> Fraction:
    """What cannot be read counts as nothing: validation lets none of it in."""
    try:
        return parse_quantity(quantities.get(STORAGE, "0"))
    except QuantityError:
        return NOTHING


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Its volume is known, and both sides say so."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is this claim's, or kept for a claim of its name."""
    reference = volume.spec.claim_ref
    if reference is None or (reference.namespace, reference.name) != (claim.metadata.namespace, claim.metadata.name):
        return False
    return not reference.uid or reference.uid == claim.metadata.uid


def is_delayed(claim: PersistentVolumeClaim, classes: Mapping[str, StorageClass]) -> bool:
    """Whether its volume is chosen when a pod that uses it is placed."""
    found = classes.get(class_of_claim(claim))
    return found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def is_reachable(volume: PersistentVolume, node: Node) -> bool:
    """Whether the volume can be used from the node: its node affinity, which looks at labels alone.

    >>> is_reachable(PersistentVolume(), Node())
    True
    """
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    meta = node.metadata
    return any(term_matches(term, meta.labels, meta.name) for term in affinity.required.node_selector_terms)


def is_same_mode(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    return (claim.spec.volume_mode or FILESYSTEM) == (volume.spec.volume_mode or FILESYSTEM)


def has_access_modes(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    return set(claim.spec.access_modes) <= set(volume.spec.access_modes)


def has_same_attributes_class(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    asked, given = claim.spec.volume_attributes_class_name, volume.spec.volume_attributes_class_name
    return (asked or "") == (given or "")


def matching_volume(
    claim: PersistentVolumeClaim,
    volumes: Iterable[PersistentVolume],
    *,
    node: Node | None = None,
    chosen: frozenset[str] = frozenset(),
    delayed: bool = False,
) -> PersistentVolume | None:
    """The volume that is kept for the claim, or else the smallest that satisfies it.

    With a `node` only volumes that can be used from there; those `chosen` for other claims of a pod are left out. A
    claim that is `delayed` gets, without a node, none but the one that is kept for it.
    """
    smallest: PersistentVolume | None = None
    wanted = requested_storage(claim)
    for volume in volumes:
        if volume.metadata.name in chosen or not _may_be_bound(claim, volume, wanted):
            continue
        if is_bound_to(volume, claim):
            return volume if node is None or is_reachable(volume, node) else None
        if (node is None and delayed) or not _is_offered(claim, volume):
            continue
        if node is not None and not is_reachable(volume, node):
            continue
        if smallest is None or capacity_of(volume) < capacity_of(smallest):
            smallest = volume
    return smallest


def _may_be_bound(claim: PersistentVolumeClaim, volume: PersistentVolume, wanted: Fraction) -> bool:
    """Also asked of a volume that is kept for the claim."""
    return (
        (volume.spec.claim_ref is None or is_bound_to(volume, claim))
        and capacity_of(volume) >= wanted
        and is_same_mode(claim, volume)
        and has_same_attributes_class(claim, volume)
        and not volume.metadata.deletion_timestamp
    )


def _is_offered(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Asked of volumes that anybody may have."""
    selector = claim.spec.selector
    return (
        volume.status.phase == _AVAILABLE_PHASE
        and (selector is None or selector_of(selector).matches(volume.metadata.labels))
        and class_of_volume(volume) == class_of_claim(claim)
        and has_access_modes(claim, volume)
    )


def mismatch(claim: PersistentVolumeClaim, volume: PersistentVolume) -> str:
    """Why a volume that the claim names cannot be its; empty when it can."""
    if volume.metadata.deletion_timestamp:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if capacity_of(volume) < requested_storage(claim):
        return "requested PV is too small"
    if class_of_volume(volume) != class_of_claim(claim):
        return "storageClassName does not match"
    if not has_same_attributes_class(claim, volume):
        return "volumeAttributesClassName does not match"
    if not is_same_mode(claim, volume):
        return "incompatible volumeMode"
    if not has_access_modes(claim, volume):
        return "incompatible accessMode"
    return ""


def topology_matches(terms: Iterable[TopologySelectorTerm], labels: Mapping[str, str]) -> bool:
    """Whether a class makes volumes for nodes with these labels: one term is enough, none at all allow every node."""
    found = tuple(terms)
    return not found or any(
        term.match_label_expressions
        and all(labels.get(each.key) in each.values for each in term.match_label_expressions)
        for term in found
    )
