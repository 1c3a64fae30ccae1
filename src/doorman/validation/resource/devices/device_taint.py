"""Taints of devices and what tolerates them."""

from typing import Final

from doorman.base.errors import FieldError, JsonText, invalid, not_supported, required
from doorman.validation.faults import Part
from doorman.validation.resource.devices.device_names import label_key_errors, label_value_errors

EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
OPERATORS: Final = ("Equal", "Exists")


def device_taint_errors(taint: Part, path: str, old: Part | None = None) -> list[FieldError]:
    """An effect that is as it was may be one that nobody knows any more."""
    errors = label_key_errors(taint.get("key") or "", f"{path}.key")
    if value := taint.get("value"):
        errors.extend(label_value_errors(value, f"{path}.value"))
    effect = taint.get("effect") or ""
    if old is not None and (old.get("effect") or "") == effect:
        return errors
    if not effect:
        errors.append(required(f"{path}.effect"))
    elif effect not in EFFECTS:
        errors.append(not_supported(f"{path}.effect", JsonText(effect), EFFECTS))
    return errors


def device_toleration_errors(toleration: Part, path: str) -> list[FieldError]:
    key, value = toleration.get("key") or "", toleration.get("value") or ""
    operator, effect = toleration.get("operator") or "", toleration.get("effect") or ""
    errors = label_key_errors(key, f"{path}.key") if key else []
    if operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        errors.extend(label_value_errors(value, f"{path}.value"))
    elif operator:
        errors.append(not_supported(f"{path}.operator", JsonText(operator), OPERATORS))
    else:
        errors.append(required(f"{path}.operator"))
    if effect and effect not in EFFECTS:
        errors.append(not_supported(f"{path}.effect", JsonText(effect), EFFECTS))
    return errors


def device_tolerations_errors(holder: Part, path: str) -> list[FieldError]:
    """All of a request or of a result."""
    return [
        error
        for index, toleration in enumerate(holder.get("tolerations") or ())
        for error in device_toleration_errors(toleration, f"{path}.tolerations[{index}]")
    ]
