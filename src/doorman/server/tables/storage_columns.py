"""Columns of volumes and storage."""

from collections.abc import Mapping
from typing import Final

import msgspec

from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.server.tables.column import Cell, TableColumn, age_column, at, boolean, name_column, text

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_DEFAULT_MARKS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _modes(path: str) -> TableColumn:
    def cell(doc: Document, _now: Instant) -> Cell:
        return ",".join(_MODES.get(mode, mode) for mode in at(doc, path) or [])

    return TableColumn("Access Modes", cell)


def _class_name(doc: Document, _now: Instant) -> Cell:
    """The class that claims without one get says so."""
    metadata = doc["metadata"]
    is_default = any(metadata.get("annotations", {}).get(name) == "true" for name in _DEFAULT_MARKS)
    return f"{metadata.get('name', '')} (default)" if is_default else metadata.get("name", "")


def _phase(doc: Document, _now: Instant) -> Cell:
    return "Terminating" if doc["metadata"].get("deletionTimestamp") else at(doc, "status.phase", "")


def _claim(doc: Document, _now: Instant) -> Cell:
    found = at(doc, "spec.claimRef")
    return f"{found.get('namespace', '')}/{found.get('name', '')}" if found else ""


def _token_requests(doc: Document, _now: Instant) -> Cell:
    found = at(doc, "spec.tokenRequests") or []
    return ",".join(request.get("audience", "") for request in found) or "<unset>"


STORAGE_COLUMNS: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    "persistentvolumes": (
        name_column(),
        text("Capacity", "spec.capacity.storage"),
        _modes("spec.accessModes"),
        text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        TableColumn("Status", _phase),
        TableColumn("Claim", _claim),
        text("StorageClass", "spec.storageClassName"),
        text("VolumeAttributesClass", "spec.volumeAttributesClassName", empty="<unset>"),
        text("Reason", "status.reason"),
        age_column(),
        text("VolumeMode", "spec.volumeMode", empty="<unset>", wide=True),
    ),
    "persistentvolumeclaims": (
        name_column(),
        TableColumn("Status", _phase),
        text("Volume", "spec.volumeName"),
        text("Capacity", "status.capacity.storage"),
        _modes("status.accessModes"),
        text("StorageClass", "spec.storageClassName"),
        text("VolumeAttributesClass", "spec.volumeAttributesClassName", empty="<unset>"),
        age_column(),
        text("VolumeMode", "spec.volumeMode", empty="<unset>", wide=True),
    ),
    "storageclasses.storage.k8s.io": (
        msgspec.structs.replace(name_column(), cell=_class_name),
        text("Provisioner", "provisioner"),
        text("ReclaimPolicy", "reclaimPolicy"),
        text("VolumeBindingMode", "volumeBindingMode"),
        TableColumn("AllowVolumeExpansion", lambda doc, _now: bool(doc.get("allowVolumeExpansion", False))),
        age_column(),
    ),
    "csinodes.storage.k8s.io": (
        name_column(),
        TableColumn("Drivers", lambda doc, _now: len(at(doc, "spec.drivers") or []), type="integer"),
        age_column(),
    ),
    "csidrivers.storage.k8s.io": (
        name_column(),
        boolean("AttachRequired", "spec.attachRequired"),
        boolean("PodInfoOnMount", "spec.podInfoOnMount"),
        boolean("StorageCapacity", "spec.storageCapacity"),
        TableColumn("TokenRequests", _token_requests),
        boolean("RequiresRepublish", "spec.requiresRepublish"),
        TableColumn("Modes", lambda doc, _now: ",".join(at(doc, "spec.volumeLifecycleModes") or [])),
        age_column(),
    ),
    "volumeattributesclasses.storage.k8s.io": (name_column(), text("DriverName", "driverName"), age_column()),
    "volumeattachments.storage.k8s.io": (
        name_column(),
        msgspec.structs.replace(text("Attacher", "spec.attacher"), format="name"),
        text("PV", "spec.source.persistentVolumeName"),
        text("Node", "spec.nodeName"),
        boolean("Attached", "status.attached"),
        age_column(),
    ),
}
