"""Kinds of which little is checked: config maps, secrets, services, quotas, limit ranges, role bindings, storage."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.schema import Document
from doorman.base.errors import FieldError, Json, duplicate, forbidden, invalid, not_supported, required, too_long
from doorman.semantics.names import config_key_faults, dns_label_faults, path_segment_faults, port_name_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import (
    IMMUTABLE,
    NameFaults,
    label_errors,
    metadata_validator,
    validate_metadata,
    validate_metadata_update,
)
from doorman.validation.resources import quantity_errors

DATA_BYTES_MAX: Final = 1024 * 1024
_IMMUTABLE_WHEN_SET: Final = "field is immutable when `immutable` is set"
_SERVICE_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PORT_RANGE: Final = "must be between 1 and 65535, inclusive"


# Config maps and secrets


def _data_errors(doc: Document, *fields: str) -> list[FieldError]:
    errors: list[FieldError] = []
    size = 0
    for field in fields:
        for key, value in (doc.get(field) or {}).items():
            size += len(key) + len(value)
            errors.extend(invalid(f"{field}[{key}]", key, fault) for fault in config_key_faults(key))
    if size > DATA_BYTES_MAX:
        errors.append(too_long("", DATA_BYTES_MAX))
    return errors


def _config_map_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata(doc), *_data_errors(doc, "data", "binaryData")]
    both = sorted((doc.get("data") or {}).keys() & (doc.get("binaryData") or {}).keys())
    errors.extend(invalid("data", key, "duplicate of key present in binaryData") for key in both)
    return errors


def _config_map_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = [*validate_metadata_update(new, old), *_frozen_errors(new, old, "data", "binaryData")]
    return distinct([*errors, *_config_map_create(new, context)])


def _secret_create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_data_errors(doc, "data")]


def _secret_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if new.get("type") != old.get("type"):
        errors.append(invalid("type", new.get("type"), IMMUTABLE))
    errors.extend(_frozen_errors(new, old, "data"))
    return distinct([*errors, *_secret_create(new, context)])


def _frozen_errors(new: Document, old: Document, *fields: str) -> list[FieldError]:
    """What was marked immutable stays as it is, the mark included."""
    if not old.get("immutable"):
        return []
    errors = [forbidden("immutable", _IMMUTABLE_WHEN_SET)] if not new.get("immutable") else []
    errors.extend(forbidden(field, _IMMUTABLE_WHEN_SET) for field in fields if new.get(field) != old.get(field))
    return errors


# Services


def _service_create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc, dns_label_faults), *_service_errors(doc.get("spec") or {})]


def _service_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource:
        return errors
    after, before = new.get("spec") or {}, old.get("spec") or {}
    fixed = before.get("clusterIP")
    if fixed and after.get("type") != "ExternalName" and after.get("clusterIP") != fixed:
        errors.append(invalid("spec.clusterIPs[0]", after.get("clusterIPs"), "may not change once set"))
    return distinct([*errors, *_service_create(new, context)])


def _service_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        errors.append(required("spec.ports"))
    names: set[str] = set()
    for index, port in enumerate(ports):
        errors.extend(_service_port_errors(port, f"spec.ports[{index}]", is_only=len(ports) == 1, names=names))
    errors.extend(label_errors(spec.get("selector") or {}, "spec.selector"))
    affinity = spec.get("sessionAffinity", "")
    if affinity not in ("ClientIP", "None"):
        at = "spec.sessionAffinity"
        errors.append(not_supported(at, Json(affinity), ("ClientIP", "None")) if affinity else required(at))
    if kind not in _SERVICE_TYPES:
        errors.append(not_supported("spec.type", Json(kind), _SERVICE_TYPES) if kind else required("spec.type"))
    return errors


def _service_port_errors(port: Mapping[str, Any], path: str, *, is_only: bool, names: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    name = port.get("name", "")
    if not name:
        if not is_only:
            errors.append(required(f"{path}.name"))
    else:
        errors.extend(invalid(f"{path}.name", name, fault) for fault in dns_label_faults(name))
        if name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
    number = port.get("port", 0)
    if not 1 <= number <= 65535:
        errors.append(invalid(f"{path}.port", number, _PORT_RANGE))
    protocol = port.get("protocol", "")
    if protocol not in _PROTOCOLS:
        at = f"{path}.protocol"
        errors.append(not_supported(at, Json(protocol), _PROTOCOLS) if protocol else required(at))
    target = port.get("targetPort")
    if isinstance(target, int) and not 1 <= target <= 65535:
        errors.append(invalid(f"{path}.targetPort", target, _PORT_RANGE))
    if isinstance(target, str):
        errors.extend(invalid(f"{path}.targetPort", target, fault) for fault in port_name_faults(target))
    return errors


# Quotas


def _quota_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    for name, quantity in ((doc.get("spec") or {}).get("hard") or {}).items():
        errors.extend(quantity_errors(name, quantity, f"spec.hard[{name}]"))
    return errors


def _quota_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    return errors if context.subresource else distinct([*errors, *_quota_create(new, context)])


# Role bindings, storage classes


def _fixed(validator: Validator, *fields: str) -> Validator:
    """The same checks, and these fields never change."""

    def update(new: Document, old: Document, context: Context) -> list[FieldError]:
        changed = [
            invalid(path, new.get(path), _FIXED_TEXTS.get(path, IMMUTABLE))
            for path in fields
            if new.get(path) != old.get(path)
        ]
        return [*validator.update(new, old, context), *changed]

    return Validator(create=validator.create, update=update)


_FIXED_TEXTS: Final = {"roleRef": "cannot change roleRef"}


def _segment_named(*fixed: str) -> Validator:
    faults: NameFaults = path_segment_faults
    return _fixed(metadata_validator(faults), *fixed)


CONFIG_MAP: Final = Validator(create=_config_map_create, update=_config_map_update)
SECRET: Final = Validator(create=_secret_create, update=_secret_update)
SERVICE: Final = Validator(create=_service_create, update=_service_update)
RESOURCE_QUOTA: Final = Validator(create=_quota_create, update=_quota_update)
ROLE: Final = _segment_named()
ROLE_BINDING: Final = _segment_named("roleRef")
STORAGE_CLASS: Final = _fixed(metadata_validator(), "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
