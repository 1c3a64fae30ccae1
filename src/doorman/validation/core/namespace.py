"""Namespaces."""

from doorman.base.errors import FieldError, invalid
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_label_faults, qualified_name_faults
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import kube_finalizer_errors, validate_metadata, validate_metadata_update


def validate_namespace_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc, dns_label_faults)
    for finalizer in (doc.get("spec") or {}).get("finalizers") or ():
        errors.extend(_finalizer_errors(finalizer, "spec.finalizers"))
    return errors


def validate_namespace_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource == "finalize":
        for index, finalizer in enumerate((new.get("spec") or {}).get("finalizers") or ()):
            errors.extend(_finalizer_errors(finalizer, f"spec.finalizers[{index}]"))
    elif context.subresource:
        errors.extend(_phase_errors(new))
    else:
        errors.extend(validate_metadata(new, dns_label_faults))
    return distinct(errors)


def _phase_errors(doc: Document) -> list[FieldError]:
    phase = (doc.get("status") or {}).get("phase") or ""
    is_deleted = bool(doc["metadata"].get("deletionTimestamp"))
    wanted, when = ("Terminating", "not empty") if is_deleted else ("Active", "empty")
    text = f"may only be '{wanted}' if `deletionTimestamp` is {when}"
    return [] if phase == wanted else [invalid("status.Phase", phase, text)]


def _finalizer_errors(finalizer: str, path: str) -> list[FieldError]:
    errors = [invalid(path, finalizer, fault) for fault in qualified_name_faults(finalizer)]
    return [*errors, *kube_finalizer_errors(finalizer, path)]
