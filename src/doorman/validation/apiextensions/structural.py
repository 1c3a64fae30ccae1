"""Values of custom objects against the schema of their definition.

Every fault is a field error with upstream's words, in the order of the schema's members; what one schema says about a
value is checked in the order type, enumeration, bounds, members, combinations.
"""

import math
import re
from collections.abc import Callable
from datetime import date
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from doorman.api.json_values import is_equal, is_same
from doorman.api.kinds import ScalePaths
from doorman.api.machinery.structural_schema import Structural
from doorman.base.errors import (
    FieldError,
    FieldErrorType,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from doorman.base.go_format import go_json, quote
from doorman.base.instants import from_time
from doorman.base.json_types import Document, Json
from doorman.semantics.name_syntax import path_segment_faults, subdomain_faults
from doorman.semantics.regular_expressions import PatternError, compile_pattern
from doorman.validation.apiextensions.custom_rules import rule_errors
from doorman.validation.apiextensions.list_items import HEAD, joined, key_text, list_errors, repeated
from doorman.validation.apiextensions.scale_paths import scale_errors
from doorman.validation.context import Context, Validator
from doorman.validation.metadata import validate_metadata, validate_metadata_update, with_any_finalizer

NOTHING: Final = object()
"""Stands for what was not there before."""


def custom_validator(schema: Structural, scale: ScalePaths | None = None) -> Validator:
    def create(doc: Document, _context: Context) -> list[FieldError]:
        found = [*validate_metadata(doc, _name_faults), *validate_values(doc, schema), *list_errors(doc, schema)]
        found += scale_errors(doc, scale, is_status=False)
        return [*found, *rule_errors(doc, None, schema, found)]

    def update(new: Document, old: Document, context: Context) -> list[FieldError]:
        found = [*validate_metadata_update(new, old), *validate_metadata(new, _name_faults)]
        found += validate_values(new, schema, old)
        if not list_errors(old, schema):
            found += list_errors(new, schema)
        if context.subresource == "status":
            found = [_in_status(error) for error in found]
        found += scale_errors(new, scale, is_status=context.subresource == "status")
        found += rule_errors(new, old, schema, found)
        return found

    return with_any_finalizer(Validator(create=create, update=update))


def _in_status(error: FieldError) -> FieldError:
    """A status that is written alone is called the body itself."""
    named = f": {error.field} in body"
    inner = error.field.removeprefix("status").removeprefix(".")
    return msgspec.structs.replace(error, body=error.body.replace(named, f": {inner} in body", 1))


def _name_faults(name: str) -> list[str]:
    return subdomain_faults(name) or [*path_segment_faults(name)]


def validate_values(doc: Document, schema: Structural, old: Json = NOTHING) -> list[FieldError]:
    """What was wrong before and was not touched is let be, so that a stricter definition locks nobody out.

    A value is the same when it is at the same place: a member by its name, an item of a list only where the list is a
    map, by its keys.
    """
    body = {name: value for name, value in doc.items() if name not in HEAD}
    errors: list[FieldError] = []
    _check_members(body, schema.source, "", errors, hidden=HEAD, old=old)
    _check_combinations(body, schema.source, "", errors, old)
    return errors


def value_errors(value: Json, source: Document, path: str) -> list[FieldError]:
    """Of a value that is not part of an object, such as a default."""
    errors: list[FieldError] = []
    _check(value, source, path, errors)
    return errors


def _check(value: Json, source: Document, path: str, errors: list[FieldError], old: Json = NOTHING) -> None:
    if old is not NOTHING and is_same(value, old):
        return
    if value is None and (source.get("nullable") or not source.get("type")):
        return
    has_type = _has_type(value, source)
    if not has_type:
        _tell_type(value, source, path, errors)
    if source.get("type") == "integer" and not _is_within(value, source):
        how = f"with format {source['format']}" if source.get("format") else "(default format)"
        text = f"Checked value must be of type integer {how} in {path}"
        errors.append(invalid("<nil>", "", text))
    if "enum" in source and not any(is_equal(value, member) for member in source["enum"]):
        errors.append(not_supported(path, value, [_enum_text(member) for member in source["enum"]]))
    if not has_type:
        if isinstance(value, float):
            _check_number(value, source, path, errors)  # it is a number, if none that was wanted
        return
    if isinstance(value, str):
        _check_string(value, source, path, errors)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(value, source, path, errors)
    elif isinstance(value, list):
        _check_list(value, source, path, errors, old)
    elif isinstance(value, dict):
        _check_object(value, source, path, errors, old)
    _check_combinations(value, source, path, errors, old)


def _tell_type(value: Json, source: Document, path: str, errors: list[FieldError]) -> None:
    if _is_told_by_format(value, source):
        # Who checks the format of a text also checks the type, and lets lists pass.
        if not isinstance(value, list):
            shown = _FORMATTED.get(type(value), "")
            errors.append(type_invalid(path, shown, f'{path} in body must be of type {source["format"]}: "{shown}"'))
        return
    wanted, shown = source.get("type") or "integer,string", type_name(value)
    if wanted == "integer" and shown == "number" and source.get("format") in _NUMBER_FORMATS["integer"]:
        wanted, shown = source["format"], "float64"
    errors.append(type_invalid(path, shown, f'{path} in body must be of type {wanted}: "{shown}"'))


def _has_type(value: Json, source: Document) -> bool:
    if source.get("x-kubernetes-int-or-string"):
        return isinstance(value, str) or _is_integer(value)
    match source.get("type"):
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return _is_integer(value)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
    return not source.get("type")


def _is_integer(value: Json) -> bool:
    """What 64 bits do not hold is read as a float that has no fraction, and is none either."""
    if isinstance(value, float):
        return value.is_integer() and abs(value) < 2**63
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_within(value: Json, source: Document) -> bool:
    """Of a number that is to be an integer: whether it is one that its format holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return _is_integer(value) and (source.get("format") != "int32" or -(2**31) <= value < 2**31)


def type_name(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) and not _is_integer(value):
        return "number"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _enum_text(member: Json) -> str:
    return member if isinstance(member, str) else go_json(member)


def _check_string(value: str, source: Document, path: str, errors: list[FieldError]) -> None:
    longest, shortest, pattern = source.get("maxLength"), source.get("minLength"), source.get("pattern")
    if longest is not None and len(value) > longest:
        errors.append(too_long(path, longest))
    elif shortest is not None and len(value) < shortest:
        errors.append(invalid(path, value, f"{path} in body should be at least {shortest} chars long"))
    elif pattern and not pattern_fault(pattern) and compile_pattern(pattern).search(value) is None:
        errors.append(invalid(path, value, f"{path} in body should match '{pattern}'"))
    check = FORMATS.get(source.get("format", ""))
    if check is not None and not _passes(check, value):
        text = f"{path} in body must be of type {source['format']}: {quote(value)}"
        errors.append(FieldError(FieldErrorType.TYPE_INVALID, path, f"Invalid value: {quote(value)}: {text}"))


def _is_told_by_format(value: Json, source: Document) -> bool:
    """Whether a value of the wrong type is told to be of the wrong format: of a number's, what has no number at all."""
    kind, form = source.get("type"), source.get("format", "")
    if kind == "string":
        return form in FORMATS
    return form in _NUMBER_FORMATS.get(kind or "", ()) and isinstance(value, bool | dict)


def _check_number(value: float, source: Document, path: str, errors: list[FieldError]) -> None:
    factor = source.get("multipleOf")
    if factor and isinstance(value, int):
        factor = int(factor)  # an integer is held against whole numbers
    if factor is not None and factor <= 0:
        errors.append(invalid(path, factor, f"factor MultipleOf declared for {path} must be positive: {factor}"))
    elif factor and not _is_multiple(value, factor):
        errors.append(invalid(path, value, f"{path} in body should be a multiple of {_number_text(factor)}"))
    for bound, exclusive, sign, words in (
        ("minimum", "exclusiveMinimum", 1, "greater than"),
        ("maximum", "exclusiveMaximum", -1, "less than"),
    ):
        limit = source.get(bound)
        if limit is None:
            continue
        is_strict = bool(source.get(exclusive))
        if sign * value < sign * limit or (is_strict and value == limit):
            text = words if is_strict else f"{words} or equal to"
            errors.append(invalid(path, value, f"{path} in body should be {text} {_number_text(limit)}"))


def _is_multiple(value: float, factor: float) -> bool:
    """No number is a multiple of one so much smaller that its double does not hold how often."""
    return abs(value / factor) < _EXACT_MAX and math.isclose(math.remainder(value, factor), 0.0, abs_tol=1e-9)


def _number_text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _check_list(value: list[Json], source: Document, path: str, errors: list[FieldError], old: Json) -> None:
    items = source.get("items")
    if isinstance(items, dict):
        before = _bykey_of(old, source)
        for index, item in enumerate(value):
            was = before.get(key_text(item, source), NOTHING) if before else NOTHING
            _check(item, items, f"{path}[{index}]", errors, was)
    most, least = source.get("maxItems"), source.get("minItems")
    if most is not None and len(value) > most:
        errors.append(too_many(path, len(value), most))
    if least is not None and len(value) < least:
        errors.append(invalid(path, len(value), f"{path} in body should have at least {least} items"))
    if source.get("uniqueItems") and repeated(value, lambda item: item):
        errors.append(invalid(path, value, f"{path} in body shouldn't contain duplicates"))


def _bykey_of(items: Json, source: Document) -> dict[str, Json]:
    """The items of a list that is a map; of any other none."""
    if not isinstance(items, list) or source.get("x-kubernetes-list-type") != "map":
        return {}
    return {key_text(item, source): item for item in reversed(items)}


def _check_object(value: Document, source: Document, path: str, errors: list[FieldError], old: Json) -> None:
    hidden = HEAD if source.get("x-kubernetes-embedded-resource") else ()
    if hidden:
        errors += [
            required(f"{path}.{name}", "must not be empty") for name in ("apiVersion", "kind") if not value.get(name)
        ]
    _check_members(value, source, path, errors, hidden=hidden, old=old)


def _check_members(
    value: Document,
    source: Document,
    path: str,
    errors: list[FieldError],
    *,
    hidden: tuple[str, ...] = (),
    old: Json = NOTHING,
) -> None:
    before = old if isinstance(old, dict) else {}
    most, least = source.get("maxProperties"), source.get("minProperties")
    if most is not None and len(value) > most:
        errors.append(too_many(path, len(value), most))
    if least is not None and len(value) < least:
        errors.append(invalid(path, value, f"{path} in body should have at least {least} properties"))
    properties = source.get("properties", {})
    missing = [name for name in source.get("required", ()) if name not in value and name not in hidden]
    additional = source.get("additionalProperties")
    for name, member in value.items():
        if name in hidden:
            continue
        known = properties.get(name, additional)
        if isinstance(known, dict):
            _check(member, known, joined(path, name), errors, before.get(name, NOTHING))
    errors += [required(joined(path, name)) for name in missing]


def _check_combinations(value: Json, source: Document, path: str, errors: list[FieldError], old: Json) -> None:
    name = quote(path)
    for part in source.get("allOf", ()):
        _check(value, part, path, errors, old)
    anyone = source.get("anyOf", ())
    if anyone and not any(_is_valid(value, part, path, old) for part in anyone):
        errors.append(invalid(path, "", f"{name} must validate at least one schema (anyOf)"))
    choices = source.get("oneOf", ())
    if choices:
        count = sum(_is_valid(value, part, path, old) for part in choices)
        if count != 1:
            found = "Found none valid" if not count else f"Found {count} valid alternatives"
            errors.append(invalid(path, "", f"{name} must validate one and only one schema (oneOf). {found}"))
    if "not" in source and _is_valid(value, source["not"], path, old):
        errors.append(invalid(path, "", f"{name} must not validate the schema (not)"))


def _is_valid(value: Json, source: Document, path: str, old: Json) -> bool:
    found: list[FieldError] = []
    _check(value, source, path, found, old)
    return not found


def pattern_fault(pattern: str) -> str:
    """Why a pattern cannot be used, empty when it can."""
    try:
        compile_pattern(pattern)
    except PatternError as error:
        return str(error)
    return ""


def _passes(check: Callable[[str], object], value: str) -> bool:
    try:
        return check(value) is not False
    except ValueError:
        return False


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda value: compiled.fullmatch(value) is not None


def _is_uri(value: str) -> bool:
    parts = urlsplit(value)
    return bool(parts.scheme) or value.startswith("/")


_EXACT_MAX: Final = 2**53
"""From here on not every whole number is a floating point one."""
_FORMATTED: Final = {int: "int64", float: "float64"}
_NUMBER_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}

FORMATS: Final[dict[str, Callable[[str], object]]] = {
    "date-time": from_time,
    "datetime": from_time,
    "date": date.fromisoformat,
    "ipv4": IPv4Address,
    "ipv6": IPv6Address,
    "cidr": ip_network,
    "ipv4cidr": IPv4Network,
    "ipv6cidr": IPv6Network,
    "uuid": UUID,
    "uuid3": UUID,
    "uuid4": UUID,
    "uuid5": UUID,
    "uri": _is_uri,
    "email": _matches(r"[^@\s]+@[^@\s]+"),
    "hostname": _matches(r"[A-Za-z0-9]([-A-Za-z0-9.]{0,252}[A-Za-z0-9])?"),
    "mac": _matches(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}"),
    "byte": _matches(r"(?=.)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"),
    "password": str,
    "duration": _matches(r"[-+]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+|0"),
}
"""Formats that are checked; others say nothing."""
