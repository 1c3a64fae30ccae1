"""Rules in CEL that a definition sets for its objects (`x-kubernetes-validations`), held against values.

Rules
-----
1. A rule is about the value where it stands, called `self`; null values are left alone.
2. A rule that names `oldSelf` is about a change: it counts when there is an old value in the same place, unless it has
   optionalOldSelf, by which `oldSelf` is an optional and the rule always counts.
3. Places correspond through members of objects and maps, and through the keys of keyed lists; through nothing else.
4. A value that an update leaves as it was is let be, except by rules about changes.
5. A rule that is false is a fault with its messageExpression, else its message, else its own text, of the type its
   reason says, in the place its fieldPath says. One that cannot be evaluated is a fault too.
6. All rules about one object share a budget; when it is used up no more are evaluated.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from doorman.api.json_values import is_same
from doorman.api.machinery.structural_schema import Structural
from doorman.base.errors import FieldError, FieldErrorType, duplicate, forbidden, invalid, required
from doorman.base.json_types import Json
from doorman.semantics.cel.cel_errors import NO_OVERLOAD, CelError, CostExceeded
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.expression import evaluate, is_true, uses
from doorman.semantics.cel.values import NONE, Optional

ROOT: Final = "<nil>"
"""How a fault of the whole object is placed."""

MESSAGE_BYTES_MAX: Final = 5 * 1024
OLD: Final = "oldSelf"
NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
_NO_MORE: Final = "no further validation rules will be run due to call cost exceeds limit for rule"
_NO_SIGNATURE: Final = "call arguments did not match a supported operator, function or macro signature for rule"
_BLOCKING: Final = (
    FieldErrorType.NOT_SUPPORTED,
    FieldErrorType.REQUIRED,
    FieldErrorType.TOO_LONG,
    FieldErrorType.TOO_MANY,
    FieldErrorType.TYPE_INVALID,
)


def rule_errors(
    new: Json, old: Json, schema: Structural, errors_before: list[FieldError], path: str = ""
) -> list[FieldError]:
    """The faults of a whole object, or of a value at `path`. `old` is None for a new one."""
    if not schema.has_rules:
        return []
    if any(error.type in _BLOCKING for error in errors_before):
        return [invalid(ROOT, None, NOT_CHECKED)]
    errors: list[FieldError] = []
    with suppress(CostExceeded):  # said where it happened
        _walk(new, old, schema, path, _Check(errors))
    return errors


class _Check:
    """One object's faults and budget."""

    def __init__(self, errors: list[FieldError]) -> None:
        self.errors = errors
        self.meter = CostBudget()


def _walk(new: Json, old: Json, schema: Structural, path: str, check: _Check) -> None:
    if new is None or not schema.has_rules:
        return
    for rule in schema.source.get("x-kubernetes-validations", ()):
        _apply(rule, new, old, schema, path, check)
    if isinstance(new, dict):
        before = old if isinstance(old, dict) else {}
        for name, value in new.items():
            known = schema.properties.get(name)
            if known is not None:
                _walk(value, before.get(name), known, f"{path}.{name}" if path else name, check)
            elif isinstance(schema.additional, Structural):
                _walk(value, before.get(name), schema.additional, f"{path}[{name}]", check)
    elif isinstance(new, list) and schema.items is not None:
        for index, (value, was) in enumerate(_pairs(new, old, schema)):
            _walk(value, was, schema.items, f"{path}[{index}]", check)


def _pairs(new: list[Json], old: Json, schema: Structural) -> Iterator[tuple[Json, Json]]:
    """Rule 3: each element with the one it was before."""
    keys = schema.source.get("x-kubernetes-list-map-keys", ())
    if schema.source.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        yield from ((item, None) for item in new)
        return
    before = {_key(item, keys): item for item in old if isinstance(item, dict)}
    for item in new:
        yield item, before.get(_key(item, keys)) if isinstance(item, dict) else None


def _key(item: Mapping[str, Json], keys: list[str]) -> tuple[str, ...]:
    return tuple(repr(item.get(key)) for key in keys)


def _apply(rule: Mapping[str, Json], new: Json, old: Json, schema: Structural, path: str, check: _Check) -> None:
    from doorman.semantics.cel.typing.schema_types import to_value

    text = rule.get("rule", "")
    is_about_change = uses(text, OLD)
    is_optional = bool(rule.get("optionalOldSelf"))
    if is_about_change and old is None and not is_optional:
        return
    if not is_about_change and old is not None and is_same(new, old):
        return
    place = path or ROOT
    told = (rule.get("message") or text).strip()
    names: dict[str, Json] = {}
    try:
        names["self"] = to_value(new, schema)
        if is_optional:
            names[OLD] = NONE if old is None else Optional((to_value(old, schema),))
        elif old is not None:
            names[OLD] = to_value(old, schema)
        if is_true(text, names, check.meter):
            return
    except CostExceeded as error:
        check.errors.append(invalid(place, schema.type, f"'{error}': {_NO_MORE}: {told}"))
        raise
    except CelError as error:
        why = f"{error} evaluating rule" if str(error) != NO_OVERLOAD else f"'{error}': {_NO_SIGNATURE}"
        check.errors.append(invalid(place, schema.type, f"{why}: {told}"))
        return
    where = field_path(rule.get("fieldPath", ""))
    if where:
        place = f"{path}.{where}" if path else where
    check.errors.append(_fault(rule, place, new, _message(rule, names, check.meter), schema))


def _message(rule: Mapping[str, Json], names: dict[str, Json], meter: CostBudget) -> str:
    if rule.get("messageExpression"):
        try:
            told = evaluate(rule["messageExpression"], names, meter)
            if isinstance(told, str):
                told = told.strip()
                if told and "\n" not in told and len(told.encode()) <= MESSAGE_BYTES_MAX:
                    return told
        except CostExceeded:
            raise
        except CelError:
            pass  # the plain message is the fallback the API defines
    message: str = (rule.get("message") or "").strip()
    return message or f"failed rule: {rule.get('rule', '').strip()}"


def _fault(rule: Mapping[str, Json], place: str, value: Json, detail: str, schema: Structural) -> FieldError:
    """Rule 5. What is large is not shown."""
    is_large = schema.type in ("object", "array")
    match rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(place, detail)
        case "FieldValueRequired":
            return required(place, detail)
        case "FieldValueDuplicate":
            if is_large:
                return FieldError(FieldErrorType.DUPLICATE, place, "Duplicate value")
            return duplicate(place, value)
    if is_large:
        return FieldError(FieldErrorType.INVALID, place, f"Invalid value: {detail}")
    return invalid(place, value, detail)


def field_path(text: str) -> str:
    """`.a['b.c'].d` as faults write it: `a.b.c.d`.

    >>> field_path(".spec['x'].y")
    'spec.x.y'
    """
    return ".".join(path_steps(text))


def path_steps(text: str) -> list[str]:
    """Raises ValueError when the text is no path."""
    steps: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith("['", at):
            end = text.find("']", at)
            if end < 0:
                raise ValueError("unexpected end of JSON path")
            steps.append(text[at + 2 : end])
            at = end + 2
        elif text[at] == ".":
            end = min((found for mark in ".[" if (found := text.find(mark, at + 1)) > 0), default=len(text))
            if end == at + 1:
                raise ValueError("unexpected end of JSON path")
            steps.append(text[at + 1 : end])
            at = end
        else:
            token = re.split(r"[.\[\]]", text[at:])[0]
            raise ValueError(f"expected [ or . but got: {token}")
    return steps
