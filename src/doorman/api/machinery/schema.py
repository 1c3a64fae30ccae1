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

from doorman.api.machinery.decode_errors import DecodeError, json_type
from doorman.api.machinery.quantity import QuantityError, canonical_quantity
from doorman.api.machinery.structural_schema import Structural, prune, type_rows
from doorman.api.machinery.typed_decoding import (
    INT_BOUNDS,
    OR_ARRAY,
    OR_BOOL,
    OR_STRUCT,
    OR_TEXTS,
    TypedDecoder,
    is_kept,
    is_list_or_null,
    may_be_null,
)
from doorman.api.machinery.written_members import WrittenMembers
from doorman.base.json_types import Document

_DAY: Final = r"\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
"""Any but the 29th of February, which is looked at closer."""
_TIME: Final = re.compile(_DAY + r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)
_MICRO_TIME: Final = re.compile(_DAY + r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z", re.ASCII)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)


ShapeCheck = Callable[[Any], bool]  # any JSON value

_OTHERS: Final[Mapping[str, ShapeCheck]] = {
    OR_BOOL: lambda value: type(value) is bool,
    OR_ARRAY: lambda _value: False,
    OR_TEXTS: lambda value: value is not None,
}
"""Of types that are a struct or something else: what is fine as it is, and no struct."""


class Schema:
    """Compiled checks for a table of types."""

    def __init__(self, types: Mapping[str, Any]) -> None:  # rows of data/types.json
        self._types = dict(types)
        self._structural: dict[str, Structural] = {}
        self._checks: dict[str, ShapeCheck] = {}
        self._member_checks: dict[str, dict[str, ShapeCheck]] = {}
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

    def complete(self, doc: Document, type_name: str, *, known: Document | None = None) -> None:
        """Put in what upstream writes also when nobody gave it, in place. What is as in `known` is complete."""
        if type_name not in self._structural:
            self._written.complete(doc, type_name, known)

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
        names_keys: bool = True,
    ) -> tuple[Document, list[str]]:
        """The document to store, and the strict problems found (`unknown field "spec.foo"`).

        `known` is a clean document that this one was made from: members they share need no second look. `names_keys`:
        whether problems name the keys of maps on the way.
        """
        if type_name in self._structural:
            return self._clean_custom(doc, self._structural[type_name])
        if self._check(type_name)(doc) if known is None else self._is_clean_beside(doc, known, type_name):
            checked: Document = doc
            return checked, []
        problems: list[str] = []
        decoder = TypedDecoder(self.fields, problems, names_keys=names_keys, check_of=self._check_of)
        return decoder.document(doc, type_name), problems

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
            decoder = TypedDecoder(self.fields, problems)
            out["metadata"] = decoder.document(found, "meta.v1.ObjectMeta", "metadata", ".metadata")
        return out, sorted(problems)

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

    def _check(self, type_name: str) -> ShapeCheck:
        found = self._checks.get(type_name)
        if found is None:
            # Types refer to themselves (JSONSchemaProps), so the name is bound before its fields are.
            self._checks[type_name] = lambda value: self._checks[type_name](value)
            found = self._checks[type_name] = self._compile_struct(type_name)
        return found

    def _check_of(self, type_name: str, name: str) -> ShapeCheck:
        """The check of one member."""
        self._check(type_name)
        return self._member_checks[type_name][name]

    def _compile_struct(self, type_name: str) -> ShapeCheck:
        checks: dict[str, ShapeCheck] = {}
        for name, field in self.fields(type_name).items():
            spec = field if isinstance(field, dict) else {"t": field}
            compiled = self._compile(spec["t"], is_kept(spec) and not is_list_or_null(spec))
            checks[name] = _or_null(compiled) if may_be_null(spec) else compiled

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

    def _compile(self, expression: Any, keeps_zero: bool) -> ShapeCheck:  # a type expression
        if isinstance(expression, list):
            if expression[0] == "list":
                return _list_check(self._compile(expression[1], True), keeps_zero)
            return _map_check(self._compile(expression[1], True), keeps_zero)
        if expression.startswith("@"):
            struct = OR_STRUCT.get(expression[1:])
            if struct is not None:
                check, is_other = self._check(struct), _OTHERS[expression[1:]]
                return lambda value: check(value) if type(value) is dict else is_other(value)
            return self._check(expression[1:])
        return _scalar_check(expression, keeps_zero)


def _or_null(check: ShapeCheck) -> ShapeCheck:
    return lambda value: value is None or check(value)


def _scalar_check(expression: str, keeps_zero: bool) -> ShapeCheck:
    if expression == "string":
        if keeps_zero:
            return lambda value: type(value) is str
        return lambda value: type(value) is str and value != ""
    if expression in INT_BOUNDS:
        low, high = INT_BOUNDS[expression]
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
        return lambda value: type(value) is int or (type(value) is float and not value.is_integer())
    if expression == "raw":
        return lambda value: value is not None
    return lambda value: type(value) is str and value != ""


def _list_check(inner: ShapeCheck, keeps_empty: bool) -> ShapeCheck:
    def check(value: Any) -> bool:
        if type(value) is not list or (not value and not keeps_empty):
            return False
        return all(map(inner, value))

    return check


def _map_check(inner: ShapeCheck, keeps_empty: bool) -> ShapeCheck:
    def check(value: Any) -> bool:
        if type(value) is not dict or (not value and not keeps_empty):
            return False
        return all(map(inner, value.values()))

    return check


@lru_cache(maxsize=65536)
def _is_canonical(text: str) -> bool:
    try:
        return canonical_quantity(text) == text
    except QuantityError:
        return False
