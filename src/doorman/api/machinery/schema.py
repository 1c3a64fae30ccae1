"""Structural checking of documents against the type table.

`Schema.clean(doc, type)` answers with the document as it is to be stored (nulls and empty optional members left out,
quantities and times in canonical form), plus strict problems (unknown fields); a wrong type raises
`DecodeError`. Most documents that arrive are already in that form, so each type is compiled into a quick check
that only says yes or "look closer"; the slow walk with field paths runs for the others.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from doorman.api.machinery.decode_errors import json_type, member_place, unmarshal_fault
from doorman.api.machinery.go_scalars import MICRO_TIME_LAYOUT, TIME_LAYOUT, base64_fault, time_fault
from doorman.api.machinery.quantity import QuantityError, canonical_quantity
from doorman.api.machinery.structural_schema import Structural, prune, type_rows
from doorman.api.machinery.written_members import WrittenMembers
from doorman.base.go_format import go_json
from doorman.base.instants import from_time, to_micro_time, to_time

Document = dict[str, Any]
"""A Kubernetes object as parsed JSON."""

_INT_BOUNDS: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_DAY: Final = r"\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
"""Any but the 29th of February, which is looked at closer."""
_TIME: Final = re.compile(_DAY + r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)
_MICRO_TIME: Final = re.compile(_DAY + r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z", re.ASCII)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)

_SCHEMA: Final = "apiextensions.v1.JSONSchemaProps"
_OR_STRUCT: Final = {f"{_SCHEMA}OrBool": _SCHEMA, f"{_SCHEMA}OrArray": _SCHEMA, f"{_SCHEMA}OrStringArray": _SCHEMA}
"""Types that are a struct or something else."""


class DecodeError(ValueError):
    """A value of the wrong type; the text is the decoder's part of the API's message."""


Check = Callable[[Any], bool]  # any JSON value


class Schema:
    """Compiled checks for a table of types."""

    def __init__(self, types: Mapping[str, Any]) -> None:  # rows of data/types.json
        self._types = dict(types)
        self._structural: dict[str, Structural] = {}
        self._checks: dict[str, Check] = {}
        self._member_checks: dict[str, dict[str, Check]] = {}
        self._written = WrittenMembers(self._types)

    def add(self, type_name: str, structural: Structural) -> None:
        """A type that a CustomResourceDefinition describes. Names are used once: readers keep what they made of one."""
        assert type_name not in self._types, f"{type_name} is already described"
        self._structural[type_name] = structural
        self._types.update(type_rows(type_name, structural))

    def remove(self, type_name: str) -> None:
        del self._structural[type_name]
        for name in [name for name in self._types if name == type_name or name.startswith(type_name + ".")]:
            del self._types[name]

    def structural(self, type_name: str) -> Structural | None:
        """The schema of a custom type."""
        return self._structural.get(type_name)

    def fields(self, type_name: str) -> Mapping[str, Any]:  # a field is a type expression or a dict with one
        found: Mapping[str, Any] = self._types[type_name]["fields"]
        return found

    def row(self, type_name: str) -> Mapping[str, Any]:  # a row of data/types.json
        found: Mapping[str, Any] = self._types[type_name]
        return found

    def complete(self, doc: Document, type_name: str) -> None:
        """Put in what upstream writes also when nobody gave it, in place."""
        if type_name not in self._structural:
            self._written.complete(doc, type_name)

    def complete_head(self, doc: Document, type_name: str) -> None:
        """The same for the document's own members alone."""
        if type_name not in self._structural:
            self._written.complete_head(doc, type_name)

    def clean(
        self,
        doc: Any,
        type_name: str,
        *,
        known: Document | None = None,  # any JSON value
    ) -> tuple[Document, list[str]]:
        """The document to store, and the strict problems found (`unknown field "spec.foo"`).

        `known` is a clean document that this one was made from: members they share need no second look.
        """
        if type_name in self._structural:
            return self._clean_custom(doc, self._structural[type_name])
        if self._check(type_name)(doc) if known is None else self._is_clean_beside(doc, known, type_name):
            checked: Document = doc
            return checked, []
        problems: list[str] = []
        cleaned = self._clean_struct(doc, type_name, "", "", problems)
        return cleaned, problems

    def _clean_custom(self, doc: Any, structural: Structural) -> tuple[Document, list[str]]:
        """Unknown members go; wrong types stay for validation to name, but for metadata, which every object shares."""
        if type(doc) is not dict:
            raise DecodeError(
                f"json: cannot unmarshal {json_type(doc)} into Go value of type map[string]interface {{}}"
            )
        problems: list[str] = []
        out: Document = prune(doc, structural, problems)
        for name in ("kind", "apiVersion"):
            if name in out and type(out[name]) is not str:
                raise DecodeError(f"unable to convert {name}: json: cannot unmarshal {json_type(out[name])}")
        if out.get("metadata") is None:
            out.pop("metadata", None)
        else:
            found = out["metadata"]
            out["metadata"] = self._clean_struct(found, "meta.v1.ObjectMeta", "metadata", ".metadata", problems)
        return out, problems

    def _is_clean_beside(self, doc: Any, known: Document, type_name: str) -> bool:
        if type(doc) is not dict:
            return False
        fields = self.fields(type_name)
        for name, member in doc.items():
            if name in known and known[name] is member:
                continue
            field = fields.get(name)
            if field is None:
                return False
            expression = field["t"] if isinstance(field, dict) else field
            before = known.get(name)
            if isinstance(expression, str) and expression.startswith("@") and type(before) is dict:
                if not self._is_clean_beside(member, before, expression[1:]):
                    return False
                continue
            if not self._check_of(type_name, name)(member):
                return False
        return True

    # The quick check: compiled once a type, says whether a document needs no change at all.

    def _check(self, type_name: str) -> Check:
        found = self._checks.get(type_name)
        if found is None:
            # Types refer to themselves (JSONSchemaProps), so the name is bound before its fields are.
            self._checks[type_name] = lambda value: self._checks[type_name](value)
            found = self._checks[type_name] = self._compile_struct(type_name)
        return found

    def _check_of(self, type_name: str, name: str) -> Check:
        """The check of one member."""
        self._check(type_name)
        return self._member_checks[type_name][name]

    def _compile_struct(self, type_name: str) -> Check:
        checks: dict[str, Check] = {}
        for name, field in self.fields(type_name).items():
            spec = field if isinstance(field, dict) else {"t": field}
            compiled = self._compile(spec["t"], is_kept(spec) and not _is_list_or_null(spec))
            checks[name] = _or_null(compiled) if _may_be_null(spec) else compiled

        self._member_checks[type_name] = checks

        def check(value: Any) -> bool:
            if type(value) is not dict:
                return False
            for name, member in value.items():
                known = checks.get(name)
                if known is None or not known(member):
                    return False
            return True

        return check

    def _compile(self, expression: Any, keeps_zero: bool) -> Check:  # a type expression
        if isinstance(expression, list):
            if expression[0] == "list":
                return _list_check(self._compile(expression[1], True), keeps_zero)
            return _map_check(self._compile(expression[1], True), keeps_zero)
        if expression.startswith("@"):
            struct = _OR_STRUCT.get(expression[1:])
            if struct is not None:
                check = self._check(struct)
                return lambda value: check(value) if type(value) is dict else value is not None
            return self._check(expression[1:])
        return _scalar_check(expression, keeps_zero)

    # The slow walk: the same types with paths, changes and messages.

    def _clean_struct(self, value: Any, type_name: str, path: str, place: str, problems: list[str]) -> Document:
        if type(value) is not dict:
            raise DecodeError(unmarshal_fault(json_type(value), f"@{type_name}", place))
        fields = self.fields(type_name)
        out: Document = {}
        for name, member in value.items():
            field = fields.get(name)
            here = f"{path}.{name}" if path else name
            if field is None:
                problems.append(f'unknown field "{here}"')
                continue
            spec = field if isinstance(field, dict) else {"t": field}
            if member is None:
                continue
            cleaned = self._clean(member, spec["t"], here, member_place(type_name, place, name), problems)
            if not cleaned and _is_list_or_null(spec):
                out[name] = None
            elif is_kept(spec) or not _is_left_out(cleaned, spec["t"]):
                out[name] = cleaned
        return out

    def _clean(self, value: Any, expression: Any, path: str, place: str, problems: list[str]) -> Any:
        if isinstance(expression, list):
            inner = expression[1]
            if expression[0] == "list" and type(value) is list:
                return [
                    self._clean(member, inner, f"{path}[{i}]", place, problems) if member is not None else _zero(inner)
                    for i, member in enumerate(value)
                ]
            if expression[0] == "list" or type(value) is not dict:
                raise DecodeError(unmarshal_fault(json_type(value), expression, place))
            return {
                name: self._clean(item, inner, f"{path}.{name}", place, problems) if item is not None else _zero(inner)
                for name, item in value.items()
            }
        if expression.startswith("@"):
            struct = _OR_STRUCT.get(expression[1:])
            if struct is not None:
                # A decoder of its own reads it, which does not look for unknown fields.
                return self._clean_struct(value, struct, path, place, []) if type(value) is dict else value
            return self._clean_struct(value, expression[1:], path, place, problems)
        return _clean_scalar(value, expression, place)


def is_kept(spec: Mapping[str, Any]) -> bool:  # a member's row in data/types.json
    """Whether upstream writes 0, false, "" or an empty list for this member when it was given."""
    return bool(spec.get("keep") or spec.get("always"))


def _may_be_null(spec: Mapping[str, Any]) -> bool:
    """Whether upstream writes null for it when there is nothing to say."""
    always = spec.get("always")
    return always == "null" or bool(
        always and (isinstance(spec["t"], list) or spec["t"] in ("time", "microtime", "raw", "bytes"))
    )


def _is_list_or_null(spec: Mapping[str, Any]) -> bool:
    """Whether an empty list, which is the same as none, is written as null."""
    return isinstance(spec["t"], list) and _may_be_null(spec)


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _scalar_check(expression: str, keeps_zero: bool) -> Check:
    if expression == "string":
        if keeps_zero:
            return lambda value: type(value) is str
        return lambda value: type(value) is str and value != ""
    if expression in _INT_BOUNDS:
        low, high = _INT_BOUNDS[expression]
        if keeps_zero:
            return lambda value: type(value) is int and low <= value <= high
        return lambda value: type(value) is int and value != 0 and low <= value <= high
    if expression == "bool":
        if keeps_zero:
            return lambda value: type(value) is bool
        return lambda value: value is True
    if expression == "quantity":
        return lambda value: type(value) is str and _is_canonical(value)
    if expression == "time":
        return lambda value: type(value) is str and _TIME.fullmatch(value) is not None
    if expression == "microtime":
        return lambda value: type(value) is str and _MICRO_TIME.fullmatch(value) is not None
    if expression == "intstr":
        return lambda value: (type(value) is int and -(2**31) <= value < 2**31) or type(value) is str
    if expression == "bytes":
        return lambda value: type(value) is str and value != "" and _BASE64.fullmatch(value) is not None
    if expression == "double":
        return lambda value: type(value) is float
    if expression == "raw":
        return lambda value: value is not None
    return lambda value: type(value) is str and value != ""


def _list_check(inner: Check, keeps_empty: bool) -> Check:
    def check(value: Any) -> bool:
        if type(value) is not list or (not value and not keeps_empty):
            return False
        return all(map(inner, value))

    return check


def _map_check(inner: Check, keeps_empty: bool) -> Check:
    def check(value: Any) -> bool:
        if type(value) is not dict or (not value and not keeps_empty):
            return False
        return all(map(inner, value.values()))

    return check


def _clean_scalar(value: Any, expression: str, place: str) -> Any:  # noqa: C901  one branch a scalar type
    if expression == "string":
        if type(value) is str:
            return value
    elif expression in _INT_BOUNDS:
        low, high = _INT_BOUNDS[expression]
        if type(value) is int:
            if low <= value <= high:
                return value
            raise DecodeError(unmarshal_fault(f"number {value}", expression, place))
        if type(value) is float:
            raise DecodeError(unmarshal_fault(f"number {value!r}", expression, place))
    elif expression == "bool":
        if type(value) is bool:
            return value
    elif expression == "quantity":
        return _clean_quantity(value)
    elif expression in ("time", "microtime"):
        return _clean_time(value, expression)
    elif expression == "intstr":
        if type(value) is str or (type(value) is int and -(2**31) <= value < 2**31):
            return value
    elif expression == "bytes":
        if type(value) is str:
            if fault := base64_fault(value):
                raise DecodeError(fault)
            return value.replace("\n", "").replace("\r", "")
    elif expression == "double":
        if type(value) in (float, int):
            return value
    elif expression == "raw" or type(value) is str:
        return value
    raise DecodeError(unmarshal_fault(json_type(value), expression, place))


def _clean_quantity(value: Any) -> str:
    # What is no string is read as it was written.
    text = value if type(value) is str else go_json(value)
    try:
        return canonical_quantity(text)
    except QuantityError as error:
        raise DecodeError(str(error)) from error


def _clean_time(value: Any, expression: str) -> str:
    if type(value) is not str:
        raise DecodeError(f"json: cannot unmarshal {json_type(value)} into Go value of type string")
    if fault := time_fault(value, TIME_LAYOUT if expression == "time" else MICRO_TIME_LAYOUT):
        raise DecodeError(fault)
    instant = from_time(value.replace(",", "."))
    return to_time(instant) if expression == "time" else to_micro_time(instant)


@lru_cache(maxsize=65536)
def _is_canonical(text: str) -> bool:
    try:
        return canonical_quantity(text) == text
    except QuantityError:
        return False


def _is_left_out(value: Any, expression: Any) -> bool:
    """Whether upstream writes nothing for this value of an optional field."""
    if isinstance(expression, list):
        return not value
    if expression == "string":
        return bool(value == "")
    if expression in _INT_BOUNDS:
        return bool(value == 0)
    if expression == "bool":
        return value is False
    return bool(expression == "bytes" and value == "")


def _zero(expression: Any) -> Any:
    """What Go makes of a null inside a list or a map."""
    if isinstance(expression, list):
        return [] if expression[0] == "list" else {}
    if expression in _INT_BOUNDS or expression == "intstr":
        return 0
    if expression == "bool":
        return False
    if expression == "quantity":
        return "0"
    if expression == "raw":
        return None
    return {} if expression.startswith("@") else ""
