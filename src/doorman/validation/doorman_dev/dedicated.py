"""DedicatedNodes and toleration policies."""

from typing import Final

from doorman.base.errors import FieldError, not_supported, required
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import dns_label_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import validate_metadata, validate_metadata_update
from doorman.validation.pods.tolerations import toleration_errors
from doorman.validation.selectors import label_selector_errors

_EFFECTS: Final = ("NoSchedule", "NoExecute")
_NOBODY: Final = "one of namespaces, namespaceSelector and groups must say whom the nodes are for"


def _dedicated_create(doc: Document, _context: Context) -> list[FieldError]:
    spec = doc.get("spec") or {}
    errors = validate_metadata(doc, dns_label_faults)
    selector = spec.get("nodeSelector") or {}
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(required("spec.nodeSelector", "an empty selector would set every node apart"))
    errors.extend(label_selector_errors(selector, "spec.nodeSelector"))
    errors.extend(label_selector_errors(spec.get("namespaceSelector"), "spec.namespaceSelector"))
    if not spec.get("namespaces") and not spec.get("groups") and spec.get("namespaceSelector") is None:
        errors.append(required("spec.namespaces", _NOBODY))
    if spec.get("effect", _EFFECTS[0]) not in _EFFECTS:
        errors.append(not_supported("spec.effect", spec["effect"], _EFFECTS))
    return errors


def _dedicated_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    return distinct([*validate_metadata_update(new, old), *_dedicated_create(new, context)])


def _policy_create(doc: Document, context: Context) -> list[FieldError]:
    spec = doc.get("spec") or {}
    errors = [*validate_metadata(doc), *label_selector_errors(spec.get("namespaceSelector"), "spec.namespaceSelector")]
    if spec.get("allow") is None and not spec.get("deny"):
        errors.append(required("spec.deny", "a policy needs an allow list or a deny list"))
    for name in ("allow", "deny"):
        rules = spec.get(name) or ()
        allowed = context.comparison_operators
        errors.extend(toleration_errors(rules, f"spec.{name}", comparison_operators=allowed))
    return errors


def _policy_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    return distinct([*validate_metadata_update(new, old), *_policy_create(new, context)])


DEDICATED_NODES: Final = Validator(create=_dedicated_create, update=_dedicated_update)
TOLERATION_POLICY: Final = Validator(create=_policy_create, update=_policy_update)
