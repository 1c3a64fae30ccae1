"""The types of Kubernetes' own kinds, by the table of types."""

import pytest

from doorman.semantics.cel.typing.object_types import ObjectTypes
from doorman.semantics.cel.typing.static_types import BOOL, DYN, INT, STRING, Type

TYPES = ObjectTypes(
    {
        "Pod": {
            "fields": {
                "spec": "@PodSpec",
                "names": ["list", "string"],
                "labels": ["map", "string"],
                "items": ["list", "@PodSpec"],
                "count": {"t": "int32"},
                "on": "bool",
                "at": "time",
                "size": "quantity",
                "share": "double",
                "either": "intorstring",
            }
        }
    }
)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("spec", Type("map", schema="PodSpec")),
        ("names", Type("list", of=STRING)),
        ("labels", Type("map", of=STRING)),
        ("items", Type("list", of=Type("map", schema="PodSpec"))),
        ("count", INT),
        ("on", BOOL),
        ("at", STRING),
        ("size", STRING),
        ("share", Type("double")),
        ("either", DYN),
        ("nope", None),
    ],
)
def test_field(field: str, expected: Type | None) -> None:
    assert TYPES.fields("Pod", field) == expected


def test_object_is_a_map_of_its_schema_and_one_that_nobody_knows_may_be_anything() -> None:
    assert TYPES.of("Pod") == Type("map", schema="Pod")
    assert TYPES.fields("Unknown", "anything") == DYN
