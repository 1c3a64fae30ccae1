"""Custom kinds in expressions: the types of their schema, and values of those types."""

from typing import Any

import pytest

from doorman.api.machinery.structural_schema import compile_schema
from doorman.semantics.cel.typing.schema_types import SchemaTypes, to_value
from doorman.semantics.cel.typing.static_types import BOOL, DYN, STRING, Type
from doorman.semantics.cel.values import Duration, Timestamp

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        "share": {"type": "number"},
        "on": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "rest": {"type": "array"},
        "labels": {"type": "object", "additionalProperties": {"type": "number"}},
        "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "empty": {"type": "object"},
        "limit": {"x-kubernetes-int-or-string": True},
        "at": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "lasts": {"type": "string", "format": "duration"},
        "blob": {"type": "string", "format": "byte"},
        "plain": {"type": "string", "format": "hostname"},
    },
}
COMPILED = compile_schema(SCHEMA)
TIME = Type("google.protobuf.Timestamp")


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("spec", Type("map", schema="self.spec")),
        ("share", Type("double")),
        ("on", BOOL),
        ("names", Type("list", of=STRING)),
        ("rest", Type("list", of=DYN)),
        ("labels", Type("map", of=Type("double"))),
        ("anything", DYN),
        ("empty", Type("map", schema="self.empty")),
        ("limit", DYN),
        ("at", TIME),
        ("day", TIME),
        ("lasts", Type("google.protobuf.Duration")),
        ("blob", Type("bytes")),
        ("plain", STRING),
        ("metadata", Type("map", schema="metadata")),
        ("kind", STRING),
        ("nope", None),
    ],
)
def test_type_of_a_field(field: str, expected: Type | None) -> None:
    types = SchemaTypes()
    root = types.of(COMPILED)
    assert types.fields(root.schema, field) == expected


def test_fields_of_objects_below_and_of_metadata() -> None:
    types = SchemaTypes()
    spec = types.fields(types.of(COMPILED).schema, "spec")
    assert spec is not None
    assert types.fields(spec.schema, "replicas") == Type("int")
    assert types.fields("metadata", "name") == STRING
    assert types.fields("metadata", "labels") is None, "of metadata only names may be looked at"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("share", 1, 1.0),
        ("labels", {"a": 2}, {"a": 2.0}),
        ("names", ["a"], ["a"]),
        ("at", "1970-01-01T00:00:01Z", Timestamp(10**9)),
        ("day", "1970-01-02", Timestamp(86400 * 10**9)),
        ("lasts", "2s", Duration(2 * 10**9)),
        ("blob", "eA==", b"eA=="),
        ("plain", "x", "x"),
        ("share", "no-number", "no-number"),
        ("anything", {"a": 1}, {"a": 1}),
    ],
)
def test_value_of_a_field(field: str, value: object, expected: object) -> None:
    found = to_value({field: value}, COMPILED)[field]
    assert (found, type(found)) == (expected, type(expected))


def test_of_metadata_only_names_are_seen() -> None:
    found = to_value({"metadata": {"name": "x", "labels": {"a": "b"}}}, COMPILED)
    assert found == {"metadata": {"name": "x"}}
