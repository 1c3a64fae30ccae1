"""What a job says about its indexes, about failed pods and about early success.

Rules
-----
1. Limits of single indexes belong to indexed jobs only, and `maxFailedIndexes` needs `backoffLimitPerIndex`. Jobs of
   very many indexes must bound what they keep.
2. A rule about failed pods has an action and looks at exit codes or at conditions, not at both and not at neither.
   Such a policy works only with pods that are never restarted and replaced only when they have failed.
3. A rule about early success names indexes in increasing order, or a number of them, or both.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.base.errors import (
    FieldError,
    FieldErrorType,
    JsonText,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from doorman.base.go_format import quote
from doorman.semantics.name_syntax import qualified_name_faults
from doorman.validation.apps.workload import non_negative_errors

PARALLELISM_MAX: Final = 100_000
FAILED_INDEXES_MAX: Final = 100_000
MANY_COMPLETIONS: Final = 100_000
"""Beyond so many completions the next two limits hold for jobs that count failures by index."""
PARALLELISM_OF_MANY_MAX: Final = 10_000
FAILED_INDEXES_OF_MANY_MAX: Final = 10_000
RULES_MAX: Final = 20
EXIT_CODES_MAX: Final = 255
CONDITIONS_MAX: Final = 20
INDEXES_CHARACTERS_MAX: Final = 64 * 1024

_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_REPLACEMENTS: Final = ("Failed", "TerminatingOrFailed")
_INDEXED_ONLY: Final = "requires indexed completion mode"

_Json = Mapping[str, Any]


def policy_errors(spec: _Json, path: str) -> list[FieldError]:
    """Rules 1 to 3, but for the policy of restarts."""
    errors = index_errors(spec, path)
    if spec.get("podFailurePolicy") is not None:
        errors.extend(_failure_policy_errors(spec, f"{path}.podFailurePolicy"))
    if spec.get("successPolicy") is not None:
        at = f"{path}.successPolicy"
        if spec.get("completionMode") != "Indexed":
            errors.append(invalid(at, spec["successPolicy"], _INDEXED_ONLY))
        else:
            errors.extend(_success_policy_errors(spec, at))
    replacement = spec.get("podReplacementPolicy")
    allowed = _REPLACEMENTS if spec.get("podFailurePolicy") is None else ("Failed",)
    if replacement is not None and replacement not in allowed:
        errors.append(not_supported(f"{path}.podReplacementPolicy", JsonText(replacement), allowed))
    return errors


def index_errors(spec: _Json, path: str) -> list[FieldError]:
    """Rule 1."""
    if spec.get("completionMode") == "Indexed":
        return _indexed_errors(spec, path)
    if spec.get("completionMode") not in (None, "NonIndexed"):
        return []  # what is no mode at all is told elsewhere
    return [
        invalid(f"{path}.{field}", spec[field], _INDEXED_ONLY)
        for field in ("backoffLimitPerIndex", "maxFailedIndexes")
        if spec.get(field) is not None
    ]


def _indexed_errors(spec: _Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism > PARALLELISM_MAX:
        text = f"must be less than or equal to {PARALLELISM_MAX} when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", parallelism, text))
    if completions is not None and failed is not None and failed > completions:
        errors.append(invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > FAILED_INDEXES_MAX:
        errors.append(
            invalid(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {FAILED_INDEXES_MAX}")
        )
    if (completions or 0) > MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None:
        when = f"when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
        if failed is None:
            text = f"must be specified when completions is above {MANY_COMPLETIONS}"
            errors.append(required(f"{path}.maxFailedIndexes", text))
        if parallelism > PARALLELISM_OF_MANY_MAX:
            text = f"must be less than or equal to {PARALLELISM_OF_MANY_MAX} {when}"
            errors.append(invalid(f"{path}.parallelism", parallelism, text))
        if failed is not None and failed > FAILED_INDEXES_OF_MANY_MAX:
            text = f"must be less than or equal to {FAILED_INDEXES_OF_MANY_MAX} {when}"
            errors.append(invalid(f"{path}.maxFailedIndexes", failed, text))
    return errors


def _failure_policy_errors(spec: _Json, path: str) -> list[FieldError]:
    """Rule 2."""
    rules: Sequence[_Json] = spec["podFailurePolicy"].get("rules") or ()
    errors: list[FieldError] = []
    if len(rules) > RULES_MAX:
        errors.append(too_many(f"{path}.rules", len(rules), RULES_MAX))
    pod: _Json = (spec.get("template") or {}).get("spec") or {}
    containers = [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]
    names = [one.get("name", "") for one in containers]
    for at, rule in enumerate(rules):
        here = f"{path}.rules[{at}]"
        by_index = spec.get("backoffLimitPerIndex") is not None
        errors.extend(_action_errors(rule.get("action", ""), f"{here}.action", by_index=by_index))
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            errors.extend(_exit_code_errors(codes, f"{here}.onExitCodes", names))
        errors.extend(_condition_errors(conditions, f"{here}.onPodConditions"))
        if codes is not None and conditions:
            errors.append(_without_value(here, "specifying both OnExitCodes and OnPodConditions is not supported"))
        if codes is None and not conditions:
            errors.append(_without_value(here, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _action_errors(action: str, path: str, *, by_index: bool) -> list[FieldError]:
    if not action:
        return [required(path, f"valid values: {_go_list(_ACTIONS)}")]
    if action not in _ACTIONS:
        return [not_supported(path, JsonText(action), _ACTIONS)]
    if action == "FailIndex" and not by_index:
        return [invalid(path, action, "requires the backoffLimitPerIndex to be set")]
    return []


def _exit_code_errors(codes: _Json, path: str, containers: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    operator = codes.get("operator", "")
    if not operator:
        errors.append(required(f"{path}.operator", f"valid values: {_go_list(_OPERATORS)}"))
    elif operator not in _OPERATORS:
        errors.append(not_supported(f"{path}.operator", JsonText(operator), _OPERATORS))
    name = codes.get("containerName")
    if name is not None and name not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", name, text))
    values: Sequence[int] = codes.get("values") or ()
    if not values:
        errors.append(invalid(f"{path}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > EXIT_CODES_MAX:
        errors.append(too_many(f"{path}.values", len(values), EXIT_CODES_MAX))
    for at, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{path}.values[{at}]", value, "must not be 0 for the In operator"))
        if value in values[:at]:
            errors.append(duplicate(f"{path}.values[{at}]", value))
    if list(values) != sorted(values):
        errors.append(invalid(f"{path}.values", list(values), "must be ordered"))
    return errors


def _condition_errors(conditions: Sequence[_Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(conditions) > CONDITIONS_MAX:
        errors.append(too_many(path, len(conditions), CONDITIONS_MAX))
    for at, condition in enumerate(conditions):
        kind, status = condition.get("type", ""), condition.get("status", "")
        errors.extend(invalid(f"{path}[{at}].type", kind, fault) for fault in qualified_name_faults(kind))
        if not status:
            errors.append(required(f"{path}[{at}].status", f"valid values: {_go_list(_STATUSES)}"))
        elif status not in _STATUSES:
            errors.append(not_supported(f"{path}[{at}].status", JsonText(status), _STATUSES))
    return errors


def _success_policy_errors(spec: _Json, path: str) -> list[FieldError]:
    """Rule 3."""
    rules: Sequence[_Json] = spec["successPolicy"].get("rules") or ()
    errors: list[FieldError] = []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{path}.rules", text))
    if len(rules) > RULES_MAX:
        errors.append(too_many(f"{path}.rules", len(rules), RULES_MAX))
    for at, rule in enumerate(rules):
        errors.extend(_success_rule_errors(rule, f"{path}.rules[{at}]", spec.get("completions") or 0))
    return errors


def _success_rule_errors(rule: _Json, path: str, completions: int) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    errors: list[FieldError] = []
    if count is None and indexes is None:
        errors.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    named = 0
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        if len(indexes) > INDEXES_CHARACTERS_MAX:
            errors.append(too_long(at, INDEXES_CHARACTERS_MAX))
        try:
            named = count_indexes(indexes, completions)
        except ValueError as error:
            errors.append(invalid(at, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        at = f"{path}.succeededCount"
        errors.extend(non_negative_errors(rule, path, "succeededCount"))
        if count > completions:
            text = f"must be less than or equal to {completions} (the number of specified completions)"
            errors.append(invalid(at, count, text))
        if indexes is not None and count > named:
            of_field = "(the number of indexes in the specified succeededIndexes field)"
            errors.append(invalid(at, count, f"must be less than or equal to {named} {of_field}"))
    return errors


def count_indexes(text: str, completions: int) -> int:
    """How many indexes a list such as `0,2-4` names. Raises ValueError, in Kubernetes' words.

    >>> count_indexes("0,2-4", 5)
    4
    """
    count, last = 0, -1
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if len(limits) > 2:
            rule = "the requirement that an index interval can have at most two parts separated by '-'"
            raise ValueError(f"the fragment {quote(part)} violates {rule}")
        first = _index(limits[0], completions)
        end = first
        if len(limits) == 2:
            end = _index(limits[1], completions)
            if first >= end:
                raise ValueError(f"non-increasing order, previous: {first}, current: {end}")
        if count and last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        count += end - first + 1
        last = end
    return count


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.lstrip("+").isdigit()):
        raise ValueError(f"cannot convert string to integer for index: {quote(text)}")
    value = int(text)
    if value >= completions:
        raise ValueError(f"too large index: {quote(text)}")
    return value


def _go_list(values: Sequence[str]) -> str:
    """As Go prints a list of quoted strings.

    >>> _go_list(["In", "NotIn"])
    '["In" "NotIn"]'
    """
    return "[" + " ".join(map(quote, values)) + "]"


def _without_value(path: str, detail: str) -> FieldError:
    """An invalid object that is not repeated in the message."""
    return FieldError(FieldErrorType.INVALID, path, f"Invalid value: {detail}")
