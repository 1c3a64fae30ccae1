"""Kinds of which little is checked: config maps, secrets, quotas."""

from typing import Final

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, forbidden, invalid, too_long
from doorman.semantics.name_syntax import config_key_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import (
    IMMUTABLE,
    validate_metadata,
    validate_metadata_update,
)
from doorman.validation.resources import quantity_errors

DATA_BYTES_MAX: Final = 1024 * 1024
_IMMUTABLE_WHEN_SET: Final = "field is immutable when `immutable` is set"


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


# Quotas


def _quota_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    for name, quantity in ((doc.get("spec") or {}).get("hard") or {}).items():
        errors.extend(quantity_errors(name, quantity, f"spec.hard[{name}]"))
    return errors


def _quota_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    return errors if context.subresource else distinct([*errors, *_quota_create(new, context)])


CONFIG_MAP: Final = Validator(create=_config_map_create, update=_config_map_update)
SECRET: Final = Validator(create=_secret_create, update=_secret_update)
RESOURCE_QUOTA: Final = Validator(create=_quota_create, update=_quota_update)
