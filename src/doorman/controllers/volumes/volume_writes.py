"""What controllers of volumes write: patches of claims and volumes, and events about them."""

from typing import Final

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.storage.persistent_volumes import (
    CLAIMS,
    STORAGE,
    VOLUMES,
    PersistentVolume,
    PersistentVolumeClaim,
)
from doorman.api.volume_annotations import BIND_COMPLETED, BOUND_BY_CONTROLLER
from doorman.base.json_types import Document
from doorman.client.actions import Action, ObjectReference, Patch, RecordEvent
from doorman.semantics.volumes.volume_matching import is_bound_to

BINDER: Final = "persistentvolume-controller"
"""The source of events."""


def claim_event(
    claim: PersistentVolumeClaim, reason: str, message: str, *, warns: bool = False, component: str = BINDER
) -> RecordEvent:
    return _event("PersistentVolumeClaim", claim.metadata, reason, message, warns=warns, component=component)


def volume_event(
    volume: PersistentVolume, reason: str, message: str, *, warns: bool = False, component: str = BINDER
) -> RecordEvent:
    return _event("PersistentVolume", volume.metadata, reason, message, warns=warns, component=component)


def _event(kind: str, meta: ObjectMeta, reason: str, message: str, *, warns: bool, component: str) -> RecordEvent:
    regarding = ObjectReference(
        kind=kind,
        api_version="v1",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
    type_ = "Warning" if warns else "Normal"
    return RecordEvent(regarding=regarding, type=type_, reason=reason, message=message, component=component)


def patch_claim(claim: PersistentVolumeClaim, body: Document, *, subresource: str = "") -> Patch:
    meta = claim.metadata
    body = {**body, "metadata": {**body.get("metadata", {}), "uid": meta.uid}}
    return Patch(resource=CLAIMS, namespace=meta.namespace, name=meta.name, subresource=subresource, body=body)


def patch_volume(volume: PersistentVolume, body: Document, *, subresource: str = "") -> Patch:
    meta = volume.metadata
    body = {**body, "metadata": {**body.get("metadata", {}), "uid": meta.uid}}
    return Patch(resource=VOLUMES, name=meta.name, subresource=subresource, body=body)


def set_phase(volume: PersistentVolume, phase: str, message: str = "") -> list[Action]:
    """Nothing when it says so already."""
    if volume.status.phase == phase:
        return []
    return [patch_volume(volume, {"status": {"phase": phase, "message": message or None}}, subresource="status")]


def set_claim_phase(claim: PersistentVolumeClaim, phase: str) -> list[Action]:
    """Of a claim without a volume: it has neither modes nor capacity."""
    status = claim.status
    if (status.phase, status.access_modes, status.capacity) == (phase, (), {}):
        return []
    body = {"status": {"phase": phase, "accessModes": None, "capacity": None}}
    return [patch_claim(claim, body, subresource="status")]


def bind_writes(volume: PersistentVolume, claim: PersistentVolumeClaim) -> list[Action]:
    """Both sides of a binding, in the order in which somebody who reads half of it can still tell what it is to be."""
    return [
        *_bind_volume(volume, claim),
        *set_phase(volume, "Bound"),
        *_bind_claim(claim, volume),
        *_report_claim(claim, volume),
    ]


def _bind_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> list[Action]:
    reference = volume.spec.claim_ref
    if reference is not None and reference.uid == claim.metadata.uid:
        return []
    meta = claim.metadata
    written: Document = {"resourceVersion": volume.metadata.resource_version}
    if not is_bound_to(volume, claim):
        written["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
    claim_ref = {
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta.namespace, "name": meta.name,
        "uid": meta.uid, "resourceVersion": meta.resource_version,
    }  # fmt: skip
    return [patch_volume(volume, {"metadata": written, "spec": {"claimRef": claim_ref}})]


def _bind_claim(claim: PersistentVolumeClaim, volume: PersistentVolume) -> list[Action]:
    body: Document = {}
    annotations = {}
    if claim.spec.volume_name != volume.metadata.name:
        body["spec"] = {"volumeName": volume.metadata.name}
        annotations[BOUND_BY_CONTROLLER] = "yes"
    if BIND_COMPLETED not in claim.metadata.annotations:
        annotations[BIND_COMPLETED] = "yes"
    if not annotations:
        return []
    return [patch_claim(claim, {**body, "metadata": {"annotations": annotations}})]


def _report_claim(claim: PersistentVolumeClaim, volume: PersistentVolume) -> list[Action]:
    """The capacity is told once: what becomes of it later is the resizer's to say."""
    status: Document = {}
    if claim.status.phase != "Bound":
        status["phase"] = "Bound"
        if claim.status.capacity.get(STORAGE) != volume.spec.capacity.get(STORAGE):
            status["capacity"] = volume.spec.capacity
        if volume.spec.volume_attributes_class_name != claim.status.current_volume_attributes_class_name:
            status["currentVolumeAttributesClassName"] = volume.spec.volume_attributes_class_name
    if claim.status.access_modes != volume.spec.access_modes:
        status["accessModes"] = list(volume.spec.access_modes)
    return [patch_claim(claim, {"status": status}, subresource="status")] if status else []
