"""Taints of a node. Their path begins with `metadata.taints`: that is where Kubernetes says they are."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import FieldError, JsonText, duplicate, invalid, not_supported, required
from doorman.semantics.name_syntax import label_value_faults, qualified_name_faults
from doorman.semantics.taints.annotation_lists import INTERNAL_TAINT, AnnotationError, parse_annotated_list
from doorman.semantics.taints.taint_spec import EFFECTS

EFFECT_LIST: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NOT_UNIQUE: Final = "taints must be unique by key and effect pair"

TAINTS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/taints"


def taint_errors(taints: Sequence[Mapping[str, Any]], path: str = "metadata.taints") -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        errors.extend(invalid(f"{path}[{index}].key", key, fault) for fault in qualified_name_faults(key))
        if faults := label_value_faults(value):
            errors.append(invalid(f"{path}[{index}].value", value, ";".join(faults)))
        if effect not in EFFECTS:
            errors.append(effect_error(effect, f"{path}[{index}].effect"))
        if (key, effect) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            errors.append(duplicate(f"{path}[{index}]", shown, NOT_UNIQUE))
        seen.add((key, effect))
    return errors


def effect_error(effect: str, path: str) -> FieldError:
    """For an effect that is none of the three."""
    return not_supported(path, JsonText(effect), EFFECT_LIST) if effect else required(path)


def taint_annotation_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    """The annotation that carried taints before 1.6: still checked, never acted upon."""
    text = annotations.get(TAINTS_ANNOTATION, "")
    if not text:
        return []
    try:
        taints = parse_annotated_list(text, INTERNAL_TAINT)
    except AnnotationError as error:
        return [invalid("metadata.annotations", TAINTS_ANNOTATION, str(error))]
    return taint_errors(taints, f"metadata.annotations.{TAINTS_ANNOTATION}")
