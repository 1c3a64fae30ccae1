"""Conditions a driver must report before a pod is bound to a device, and those that tell that it cannot."""

from collections.abc import Sequence
from typing import Final

from doorman.base.errors import FieldError, duplicate, invalid
from doorman.validation.faults import Part
from doorman.validation.resource.devices.device_names import label_key_errors
from doorman.validation.resource.list_checks import list_errors

BINDING_CONDITIONS_MAX: Final = 4
_READY: Final = "bindingConditions"
_FAILED: Final = "bindingFailureConditions"


def binding_errors(holder: Part, path: str) -> list[FieldError]:
    """Of a device or of a result: one list needs the other, and they have nothing in common."""
    ready, failed = holder.get(_READY) or (), holder.get(_FAILED) or ()
    errors = [
        error
        for name, conditions in ((_READY, ready), (_FAILED, failed))
        for error in list_errors(conditions, f"{path}.{name}", BINDING_CONDITIONS_MAX, label_key_errors)
    ]
    errors.extend(_repeated(ready, f"{path}.{_READY}"))
    for index, condition in enumerate(failed):
        at = f"{path}.{_FAILED}[{index}]"
        if condition in failed[:index]:
            errors.append(duplicate(at, condition))
        if condition in ready:
            errors.append(invalid(at, condition, f"{_FAILED} must not overlap with {_READY}"))
    if failed and not ready:
        errors.append(invalid(f"{path}.{_READY}", holder.get(_READY), f"{_READY} are required to use {_FAILED}"))
    if ready and not failed:
        errors.append(invalid(f"{path}.{_FAILED}", holder.get(_FAILED), f"{_FAILED} are required to use {_READY}"))
    return errors


def _repeated(conditions: Sequence[str], path: str) -> list[FieldError]:
    return [
        duplicate(f"{path}[{index}]", condition)
        for index, condition in enumerate(conditions)
        if condition in conditions[:index]
    ]
