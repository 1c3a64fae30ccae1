"""Runtime classes."""

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, invalid
from doorman.semantics.name_syntax import dns_label_faults
from doorman.validation.context import Context, distinct
from doorman.validation.metadata import IMMUTABLE, label_errors, validate_metadata, validate_metadata_update
from doorman.validation.pods.pod import allows_comparison_operators
from doorman.validation.pods.tolerations import toleration_errors
from doorman.validation.resources import quantity_errors


def validate_runtime_class_create(doc: Document, context: Context) -> list[FieldError]:
    return _errors(doc, {}, context)


def validate_runtime_class_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = [*validate_metadata_update(new, old), *_errors(new, old, context)]
    if new.get("handler") != old.get("handler"):
        errors.append(invalid("handler", new.get("handler"), IMMUTABLE))
    return distinct(errors)


def _errors(doc: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata(doc)
    handler = doc.get("handler", "")
    errors.extend(invalid("handler", handler, fault) for fault in dns_label_faults(handler))
    for name, quantity in ((doc.get("overhead") or {}).get("podFixed") or {}).items():
        errors.extend(quantity_errors(name, quantity, f"overhead.podFixed[{name}]"))
    scheduling = doc.get("scheduling") or {}
    errors.extend(label_errors(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector"))
    allowed = allows_comparison_operators(old.get("scheduling"), context)
    tolerations = scheduling.get("tolerations") or ()
    errors.extend(toleration_errors(tolerations, "scheduling.tolerations", comparison_operators=allowed))
    return errors
