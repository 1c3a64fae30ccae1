"""A binding of a pod to a node. Its faults are not a 422: the API answers 500 with the first one's bare text."""

from typing import Final

from doorman.base.errors import ApiError, FieldError, invalid, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import subdomain_faults

_TARGETS: Final = ("Node", "<empty>")


def binding_errors(doc: Document) -> list[FieldError]:
    target = doc.get("target") or {}
    errors: list[FieldError] = []
    kind, name = target.get("kind", ""), target.get("name", "")
    if kind not in ("", "Node"):
        errors.append(not_supported("target.kind", kind, _TARGETS))
    if not name:
        errors.append(required("target.name"))
    elif not errors:
        errors.extend(invalid("target.name", name, fault) for fault in subdomain_faults(name))
    return errors


def check_binding(doc: Document) -> None:
    """Raises the API's answer to a binding that makes no sense."""
    errors = binding_errors(doc)
    if errors:
        texts = [str(error) for error in errors]
        raise ApiError(500, "", texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
