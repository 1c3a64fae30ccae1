"""StorageVersionMigrations: objects of a resource are written again, in the version they are to be stored in."""

from typing import Final

from doorman.base.errors import FieldError, invalid, required
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_1035_faults, subdomain_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import Part, fixed
from doorman.validation.metadata import IMMUTABLE, validate_metadata, validate_metadata_update

_ENDS: Final = (("Succeeded", "Success"), ("Failed", "Failed"))
"""Types of the conditions a migration ends with, and how they are called."""


def _create(doc: Document, _context: Context) -> list[FieldError]:
    resource: Part = (doc.get("spec") or {}).get("resource") or {}
    errors = validate_metadata(doc)
    name, group = resource.get("resource") or "", resource.get("group") or ""
    if not name:
        errors.append(required("spec.resource.resource", "resource is required to be set"))
    elif faults := dns_1035_faults(name):
        errors.append(invalid("spec.resource.resource", name, ",".join(faults)))
    if group and (faults := subdomain_faults(group)):
        errors.append(invalid("spec.resource.group", group, ",".join(faults)))
    return errors


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    if context.subresource:
        changed = _status_errors(new.get("status") or {}, old.get("status") or {})
        return distinct([*validate_metadata_update(new, old), *changed])
    errors = [*_create(new, context), *validate_metadata_update(new, old)]
    return distinct([*errors, *fixed(new, old, "spec", "")])


def _status_errors(new: Part, old: Part) -> list[FieldError]:
    errors: list[FieldError] = []
    version, before = new.get("resourceVersion") or "", old.get("resourceVersion") or ""
    conditions = new.get("conditions") or []
    if version and not (version.isascii() and version.isdigit()):
        text = f"resource version is not well formed: {quote(version)}"
        errors.append(invalid("status.resourceVersion", version, text))
    if before and version != before:
        errors.append(invalid("status.resourceVersion", version, IMMUTABLE))
    if all(_is_true(new, kind) for kind, _ in _ENDS):
        text = "Both success and failed conditions cannot be true at the same time"
        errors.append(invalid("status.conditions", conditions, text))
    errors += [
        invalid("status.conditions", conditions, f"{called} condition cannot be set to false once it is true")
        for kind, called in _ENDS
        if _is_true(old, kind) and not _is_true(new, kind)
    ]
    return errors


def _is_true(status: Part, kind: str) -> bool:
    return any(one.get("type") == kind and one.get("status") == "True" for one in status.get("conditions") or ())


STORAGE_VERSION_MIGRATION: Final = Validator(create=_create, update=_update)
