"""Sets of field paths: union, difference, intersection, and how they are written."""

from typing import Any

import pytest

from doorman.api.patch.field_set import difference, intersection, is_member, paths, union, without_below

A: dict[str, Any] = {"f:a": {}}
B: dict[str, Any] = {"f:b": {}}
DEEP: dict[str, Any] = {"f:a": {"f:x": {}, "f:y": {}}}
SELF: dict[str, Any] = {"f:a": {".": {}, "f:x": {}}}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(A, None, A, id="with-nothing"),
        pytest.param(None, B, B, id="nothing-with"),
        pytest.param(A, B, {"f:a": {}, "f:b": {}}, id="apart"),
        pytest.param(A, DEEP, {"f:a": {".": {}, "f:x": {}, "f:y": {}}}, id="a-path-and-what-is-below-it"),
        pytest.param(DEEP, {"f:a": {"f:z": {}}}, {"f:a": {"f:x": {}, "f:y": {}, "f:z": {}}}, id="below-one-path"),
    ],
)
def test_union(one: Any, other: Any, expected: Any) -> None:
    assert union(one, other) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(A, A, None, id="itself"),
        pytest.param(A, B, A, id="apart"),
        pytest.param(DEEP, {"f:a": {"f:x": {}}}, {"f:a": {"f:y": {}}}, id="a-part"),
        pytest.param(SELF, A, {"f:a": {"f:x": {}}}, id="the-path-but-not-what-is-below"),
        pytest.param(DEEP, A, DEEP, id="a-path-that-is-not-in-it"),
    ],
)
def test_difference(one: Any, other: Any, expected: Any) -> None:
    assert difference(one, other) == expected


@pytest.mark.parametrize(
    ("one", "gone", "expected"),
    [
        pytest.param(DEEP, A, None, id="all-that-is-below"),
        pytest.param(DEEP, {"f:a": {"f:x": {}}}, {"f:a": {"f:y": {}}}, id="one-branch"),
        pytest.param(DEEP, B, DEEP, id="something-else"),
        pytest.param(None, A, None, id="of-nothing"),
    ],
)
def test_without_below(one: Any, gone: Any, expected: Any) -> None:
    assert without_below(one, gone) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(DEEP, {"f:a": {"f:x": {}}}, {"f:a": {"f:x": {}}}, id="a-part"),
        pytest.param(A, DEEP, None, id="a-path-is-not-what-is-below-it"),
        pytest.param(SELF, A, A, id="the-path-itself"),
        pytest.param(A, None, None, id="with-nothing"),
    ],
)
def test_intersection(one: Any, other: Any, expected: Any) -> None:
    assert intersection(one, other) == expected


def test_node_is_a_member_when_it_is_a_leaf_or_says_so() -> None:
    assert [is_member(node) for node in ({}, {".": {}, "f:x": {}}, {"f:x": {}}, None)] == [True, True, False, False]


def test_paths_are_written_as_conflicts_show_them() -> None:
    fields = {
        "f:spec": {
            "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}},
            "f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:nodePort": {}}},
            "f:taints": {},
        },
        "f:metadata": {"f:finalizers": {'v:"x"': {}}},
    }
    assert list(paths(fields)) == [
        '.metadata.finalizers[="x"]',
        ".spec.taints",
        '.spec.containers[name="c"]',
        '.spec.containers[name="c"].image',
        '.spec.ports[port=80,protocol="TCP"].nodePort',
    ]


def test_union_names_the_place_itself_first() -> None:
    """Where nobody orders the set afterwards it is written as it is."""
    both = union({"f:a": {"f:x": {}}}, {"f:a": {".": {}, "f:y": {}}})
    assert both is not None
    assert list(both["f:a"]) == [".", "f:x", "f:y"]
    leaf = union({"f:a": {"f:x": {}}}, {"f:a": {}})
    assert leaf is not None
    assert list(leaf["f:a"]) == [".", "f:x"]
