"""CSIDrivers, what they say of nodes (CSINode), and what they have attached (VolumeAttachment)."""

from typing import Final

from doorman.base.errors import (
    FieldError,
    FieldErrorType,
    JsonText,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import LABEL_BYTES_MAX, qualified_name_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.core.persistent_volume import inline_volume_errors
from doorman.validation.faults import Part, badly, fixed, not_negative, one_of
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update
from doorman.validation.pods.volume.volume_sources import driver_name_errors
from doorman.validation.resource.declared.declared_formats import long_name_caseless

_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_MODES: Final = ("Persistent", "Ephemeral")
_TOKEN_SECONDS: Final = (600, 1 << 32)
_PERIOD_SECONDS_MIN: Final = 10
_NODE_ID_BYTES_MAX: Final = 256
_METADATA_BYTES_MAX: Final = 256 * 1024
_MESSAGE_BYTES_MAX: Final = 1024
_ONE_SOURCE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def _driver_errors(spec: Part) -> list[FieldError]:
    errors = [
        required(f"spec.{shown}")
        for name, shown in (
            ("attachRequired", "attachedRequired"),
            ("podInfoOnMount", "podInfoOnMount"),
            ("storageCapacity", "storageCapacity"),
        )
        if spec.get(name) is None
    ]
    if spec.get("fsGroupPolicy") is not None:
        errors += one_of(spec, "fsGroupPolicy", "spec", _GROUP_POLICIES)
    errors += _token_errors(spec)
    errors += [
        not_supported("spec.volumeLifecycleModes", JsonText(mode), _MODES)
        for mode in spec.get("volumeLifecycleModes") or ()
        if mode not in _MODES
    ]
    if spec.get("seLinuxMount") is None:
        errors.append(required("spec.seLinuxMount"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _PERIOD_SECONDS_MIN:
        text = f"must be greater than or equal to {_PERIOD_SECONDS_MIN} seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, text))
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, text))
    return errors


def _token_errors(spec: Part) -> list[FieldError]:
    errors: list[FieldError] = []
    audiences: set[str] = set()
    for index, request in enumerate(spec.get("tokenRequests") or ()):
        at, audience = f"spec.tokenRequests[{index}]", request.get("audience") or ""
        if audience in audiences:
            errors.append(duplicate(f"{at}.audience", audience))
            continue
        audiences.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < _TOKEN_SECONDS[0]:
            text = "may not specify a duration less than 10 minutes"
            errors.append(invalid(f"{at}.expirationSeconds", seconds, text))
        if seconds is not None and seconds > _TOKEN_SECONDS[1]:
            text = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid(f"{at}.expirationSeconds", seconds, text))
    return errors


def _create_driver(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_driver_errors(doc.get("spec") or {})]


def _update_driver(new: Document, old: Document, _context: Context) -> list[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    errors = [*validate_metadata_update(new, old), *_driver_errors(after)]
    if after.get("attachRequired") != before.get("attachRequired"):
        errors.append(invalid("spec.attachedRequired", after.get("attachRequired"), IMMUTABLE))
    return distinct([*errors, *fixed(after, before, "volumeLifecycleModes", "spec")])


def _node_errors(spec: Part) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, driver in enumerate(spec.get("drivers") or ()):
        at, name, node = f"spec.drivers[{index}]", driver.get("name") or "", driver.get("nodeID") or ""
        errors += driver_name_errors(name, f"{at}.name")
        if not node:
            errors.append(required(f"{at}.nodeID"))
        if len(node.encode()) > _NODE_ID_BYTES_MAX:
            errors.append(invalid(f"{at}.nodeID", node, f"must be {_NODE_ID_BYTES_MAX} characters or less"))
        errors += not_negative(driver.get("allocatable") or {}, "count", f"{at}.allocatable")
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        keys: set[str] = set()
        for key in driver.get("topologyKeys") or ():
            if not key:
                errors.append(required(at))
            if key in keys:
                errors.append(duplicate(at, key))
            keys.add(key)
            errors += badly(at, key, qualified_name_faults(key))
    return errors


def _create_node(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_node_errors(doc.get("spec") or {})]


def _update_node(new: Document, old: Document, context: Context) -> list[FieldError]:
    """What a driver said of a node stays, but for how many volumes fit."""
    if context.subresource:
        return distinct(validate_metadata_update(new, old))
    errors = _create_node(new, context)
    after = {driver.get("name"): driver for driver in (new.get("spec") or {}).get("drivers") or ()}
    for driver in (old.get("spec") or {}).get("drivers") or ():
        found = after.get(driver.get("name"))
        if found is not None and {**found, "allocatable": None} != {**driver, "allocatable": None}:
            errors.append(invalid("spec.drivers", found, IMMUTABLE))
    return distinct(errors)


def _attachment_errors(doc: Document) -> list[FieldError]:
    spec: Part = doc.get("spec") or {}
    errors = _attacher_errors(spec.get("attacher") or "", "spec.attacher")
    source, path = spec.get("source") or {}, "spec.source"
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        errors.append(required(path, _ONE_SOURCE))
    elif name is not None and inline is not None:
        errors.append(forbidden(path, _ONE_SOURCE))
    elif name is not None:
        if not name:
            errors.append(required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName"))
    else:
        errors += inline_volume_errors(inline or {}, f"{path}.inlineVolumeSpec")
    node = spec.get("nodeName") or ""
    errors += badly("spec.nodeName", node, subdomain_faults(node))
    errors += _attachment_status_errors(doc.get("status") or {})
    if name is not None:
        errors += badly("spec.source.persistentVolumeName", name, subdomain_faults(name))
    return errors


def _attacher_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = long_name_caseless(name, path)
    return [*errors, too_long(path, LABEL_BYTES_MAX)] if len(name.encode()) > LABEL_BYTES_MAX else errors


def _attachment_status_errors(status: Part) -> list[FieldError]:
    errors: list[FieldError] = []
    notes = status.get("attachmentMetadata") or {}
    if sum(len(key.encode()) + len(value.encode()) for key, value in notes.items()) > _METADATA_BYTES_MAX:
        errors.append(too_long("status.attachmentMetadata", _METADATA_BYTES_MAX))
    for name in ("attachError", "detachError"):
        fault = status.get(name) or {}
        if len((fault.get("message") or "").encode()) > _MESSAGE_BYTES_MAX:
            errors.append(too_long(f"status.{name}.message", _MESSAGE_BYTES_MAX))
        code = fault.get("errorCode")
        if code is not None and code < 0:
            errors.append(invalid(f"status.{name}.errorCode", code, "must be between 0 and 2147483647, inclusive"))
    return errors


def _create_attachment(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_attachment_errors(doc)]


def _update_attachment(new: Document, old: Document, context: Context) -> list[FieldError]:
    changed = fixed(new, old, "spec", "")
    errors = _create_attachment(new, context)
    if changed:
        name = (new.get("spec") or {}).get("attacher") or ""
        undeclared = badly("spec.attacher", name, subdomain_faults(name.lower())) if name else []
        kept = [error for error in errors if error.field != "spec.attacher" or error.type is not FieldErrorType.INVALID]
        errors = [*undeclared, *kept]
    return distinct([*errors, *changed, *validate_metadata_update(new, old)])


CSI_DRIVER: Final = Validator(create=_create_driver, update=_update_driver)
CSI_NODE: Final = Validator(create=_create_node, update=_update_node)
VOLUME_ATTACHMENT: Final = Validator(create=_create_attachment, update=_update_attachment)
