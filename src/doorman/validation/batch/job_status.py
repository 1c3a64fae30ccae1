"""What a job's status may say: whoever manages the job, its end is told in the same way.

A rule is held against a write only when it changes what the rule is about: a status that broke one before may still be
written for other reasons.
"""

from collections.abc import Mapping
from typing import Any, Final

from doorman.base.errors import FieldError, FieldErrorType, duplicate, invalid, required
from doorman.base.go_format import quote
from doorman.base.instants import from_time
from doorman.base.json_types import Document
from doorman.validation.metadata import IMMUTABLE

_Json = Mapping[str, Any]  # a status, or a part of one

_COUNTERS: Final = ("active", "succeeded", "failed", "ready", "terminating")
_NEGATIVE: Final = "must be greater than or equal to 0"


def job_status_errors(new: Document, old: Document) -> list[FieldError]:
    spec, status, before = new.get("spec") or {}, new.get("status") or {}, old.get("status") or {}
    errors = [invalid(f"status.{name}", status[name], _NEGATIVE) for name in _COUNTERS if (status.get(name) or 0) < 0]
    errors += _uncounted_errors(status.get("uncountedTerminatedPods") or {})
    changed = _changed(status, before)
    errors += _time_errors(status, changed)
    errors += _end_errors(spec, status, changed)
    errors += _index_errors(spec, status, changed)
    if changed & {"Complete", "Failed", "terminating"} and (status.get("terminating") or 0) > 0 and _is_over(status):
        errors.append(invalid("status.terminating", status["terminating"], "terminating>0 is invalid for finished job"))
    ready = status.get("ready")
    if changed & {"ready", "active"} and ready is not None and ready > (status.get("active") or 0):
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    errors += _exclusion_errors(spec, status)
    return [*errors, *_transition_errors(spec, status, before)]


def _changed(status: _Json, before: _Json) -> set[str]:
    """Members, and conditions that are true, that are not as they were."""
    fields = {name for name in {**status, **before} if name != "conditions" and status.get(name) != before.get(name)}
    return fields | {name for name in _CONDITIONS if _is_true(status, name) is not _is_true(before, name)}


_CONDITIONS: Final = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")


def _is_true(status: _Json, kind: str) -> bool:
    return any(one.get("type") == kind and one.get("status") == "True" for one in status.get("conditions") or ())


def _is_over(status: _Json) -> bool:
    return _is_true(status, "Complete") or _is_true(status, "Failed")


def _uncounted_errors(uncounted: _Json) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(field) or ()):
            at = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                errors.append(invalid(at, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(at, uid))
            seen.add(uid)
    return errors


def _conditions(text: str) -> FieldError:
    """The conditions themselves are not shown."""
    return FieldError(FieldErrorType.INVALID, "status.conditions", f"Invalid value: {text}")


def _time_errors(status: _Json, changed: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if changed & {"Complete", "Failed"} and _is_true(status, "Complete") and _is_true(status, "Failed"):
        errors.append(_conditions("cannot set Complete=True and Failed=true conditions"))
    if changed & {"Complete", "FailureTarget"} and _is_true(status, "Complete") and _is_true(status, "FailureTarget"):
        errors.append(_conditions("cannot set Complete=True and FailureTarget=true conditions"))
    ended, began, at = status.get("completionTime"), status.get("startTime"), "status.completionTime"
    if changed & {"Complete", "completionTime"}:
        if ended is not None and not _is_true(status, "Complete"):
            errors.append(invalid(at, ended, "cannot set completionTime when there is no Complete=True condition"))
        if ended is None and _is_true(status, "Complete"):
            errors.append(required(at, "completionTime is required for Complete jobs"))
    if changed & {"startTime", "completionTime"} and ended and began and from_time(ended) < from_time(began):
        errors.append(invalid(at, ended, "must be equal to or after `startTime`"))
    return errors


def _end_errors(spec: _Json, status: _Json, changed: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if changed & {"Failed", "failedIndexes"} and _is_true(status, "Failed") and not _is_true(status, "FailureTarget"):
        errors.append(_conditions("cannot set Failed=True condition without the FailureTarget=true condition"))
    is_unmet = _is_true(status, "Complete") and not _is_true(status, "SuccessCriteriaMet")
    if changed & {"Complete", "SuccessCriteriaMet"} and is_unmet:
        errors.append(_conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition"))
    if not _is_over(status):
        return errors
    is_ended = bool(changed & {"Complete", "Failed"})
    if (is_ended or "active" in changed) and (status.get("active") or 0) > 0:
        errors.append(invalid("status.active", status["active"], "active>0 is invalid for finished job"))
    is_empty = bool(spec.get("suspend")) and spec.get("completions") == 0
    if (is_ended or "startTime" in changed) and not status.get("startTime") and not is_empty:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = status.get("uncountedTerminatedPods") or {}
    is_left = bool(uncounted.get("failed") or uncounted.get("succeeded"))
    if is_left and (is_ended or "uncountedTerminatedPods" in changed):
        errors.append(invalid("status.uncountedTerminatedPods", uncounted, "must be empty for finished job"))
    return errors


def _index_errors(spec: _Json, status: _Json, changed: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    completions, limit = spec.get("completions"), spec.get("backoffLimitPerIndex")
    done, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    if "completedIndexes" in changed and completions is not None and (fault := _format_fault(done, completions)):
        errors.append(invalid("status.completedIndexes", done, f"error parsing completedIndexes: {fault}"))
    is_limited = limit is not None and failed is not None and "failedIndexes" in changed
    if is_limited and completions is not None and (fault := _format_fault(failed or "", completions)):
        errors.append(invalid("status.failedIndexes", failed, f"error parsing failedIndexes: {fault}"))
    if "completedIndexes" in changed and done and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", done, text))
    if "failedIndexes" in changed and failed is not None and limit is None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", failed, text))
    return errors


def _format_fault(text: str, completions: int) -> str:
    """
    >>> _format_fault("1,3-5", 6), _format_fault("3,1", 6), _format_fault("7", 6)
    ('', 'non-increasing order, previous: 3, current: 1', 'too large index: "7"')
    """
    last: int | None = None
    for interval in text.split(",") if text else ():
        parts = interval.split("-")
        if len(parts) > 2:
            rule = "an index interval can have at most two parts separated by '-'"
            return f"the fragment {quote(interval)} violates the requirement that {rule}"
        numbers: list[int] = []
        for part in parts:
            if not part.isascii() or not part.isdigit():
                return f"cannot convert string to integer for index: {quote(part)}"
            if int(part) >= completions:
                return f"too large index: {quote(part)}"
            numbers.append(int(part))
        for one, other in ((last, numbers[0]), (numbers[0], numbers[-1]) if len(numbers) > 1 else (None, 0)):
            if one is not None and one >= other:
                return f"non-increasing order, previous: {one}, current: {other}"
        last = numbers[-1]
    return ""


def _exclusion_errors(spec: _Json, status: _Json) -> list[FieldError]:
    is_met = _is_true(status, "SuccessCriteriaMet")
    errors = [
        _conditions(f"cannot set SuccessCriteriaMet=True and {other}=true conditions")
        for other in ("Failed", "FailureTarget")
        if is_met and _is_true(status, other)
    ]
    if spec.get("successPolicy") is not None and not is_met and _is_true(status, "Complete"):
        errors.append(_conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"))
    return errors


def _transition_errors(spec: _Json, status: _Json, before: _Json) -> list[FieldError]:
    errors = [
        _conditions(f"cannot disable the terminal {kind}=True condition")
        for kind in ("Failed", "Complete", "FailureTarget")
        if _is_true(before, kind) and not _is_true(status, kind)
    ]
    is_elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    errors += [
        invalid(f"status.{name}", status.get(name) or 0, f"cannot decrease the {name} counter")
        for name in ("failed", *(() if is_elastic else ("succeeded",)))
        if (status.get(name) or 0) < (before.get(name) or 0)
    ]
    ended = status.get("completionTime")
    if ended is not None and before.get("completionTime") not in (None, ended):
        errors.append(invalid("status.completionTime", ended, IMMUTABLE))
    began, was = status.get("startTime"), before.get("startTime")
    resumed = [one.get("status") for one in status.get("conditions") or () if one.get("type") == "Suspended"]
    is_resuming = _is_true(before, "Suspended") and resumed == ["False"]
    if was is not None and began != was and not spec.get("suspend") and not is_resuming:
        errors.append(invalid("status.startTime", began, f"{IMMUTABLE} for unsuspended job once set"))
    return errors
