"""Expressions that select devices: they must compile, say yes or no, and not cost too much."""

import re
from collections.abc import Sequence
from typing import Final

from doorman.base.errors import FieldError, forbidden, invalid, required, too_long
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import compile_expression
from doorman.validation.faults import Part
from doorman.validation.resource.list_checks import list_errors

SELECTORS_MAX: Final = 32
EXPRESSION_BYTES_MAX: Final = 10 * 1024
COST_MAX: Final = 1_000_000
_ANY: Final = re.compile(r"\bany\b")


def selectors_errors(selectors: Sequence[Part] | None, path: str, *, is_stored: bool = False) -> list[FieldError]:
    """`is_stored`: these expressions have been accepted before."""

    def check(selector: Part, at: str) -> list[FieldError]:
        cel = selector.get("cel")
        if cel is None:
            return [required(f"{at}.cel")]
        return [] if is_stored else expression_errors(cel.get("expression") or "", f"{at}.cel.expression")

    return list_errors(selectors, path, SELECTORS_MAX, check)


def expression_errors(text: str, path: str) -> list[FieldError]:
    from doorman.semantics.cel.cost.cost_estimate import estimated_cost
    from doorman.semantics.cel.typing import device_types

    if len(text.encode()) > EXPRESSION_BYTES_MAX:
        return [too_long(path, EXPRESSION_BYTES_MAX)]
    try:
        found = compile_expression(text, device_types.NAMES, device_types.fields)
    except CelError as error:
        return [invalid(path, text, str(error))]
    if found.name not in ("bool", "dyn"):
        shown = _ANY.sub("google.protobuf.Any", str(found))
        return [invalid(path, text, f"must evaluate to bool or the unknown type, not {shown}")]
    cost = estimated_cost(text, device_types.NAMES, device_types.fields, device_types.SIZES)
    return [forbidden(path, "too complex, exceeds cost limit")] if cost.max > COST_MAX else []
