"""Conditions of the common form: a type, a status, a reason, a message and when it came about."""

import re
from collections.abc import Sequence
from typing import Final

from doorman.base.errors import FieldError, JsonText, duplicate, invalid, not_supported, required, too_long
from doorman.semantics.name_syntax import qualified_name_faults
from doorman.validation.faults import Part

REASON_BYTES_MAX: Final = 1024
MESSAGE_BYTES_MAX: Final = 32 * 1024
_STATUSES: Final = ("False", "True", "Unknown")
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RE: Final = re.compile(_REASON, re.ASCII)
_REASON_FAULT: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    f"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)


def condition_errors(conditions: Sequence[Part], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        if kind in seen:
            errors.append(duplicate(f"{path}[{index}]", kind))
        seen.add(kind)
        errors.extend(_one_errors(condition, f"{path}[{index}]"))
    return errors


def _one_errors(condition: Part, path: str) -> list[FieldError]:
    kind, status = condition.get("type") or "", condition.get("status") or ""
    errors = [invalid(f"{path}.type", kind, fault) for fault in qualified_name_faults(kind)] if kind else []
    if not kind:
        errors.append(required(f"{path}.type", "is required"))
    if not status:
        errors.append(required(f"{path}.status"))
    elif status not in _STATUSES:
        errors.append(not_supported(f"{path}.status", JsonText(status), _STATUSES))
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        errors.append(invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{path}.lastTransitionTime"))
    return [
        *errors,
        *_reason_errors(condition.get("reason") or "", f"{path}.reason"),
        *_message_errors(condition, path),
    ]


def _reason_errors(reason: str, path: str) -> list[FieldError]:
    if not reason:
        return [required(path)]
    errors = [] if _REASON_RE.fullmatch(reason) else [invalid(path, reason, _REASON_FAULT)]
    return [*errors, too_long(path, REASON_BYTES_MAX)] if len(reason.encode()) > REASON_BYTES_MAX else errors


def _message_errors(condition: Part, path: str) -> list[FieldError]:
    is_long = len((condition.get("message") or "").encode()) > MESSAGE_BYTES_MAX
    return [too_long(f"{path}.message", MESSAGE_BYTES_MAX)] if is_long else []
