"""Documents as field paths: what is one field, and what a write changed."""

from typing import Any

import pytest

from doorman.api.kinds import type_table
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.structural_schema import compile_schema
from doorman.api.patch.field_paths import FieldWalker

WALKER = FieldWalker(Schema(type_table()))
TAINT = {"key": "k", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("type_name", "doc", "expected"),
    [
        pytest.param("core.v1.Node", {"spec": {"taints": [TAINT]}}, {"f:spec": {"f:taints": {}}}, id="taints-are-one"),
        pytest.param(
            "core.v1.Pod",
            {"spec": {"tolerations": [{"key": "k"}], "nodeSelector": {"a": "b"}}},
            {"f:spec": {"f:tolerations": {}, "f:nodeSelector": {}}},
            id="tolerations-and-node-selector-are-one",
        ),
        pytest.param(
            "core.v1.Pod",
            {"metadata": {"labels": {"a": "b"}, "finalizers": ["x/y"]}},
            {"f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {'v:"x/y"': {}}}},
            id="labels-by-key-finalizers-by-value",
        ),
        pytest.param(
            "core.v1.Pod",
            {"spec": {"containers": [{"name": "c", "image": "i"}]}},
            {"f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:image": {}}}}},
            id="containers-by-name",
        ),
        pytest.param(
            "core.v1.Service",
            {"spec": {"ports": [{"port": 80}]}},
            {"f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}}},
            id="a-key-that-is-left-out-has-its-default",
        ),
        pytest.param(
            "core.v1.Node",
            {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            {"f:status": {"f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:type": {}, "f:status": {}}}}},
            id="conditions-by-type",
        ),
        pytest.param(
            "core.v1.Pod",
            {"metadata": {"finalizers": ["x/<y>"]}, "spec": {"containers": [{"name": "<"}]}},
            {
                "f:metadata": {"f:finalizers": {'v:"x/\\u003cy\\u003e"': {}}},
                "f:spec": {"f:containers": {'k:{"name":"\\u003c"}': {".": {}, "f:name": {}}}},
            },
            id="keys-as-go-writes-json",
        ),
    ],
)
def test_held(type_name: str, doc: dict[str, Any], expected: dict[str, Any]) -> None:
    assert WALKER.held(doc, type_name) == expected


def containers(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": name, "image": image} for name, image in pairs]}}


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        pytest.param(containers(("a", "1")), containers(("a", "1")), None, None, id="nothing"),
        pytest.param(
            containers(("a", "1")),
            containers(("a", "2")),
            {"f:spec": {"f:containers": {'k:{"name":"a"}': {"f:image": {}}}}},
            None,
            id="a-member-of-an-element",
        ),
        pytest.param(
            containers(("a", "1"), ("b", "1")),
            containers(("a", "1")),
            None,
            {"f:spec": {"f:containers": {'k:{"name":"b"}': {}}}},
            id="an-element-less",
        ),
        pytest.param(
            containers(("a", "1")),
            {"spec": {"containers": None}},
            None,
            {"f:spec": {"f:containers": {}}},
            id="a-list-whose-elements-had-owners-is-null",
        ),
        pytest.param(
            containers(("a", "1")),
            containers(("a", "2"), ("a", "3")),
            {"f:spec": {"f:containers": {'k:{"name":"a"}': {}}}},
            {"f:spec": {"f:containers": {'k:{"name":"a"}': {"f:name": {}, "f:image": {}}}}},
            id="an-element-that-is-there-twice-is-one-field",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "1", "b": "1"}}},
            {"metadata": {"labels": {"a": "2"}}},
            {"f:metadata": {"f:labels": {"f:a": {}}}},
            {"f:metadata": {"f:labels": {"f:b": {}}}},
            id="labels",
        ),
        pytest.param(
            {"spec": {"tolerations": [{"key": "a"}]}},
            {"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}},
            {"f:spec": {"f:tolerations": {}}},
            None,
            id="an-atomic-list-changes-as-a-whole",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a/a"]}},
            {"metadata": {"finalizers": ["b/b"]}},
            {"f:metadata": {"f:finalizers": {'v:"b/b"': {}}}},
            {"f:metadata": {"f:finalizers": {'v:"a/a"': {}}}},
            id="a-set",
        ),
    ],
)
def test_diff(old: dict[str, Any], new: dict[str, Any], changed: Any, removed: Any) -> None:
    found = WALKER.diff(new, old, "core.v1.Pod")
    assert (found.changed, found.removed) == (changed, removed)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        pytest.param(1, True, {"f:spec": {"f:a": {}}}, id="another type"),
        pytest.param(1, 1.0, None, id="another form of the number"),
    ],
)
def test_value_of_no_declared_type_is_another_when_its_type_is(before: Any, after: Any, changed: Any) -> None:
    schema = Schema(type_table())
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema.add("custom", compile_schema({"type": "object", "properties": {"spec": free}}))
    found = FieldWalker(schema).diff({"spec": {"a": after}}, {"spec": {"a": before}}, "custom")
    assert (found.changed, found.removed) == (changed, None)
