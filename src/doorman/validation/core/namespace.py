"""Namespaces."""

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, invalid
from doorman.semantics.name_syntax import dns_label_faults, qualified_name_faults
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import kube_finalizer_errors, validate_metadata, validate_metadata_update


def validate_namespace_create(doc: Document, _context: Context) -> list[FieldError]:
    errors = validate_metadata(doc, dns_label_faults)
    for finalizer in (doc.get("spec") or {}).get("finalizers") or ():
        errors.extend(_finalizer_errors(finalizer))
    return errors


def validate_namespace_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource == "finalize":
        for finalizer in (new.get("spec") or {}).get("finalizers") or ():
            errors.extend(_finalizer_errors(finalizer))
    elif not context.subresource:
        errors.extend(validate_metadata(new, dns_label_faults))
    return distinct(errors)


def _finalizer_errors(finalizer: str) -> list[FieldError]:
    path = "spec.finalizers"
    errors = [invalid(path, finalizer, fault) for fault in qualified_name_faults(finalizer)]
    return errors or kube_finalizer_errors(finalizer, path)
