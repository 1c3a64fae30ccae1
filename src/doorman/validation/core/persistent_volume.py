"""PersistentVolumes and the claims for them."""

import posixpath
from fractions import Fraction
from typing import Final

from doorman.api.machinery.quantity import int64_value, parse_quantity
from doorman.api.well_known import STORAGE_CLASS_ANNOTATION
from doorman.base.errors import FieldError, forbidden, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import qualified_name_faults, subdomain_faults
from doorman.semantics.pods.resource_names import is_native_resource
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.core.claim_spec import VOLUME_MODES, access_mode_errors, claim_spec_errors
from doorman.validation.faults import POSITIVE, Part, badly, maybe
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update
from doorman.validation.pods.volume.volume_sources import (
    VOLUME_SOURCES,
    iscsi_volume_errors,
    long_portal_errors,
    source_errors,
)
from doorman.validation.selectors import node_selector_errors

_POLICIES: Final = ("Delete", "Recycle", "Retain")
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_MOUNTED_WITH_OPTIONS: Final = (
    "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs",
    "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk",
)  # fmt: skip
_RESIZE_STATUSES: Final = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip


# Volumes


def _create_volume(doc: Document, _context: Context) -> list[FieldError]:
    name = doc["metadata"].get("name") or ""
    spec = doc.get("spec") or {}
    errors = [*validate_metadata(doc), *_volume_errors(spec, name)]
    is_noted = _MOUNT_OPTIONS in (doc["metadata"].get("annotations") or {})
    if is_noted and all(spec.get(source) is None for source in _MOUNTED_WITH_OPTIONS):
        text = "may not specify mount options for this volume type"
        errors.append(forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", text))
    return errors


def _volume_errors(spec: Part, name: str) -> list[FieldError]:
    modes = spec.get("accessModes") or ()
    errors = [] if modes else [required("spec.accessModes")]
    errors += [*access_mode_errors(modes, "spec.accessModes"), *_capacity_errors(spec.get("capacity"))]
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy and policy not in _POLICIES:
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _POLICIES))
    if (affinity := spec.get("nodeAffinity")) is not None:
        if (wanted := affinity.get("required")) is None:
            errors.append(required("spec.nodeAffinity.required", "must specify required node constraints"))
        else:
            errors += node_selector_errors(wanted, "spec.nodeAffinity.required")

    def iscsi(source: Part, path: str) -> list[FieldError]:
        portal = source.get("targetPortal") or ""
        found = iscsi_volume_errors(source, path)
        long = long_portal_errors(source, name, f"{path}.targetportal", portal)
        return [*found[:1], *long, *found[1:]] if not portal else [*long, *found]

    errors += source_errors(spec, VOLUME_SOURCES, "spec", {"iscsi": iscsi})
    if spec.get("local") is not None and spec.get("nodeAffinity") is None:
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    if policy == "Recycle" and posixpath.normpath((spec.get("hostPath") or {}).get("path") or ".") == "/":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden("spec.persistentVolumeReclaimPolicy", text))
    errors += maybe(spec, "storageClassName", "spec", subdomain_faults)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported("spec.volumeMode", mode, VOLUME_MODES))
    return [*errors, *_attributes_class_errors(spec)]


def inline_volume_errors(spec: Part, path: str) -> list[FieldError]:
    """A volume inside a VolumeAttachment: of a driver, and neither claimed nor counted."""
    inline = "may not be specified in the context of inline volumes"
    errors = [forbidden(f"{path}.claimRef", inline)] if spec.get("claimRef") is not None else []
    if spec.get("capacity"):
        errors.append(forbidden(f"{path}.capacity", inline))
    if spec.get("csi") is None:
        errors.append(required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    modes = spec.get("accessModes") or ()
    errors += [] if modes else [required(f"{path}.accessModes")]
    errors += access_mode_errors(modes, f"{path}.accessModes")
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        text = "may only be Retain in the context of inline volumes"
        errors.append(forbidden(f"{path}.persistentVolumeReclaimPolicy", text))
    if spec.get("nodeAffinity") is not None:
        errors.append(forbidden(f"{path}.nodeAffinity", inline))
    errors += source_errors(spec, VOLUME_SOURCES, path)
    if spec.get("storageClassName"):
        errors.append(forbidden(f"{path}.storageClassName", inline))
    if spec.get("volumeMode") not in (None, "Filesystem"):
        text = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        errors.append(forbidden(f"{path}.volumeMode", text))
    return errors


def _attributes_class_errors(spec: Part) -> list[FieldError]:
    name, path = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if name is None:
        return []
    errors = badly(path, name, subdomain_faults(name)) if name else [required(path, "an empty string is disallowed")]
    if spec.get("csi") is None:
        errors.append(required("spec.csi", "has to be specified when using volumeAttributesClassName"))
    return errors


def _capacity_errors(given: Part | None) -> list[FieldError]:
    capacity = given or {}
    errors = [] if capacity else [required("spec.capacity")]
    if "storage" not in capacity or len(capacity) > 1:
        errors.append(not_supported("spec.capacity", given, ("storage",)))
    for name, amount in capacity.items():
        errors += _basic_errors(amount, f"spec.capacity[{name}]")
        if parse_quantity(amount) <= 0:
            errors.append(invalid(f"spec.capacity[{name}]", amount, POSITIVE))
    return errors


def _basic_errors(amount: str, path: str) -> list[FieldError]:
    value = int64_value(amount)
    return [invalid(path, value, "must be a valid resource quantity")] if value < 0 else []


def _update_volume(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource:
        return distinct(errors)
    errors = _create_volume(new, context)
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if _source_of(after, before) != _source_of(before, before):
        text = "spec.persistentvolumesource is immutable after creation\n  differs\n"
        errors.append(forbidden("spec.persistentvolumesource", text))
    if after.get("volumeMode") != before.get("volumeMode"):
        errors.append(invalid("volumeMode", after.get("volumeMode"), IMMUTABLE))
    if before.get("nodeAffinity") is not None and after.get("nodeAffinity") != before["nodeAffinity"]:
        text = f"{IMMUTABLE}, except for updating from beta label to GA"
        errors.append(invalid("nodeAffinity", after.get("nodeAffinity"), text))
    if before.get("volumeAttributesClassName") is not None and after.get("volumeAttributesClassName") is None:
        text = "update from non-nil value to nil is forbidden"
        errors.append(forbidden("spec.volumeAttributesClassName", text))
    return distinct(errors)


def _source_of(spec: Part, before: Part) -> dict[str, object]:
    """Its source; a secret for growing may be added once."""
    found = {name: spec[name] for name in VOLUME_SOURCES if spec.get(name) is not None}
    was = before.get("csi") or {}
    if "csi" in found and was and was.get("controllerExpandSecretRef") is None:
        csi = found["csi"]
        found["csi"] = {name: value for name, value in csi.items() if name != "controllerExpandSecretRef"}
    return found


# Claims


def _create_claim(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *claim_spec_errors(doc.get("spec") or {}, "spec")]


def _update_claim(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    after, before = dict(new.get("spec") or {}), dict(old.get("spec") or {})
    if context.subresource:
        return distinct([*errors, *_claim_status_errors(after, new.get("status") or {})])
    named = any((before.get(name) or {}).get("apiGroup") is not None for name in ("dataSource", "dataSourceRef"))
    errors += [*validate_metadata(new), *claim_spec_errors(after, "spec", any_group=named)]
    errors += _claim_change_errors(new, old)
    if _asked(after) < _asked(before):
        held = ((old.get("status") or {}).get("capacity") or {}).get("storage") or "0"
        if _asked(after) <= parse_quantity(held):
            text = "field can not be less than status.capacity"
            errors.append(forbidden("spec.resources.requests.storage", text))
    if after.get("volumeMode") != before.get("volumeMode"):
        errors.append(invalid("volumeMode", after.get("volumeMode"), IMMUTABLE))
    return distinct(errors)


def _asked(spec: Part) -> Fraction:
    requests = (spec.get("resources") or {}).get("requests") or {}
    return parse_quantity(requests.get("storage") or "0")


def _claim_change_errors(new: Document, old: Document) -> list[FieldError]:
    """What a claim asks for stays; a bound one may ask for more space or for other attributes."""
    after, before = dict(new.get("spec") or {}), dict(old.get("spec") or {})
    errors: list[FieldError] = []
    if not before.get("volumeName"):
        before["volumeName"] = after.get("volumeName")
    said = (old["metadata"].get("annotations") or {}).get(STORAGE_CLASS_ANNOTATION)
    says = (new["metadata"].get("annotations") or {}).get(STORAGE_CLASS_ANNOTATION)
    wanted = after.get("storageClassName")
    if said is not None and before.get("storageClassName") is None and wanted == said and says in (None, said):
        after["storageClassName"] = None
    else:
        if (said or "") != (says or ""):
            errors.append(invalid(f"metadata.annotations[{STORAGE_CLASS_ANNOTATION}]", says or "", IMMUTABLE))
        if wanted is not None and before.get("storageClassName") is None and said in (None, wanted):
            before["storageClassName"] = wanted
    if (new.get("status") or {}).get("phase") == "Bound":
        after["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
        after["resources"], before["resources"] = _without_storage(after), _without_storage(before)
    kept = {name: value for name, value in after.items() if value is not None}
    if kept != {name: value for name, value in before.items() if value is not None}:
        text = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        errors.append(forbidden("spec", f"{text}\n  differs\n"))
    return errors


def _without_storage(spec: Part) -> dict[str, object]:
    resources = dict(spec.get("resources") or {})
    requests = {name: amount for name, amount in (resources.get("requests") or {}).items() if name != "storage"}
    return {**resources, "requests": requests}


def _claim_status_errors(spec: Part, status: Part) -> list[FieldError]:
    errors: list[FieldError] = [] if spec.get("accessModes") else [required("Spec.accessModes")]
    for name, amount in (status.get("capacity") or {}).items():
        errors += _basic_errors(amount, f"status.capacity[{name}]")
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        at = f"status.allocatedResourceStatuses[{name}]"
        if (found := _resource_key_errors(name, at)) or state in _RESIZE_STATUSES:
            errors += found
        else:
            errors.append(not_supported(at, name, _RESIZE_STATUSES))
    for name, amount in (status.get("allocatedResources") or {}).items():
        at = f"status.allocatedResources[{name}]"
        errors += _resource_key_errors(name, at) or _basic_errors(amount, at)
    return errors


def _resource_key_errors(name: str, path: str) -> list[FieldError]:
    if faults := badly(path, name, qualified_name_faults(name)):
        return faults
    return [not_supported(path, name, ("storage",))] if is_native_resource(name) and name != "storage" else []


PERSISTENT_VOLUME: Final = Validator(create=_create_volume, update=_update_volume)
PERSISTENT_VOLUME_CLAIM: Final = Validator(create=_create_claim, update=_update_claim)
