"""Applied configurations against their type: faults before the merge, and what the merge made."""

from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.patch.field_paths import FieldWalker
from doorman.api.patch.typed_config import config_faults, to_typed
from doorman.base.errors import ApiError

SCHEMA = Schema(type_table())
WALKER = FieldWalker(SCHEMA)
NODES = builtin_kinds().named("nodes")


def faults(doc: dict[str, Any]) -> list[str]:
    return config_faults(SCHEMA, WALKER, doc, "core.v1.Pod")


def test_keys_that_occur_twice_are_named() -> None:
    doc = {
        "metadata": {"finalizers": ["a/a", "b/b", "a/a"]},
        "spec": {"containers": [{"name": "c", "env": [{"name": "A"}, {"name": "A"}]}, {"name": "c"}]},
    }
    assert faults(doc) == [
        '.metadata.finalizers: duplicate entries for key [="a/a"]',
        '.spec.containers[name="c"].env: duplicate entries for key [name="A"]',
        '.spec.containers: duplicate entries for key [name="c"]',
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [{"name": "a"}, {"name": "b"}]}, [], id="good"),
        pytest.param({"imagePullSecrets": [{}]}, [], id="an-absent-key-is-empty"),
        pytest.param(
            {"containers": [{"name": "m", "ports": [{"hostPort": 5}, {"hostPort": 6}]}]},
            ['.spec.containers[name="m"].ports: duplicate entries for key [containerPort=0,protocol="TCP"]'],
            id="an-absent-number-is-zero",
        ),
        pytest.param(
            {"containers": [None, {"bogus": 1}]},
            [".spec.containers: element 0: associative list with keys may not have a null element"],
            id="what-follows-null-is-not-looked-at",
        ),
        pytest.param(
            {"containers": [{"name": {"a": 1}}]},
            [".spec.containers[name=a=1].name: expected string, got &{{'a': 1}}"],
            id="key-that-is-no-text",
        ),
        pytest.param({"containers": [{"name": "m", "livenessProbe": {"httpGet": {"port": []}}}]}, [], id="any-port"),
    ],
)
def test_faults(spec: dict[str, Any], expected: list[str]) -> None:
    assert faults({"spec": spec}) == expected


def test_element_of_a_set_is_a_scalar() -> None:
    assert faults({"metadata": {"finalizers": [[]]}}) == [
        ".metadata.finalizers: element 0: not supported: associative list with lists as elements"
    ]


def test_merged_object_that_is_none_of_its_type_is_told() -> None:
    merged = {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": ""}]}}
    with pytest.raises(ApiError) as refused:
        to_typed(SCHEMA, NODES, merged, "/n; /v1, Kind=Node")
    assert refused.value.code == 500
    assert refused.value.message.startswith("failed to convert new object (/n; /v1, Kind=Node) to proper version")
    assert to_typed(SCHEMA, NODES, {"metadata": {"name": "n"}, "spec": {"taints": None}}, "") == {
        "metadata": {"name": "n"},
        "spec": {},
    }
