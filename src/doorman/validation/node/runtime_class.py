"""Runtime classes."""

from collections.abc import Mapping, Sequence
from typing import Any

from doorman.base.errors import FieldError, duplicate, invalid, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_label_faults
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import IMMUTABLE, label_errors, validate_metadata, validate_metadata_update
from doorman.validation.pods.tolerations import toleration_errors
from doorman.validation.resources import requirement_errors


def validate_runtime_class_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    handler = doc.get("handler", "")
    if not handler:
        errors.append(required("handler"))
    else:
        errors.extend(invalid("handler", handler, fault) for fault in dns_label_faults(handler))
    if fixed := (doc.get("overhead") or {}).get("podFixed"):
        errors.extend(requirement_errors({"limits": fixed}, frozenset(), "overhead"))
    scheduling = doc.get("scheduling") or {}
    errors.extend(label_errors(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector"))
    return [*errors, *_toleration_errors(scheduling.get("tolerations") or (), "scheduling.tolerations")]


def validate_runtime_class_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = [*validate_runtime_class_create(new, context), *validate_metadata_update(new, old)]
    if new.get("handler") != old.get("handler"):
        missing = [error for error in errors if error == required("handler")]
        errors = [error for error in errors if error not in missing]
        errors += [invalid("handler", new.get("handler"), IMMUTABLE), *missing]
    return distinct(errors)


def _toleration_errors(tolerations: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    """A runtime class cannot compare, whatever the gate says, nor tolerate the same twice."""
    errors = toleration_errors(tolerations, path, comparison_operators=False)
    seen = set()
    for index, toleration in enumerate(tolerations):
        identity = tuple(toleration.get(member) or "" for member in ("key", "operator", "value", "effect"))
        if identity in seen:
            errors.append(duplicate(f"{path}[{index}]", toleration))
        seen.add(identity)
    return errors
