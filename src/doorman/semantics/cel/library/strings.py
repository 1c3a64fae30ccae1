"""Strings and regular expressions. The latter run in time linear in the text, whatever the pattern."""

from typing import Any, Final

from doorman.base.go_format import quote
from doorman.semantics.cel.cel_errors import CelError, no_overload
from doorman.semantics.cel.cost_budget import CostBudget
from doorman.semantics.cel.overloads import Table, table
from doorman.semantics.cel.value_text import shown
from doorman.semantics.cel.values import Value
from doorman.semantics.regular_expressions import PatternError, compile_pattern

_PRECISION_MAX: Final = 1000


def _contains(meter: CostBudget, text: str, part: str) -> bool:
    meter.charge_size(len(text))
    return part in text


def _starts(meter: CostBudget, text: str, part: str) -> bool:
    meter.charge_size(len(part))
    return text.startswith(part)


def _ends(meter: CostBudget, text: str, part: str) -> bool:
    meter.charge_size(len(part))
    return text.endswith(part)


def _char_at(_meter: CostBudget, text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise CelError(f"index out of range: {at}")
    return text[at : at + 1]


def _index_of(meter: CostBudget, text: str, part: str, start: int = 0) -> int:
    meter.charge_size(len(text))
    if not part:
        return start
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(meter: CostBudget, text: str, part: str, start: int | None = None) -> int:
    meter.charge_size(len(text))
    if start is not None and not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    if not part:
        return len(text) if start is None else start
    return text.rfind(part) if start is None else text.rfind(part, 0, start + len(part))


def _lower(meter: CostBudget, text: str) -> str:
    meter.charge_size(len(text))
    return "".join(char.lower() if char.isascii() else char for char in text)


def _upper(meter: CostBudget, text: str) -> str:
    meter.charge_size(len(text))
    return "".join(char.upper() if char.isascii() else char for char in text)


def _replace(meter: CostBudget, text: str, old: str, new: str, times: int = -1) -> str:
    places = text.count(old) if times < 0 else min(times, text.count(old))
    meter.charge_size(len(text) + places * len(new))
    return text.replace(old, new, times)


def _split(meter: CostBudget, text: str, separator: str, parts_max: int = -1) -> list[str]:
    meter.charge_size(len(text))
    if parts_max == 0:
        return []
    if parts_max == 1:
        return [text]
    if separator:
        return text.split(separator, parts_max - 1 if parts_max > 0 else -1)
    if parts_max < 0 or parts_max >= len(text):
        return list(text)
    return [*text[: parts_max - 1], text[parts_max - 1 :]]


def _substring(meter: CostBudget, text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    for at in (start, stop):
        if not 0 <= at <= len(text):
            raise CelError(f"index out of range: {at}")
    if start > stop:
        raise CelError(f"invalid substring range. start: {start}, end: {stop}")
    meter.charge_size(stop - start)
    return text[start:stop]


def _trim(meter: CostBudget, text: str) -> str:
    meter.charge_size(len(text))
    return text.strip()


def _reversed(meter: CostBudget, text: str) -> str:
    meter.charge_size(len(text))
    return text[::-1]


def _join(meter: CostBudget, parts: list[Value], separator: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise no_overload()
    meter.charge_size(sum(len(part) for part in parts) + len(separator) * len(parts))
    return separator.join(parts)


def _matches(meter: CostBudget, text: str, pattern: str) -> bool:
    _charge_pattern(meter, text, pattern)
    return _pattern(pattern).search(text) is not None


def _find(meter: CostBudget, text: str, pattern: str) -> str:
    _charge_pattern(meter, text, pattern)
    found = _pattern(pattern).search(text)
    return found.group() if found is not None else ""


def _find_all(meter: CostBudget, text: str, pattern: str, times: int = -1) -> list[str]:
    _charge_pattern(meter, text, pattern)
    found: list[str] = []
    for match in _pattern(pattern).finditer(text) if times else ():
        found.append(match.group())
        if len(found) == times:
            break
    return found


def _charge_pattern(meter: CostBudget, text: str, pattern: str) -> None:
    meter.charge((1 + len(text) // 10) * (1 + len(pattern) // 4))


def pattern_fault(pattern: str) -> str:
    """Why a literal pattern would fail, empty when it would not."""
    try:
        _pattern(pattern)
    except CelError as error:
        return str(error)
    return ""


def _pattern(pattern: str) -> Any:  # re2 has no types
    try:
        return compile_pattern(pattern)
    except PatternError as error:
        raise CelError(str(error)) from error


def _format(meter: CostBudget, template: str, values: list[Value]) -> str:
    """Go's verbs: `%s %d %f %e %b %o %x %X %%`, with a precision for the two floats."""
    meter.charge_size(len(template))
    out: list[str] = []
    at, used = 0, 0
    while (mark := template.find("%", at)) >= 0:
        out.append(template[at:mark])
        end = mark + 1
        precision = 6
        if template[end : end + 1] == ".":
            start = end = end + 1
            while end < len(template) and template[end].isdigit():
                end += 1
            precision = min(int(template[start:end] or "0"), _PRECISION_MAX)
        verb = template[end : end + 1]
        if verb == "%":
            out.append("%")
        else:
            if used >= len(values):
                raise CelError(f"index {used} out of range")
            text = _formatted(verb, values[used], precision)
            meter.charge_size(len(text))
            out.append(text)
            used += 1
        at = end + 1
    out.append(template[at:])
    return "".join(out)


def _formatted(verb: str, value: Value, precision: int) -> str:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    match verb:
        case "s":
            return shown(value)
        case "d" if is_integer:
            return str(int(value))
        case "f" | "e" if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{float(value):.{precision}{verb}}"
        case "b" if isinstance(value, int):
            return f"{int(value):b}"
        case "o" if is_integer:
            return f"{int(value):o}"
        case "x" | "X" if is_integer:
            return f"{int(value):{verb}}"
        case "x" | "X" if isinstance(value, str | bytes):
            found = (value.encode() if isinstance(value, str) else value).hex()
            return found.upper() if verb == "X" else found
        case "d" | "f" | "e" | "b" | "o" | "x" | "X":
            raise CelError("error during formatting: unsupported type for the clause")
    raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')


_S: Final = "string"

FUNCTIONS: Final[Table] = table(
    ("matches", (_S, _S), "bool", _matches),
    ("strings.quote", (_S,), _S, lambda _meter, text: quote(text)),
)

METHODS: Final[Table] = table(
    ("contains", (_S, _S), "bool", _contains),
    ("startsWith", (_S, _S), "bool", _starts),
    ("endsWith", (_S, _S), "bool", _ends),
    ("matches", (_S, _S), "bool", _matches),
    ("find", (_S, _S), _S, _find),
    ("findAll", (_S, _S), "list", _find_all),
    ("findAll", (_S, _S, "int"), "list", _find_all),
    ("charAt", (_S, "int"), _S, _char_at),
    ("indexOf", (_S, _S), "int", _index_of),
    ("indexOf", (_S, _S, "int"), "int", _index_of),
    ("lastIndexOf", (_S, _S), "int", _last_index_of),
    ("lastIndexOf", (_S, _S, "int"), "int", _last_index_of),
    ("lowerAscii", (_S,), _S, _lower),
    ("upperAscii", (_S,), _S, _upper),
    ("replace", (_S, _S, _S), _S, _replace),
    ("replace", (_S, _S, _S, "int"), _S, _replace),
    ("split", (_S, _S), "list", _split),
    ("split", (_S, _S, "int"), "list", _split),
    ("substring", (_S, "int"), _S, _substring),
    ("substring", (_S, "int", "int"), _S, _substring),
    ("trim", (_S,), _S, _trim),
    ("reverse", (_S,), _S, _reversed),
    ("join", ("list",), _S, _join),
    ("join", ("list", _S), _S, _join),
    ("format", (_S, "list"), _S, _format),
)
