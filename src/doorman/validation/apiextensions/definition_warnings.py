"""What a CustomResourceDefinition is accepted with a warning for: formats that nobody checks."""

from collections.abc import Iterator, Mapping
from typing import Final

from doorman.base.go_format import quote
from doorman.base.json_types import Document, Json

_FORMATS: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset((
        "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
        "isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration",
        "datetime", "k8sshortname", "k8slongname",
    )),
    "integer": frozenset(("int32", "int64")),
    "number": frozenset(("float", "double")),
}  # fmt: skip
"""By type; those of texts without hyphens."""
_PARTS: Final = ("properties", "patternProperties", "definitions")
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("items", "additionalProperties", "additionalItems", "not")


def definition_warnings(doc: Document, old: Document | None) -> list[str]:
    """Of formats that were not there before."""
    before = set(_unrecognized(old)) if old is not None else set()
    return [f"unrecognized format {quote(one)}" for one in _unrecognized(doc) if one not in before]


def _unrecognized(doc: Document) -> Iterator[str]:
    for version in (doc.get("spec") or {}).get("versions") or ():
        yield from _in_schema((version.get("schema") or {}).get("openAPIV3Schema") or {})


def _in_schema(schema: Json) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    text = schema.get("format") or ""
    kind = schema.get("type") or "string"
    shown = text.replace("-", "") if kind == "string" else text
    if text and shown not in _FORMATS.get(kind, frozenset()):
        yield text
    for name in _PARTS:
        for part in (schema.get(name) or {}).values():
            yield from _in_schema(part)
    for name in _SINGLE:
        yield from _in_schema(schema.get(name))
    for name in _LISTS:
        for part in schema.get(name) or ():
            yield from _in_schema(part)
