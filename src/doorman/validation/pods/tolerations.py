"""Tolerations of a pod, a pod template or a runtime class."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, forbidden, invalid, not_supported
from doorman.semantics.name_syntax import label_value_faults, qualified_name_faults
from doorman.semantics.taints.annotation_lists import INTERNAL_TOLERATION, AnnotationError, parse_annotated_list
from doorman.semantics.taints.canonical_integers import canonical_integer_faults
from doorman.semantics.taints.taint_spec import EFFECTS
from doorman.validation.core.node_taint_rules import effect_error

EMPTY_KEY: Final = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
SECONDS_WITHOUT_NO_EXECUTE: Final = "effect must be 'NoExecute' when `tolerationSeconds` is set"
EXISTS_WITH_VALUE: Final = "value must be empty when `operator` is 'Exists'"
ONLY_ADDITIONS: Final = "existing toleration can not be modified except its tolerationSeconds"

TOLERATIONS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/tolerations"

_COMPARISONS: Final = frozenset({"Gt", "Lt"})


def toleration_errors(
    tolerations: Sequence[Mapping[str, Any]], path: str, *, comparison_operators: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, toleration in enumerate(tolerations):
        if not _is_plain(toleration):
            errors.extend(_errors_of(toleration, f"{path}[{index}]", comparison_operators=comparison_operators))
    return errors


def uses_comparison_operators(tolerations: Sequence[Mapping[str, Any]] | None) -> bool:
    """A stored list that has them may go on having them, whatever the gate says now."""
    return any(toleration.get("operator") in _COMPARISONS for toleration in tolerations or ())


def toleration_update_errors(
    new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]], path: str
) -> list[FieldError]:
    """Every stored toleration must still be there, whatever its seconds are now."""
    if new == old:
        return []
    there = {_identity(toleration) for toleration in new}
    if all(_identity(toleration) in there for toleration in old):
        return []
    return [forbidden(path, ONLY_ADDITIONS)]


def toleration_annotation_errors(
    annotations: Mapping[str, str], path: str, *, comparison_operators: bool
) -> list[FieldError]:
    """The annotation that carried tolerations before 1.6: still checked, never acted upon."""
    text = annotations.get(TOLERATIONS_ANNOTATION, "")
    if not text:
        return []
    try:
        tolerations = parse_annotated_list(text, INTERNAL_TOLERATION)
    except AnnotationError as error:
        return [invalid(path, TOLERATIONS_ANNOTATION, str(error))]
    at = f"{path}.{TOLERATIONS_ANNOTATION}"
    return toleration_errors(tolerations, at, comparison_operators=comparison_operators)


def _is_plain(toleration: Mapping[str, Any]) -> bool:
    """The form nearly all tolerations have, which can be waved through."""
    get = toleration.get
    if get("operator") != "Exists" or get("value"):
        return False
    effect = get("effect", "")
    if (effect and effect not in EFFECTS) or ("tolerationSeconds" in toleration and effect != "NoExecute"):
        return False
    return not qualified_name_faults(get("key") or "every-key")


def _errors_of(toleration: Mapping[str, Any], path: str, *, comparison_operators: bool) -> list[FieldError]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    errors: list[FieldError] = []
    if key:
        errors.extend(invalid(f"{path}.key", key, fault) for fault in qualified_name_faults(key))
    elif operator != "Exists":
        errors.append(invalid(f"{path}.operator", JsonText(operator), EMPTY_KEY))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        errors.append(invalid(f"{path}.effect", JsonText(effect), SECONDS_WITHOUT_NO_EXECUTE))
    errors.extend(_operator_errors(operator, value, path, comparison_operators=comparison_operators))
    if effect and effect not in EFFECTS:
        errors.append(effect_error(effect, f"{path}.effect"))
    return errors


def _operator_errors(operator: str, value: str, path: str, *, comparison_operators: bool) -> list[FieldError]:
    if operator in ("", "Equal"):
        faults = label_value_faults(value)
        return [invalid(f"{path}.operator", value, ";".join(faults))] if faults else []
    if operator == "Exists":
        return [invalid(f"{path}.operator", value, EXISTS_WITH_VALUE)] if value else []
    if operator not in _COMPARISONS:
        return [not_supported(f"{path}.operator", JsonText(operator), ("Equal", "Exists"))]
    if not comparison_operators:
        return [not_supported(f"{path}.operator", JsonText(operator), ("Equal", "Exists", "Lt", "Gt"))]
    return [invalid(f"{path}.value", value, fault) for fault in canonical_integer_faults(value)]


def _identity(toleration: Mapping[str, Any]) -> tuple[str, str, str, str]:
    get = toleration.get
    return get("key", ""), get("operator", ""), get("value", ""), get("effect", "")
