"""Kinds of which little is checked: config maps and secrets."""

import base64
from typing import Final

import msgspec

from doorman.api.machinery.decode_errors import json_type
from doorman.base.errors import FieldError, forbidden, invalid, required, too_long
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import config_key_faults
from doorman.semantics.taints.annotation_lists import syntax_fault
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import (
    IMMUTABLE,
    validate_metadata,
    validate_metadata_update,
)

DATA_BYTES_MAX: Final = 1024 * 1024
_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
_DOCKER_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_IMMUTABLE_WHEN_SET: Final = "field is immutable when `immutable` is set"


# Config maps and secrets


def _data_errors(doc: Document, *fields: str, path: str = "") -> list[FieldError]:
    errors: list[FieldError] = []
    size = 0
    for field in fields:
        is_bytes = field == "binaryData" or path == field
        for key, value in (doc.get(field) or {}).items():
            size += _decoded_length(value) if is_bytes else len(value.encode())
            errors.extend(invalid(f"{field}[{key}]", key, fault) for fault in config_key_faults(key))
    if size > DATA_BYTES_MAX:
        errors.append(too_long(path, DATA_BYTES_MAX))
    return errors


def _decoded_length(text: str) -> int:
    return len(text) // 4 * 3 - text.count("=", -2)


def _config_map_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = [*validate_metadata(doc), *_data_errors(doc, "data", "binaryData")]
    both = sorted((doc.get("data") or {}).keys() & (doc.get("binaryData") or {}).keys())
    errors.extend(invalid("data", key, "duplicate of key present in binaryData") for key in both)
    return errors


def _config_map_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = [*validate_metadata_update(new, old), *_frozen_errors(new, old, "data", "binaryData")]
    return distinct([*errors, *_config_map_create(new, context)])


def _secret_create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_data_errors(doc, "data", path="data"), *_type_errors(doc)]


def _type_errors(doc: Document) -> list[FieldError]:
    """What a secret of a type must hold for those who read it."""
    kind, data = doc.get("type") or "", doc.get("data") or {}
    if kind == "kubernetes.io/service-account-token":
        name = (doc["metadata"].get("annotations") or {}).get(_ACCOUNT_NAME)
        return [] if name else [required(f"metadata.annotations[{_ACCOUNT_NAME}]")]
    if (key := _DOCKER_KEYS.get(kind)) is not None:
        if key not in data:
            return [required(f"data[{key}]")]
        fault = _object_fault(base64.b64decode(data[key]))
        return [invalid(f"data[{key}]", "<secret contents redacted>", fault)] if fault else []
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        return [required("data[username]"), required("data[password]")]
    if kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        return [required("data[ssh-privatekey]")]
    if kind == "kubernetes.io/tls":
        return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    return []


def _object_fault(text: bytes) -> str:
    """Why it is no object in JSON; empty when it is one."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return syntax_fault(text)
    if found is None or isinstance(found, dict):
        return ""
    return f"json: cannot unmarshal {json_type(found)} into Go value of type map[string]interface {{}}"


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


CONFIG_MAP: Final = Validator(create=_config_map_create, update=_config_map_update)
SECRET: Final = Validator(create=_secret_create, update=_secret_update)
