"""RFC 7386 and RFC 6902."""

from typing import Any

import pytest

from doorman.api.patch.json_patch import json_patch, merge_patch
from doorman.base.bounds import PATCH_COPY_BYTES_MAX, PATCH_OPERATIONS_MAX
from doorman.base.errors import ApiError


@pytest.mark.parametrize(
    ("live", "patch", "expected"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="replaces"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="adds"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="null-removes"),
        pytest.param({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="list-gives-way"),
        pytest.param({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}, id="list-comes-whole"),
        pytest.param({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="objects-merge"),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="live-null-stays"),
        pytest.param({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}, id="null-inside-new-object"),
        pytest.param({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="scalar-becomes-object"),
    ],
)
def test_merge_patch(live: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(live, patch) == expected


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        pytest.param([{"op": "add", "path": "/l/-", "value": 3}], {"l": [1, 2, 3]}, id="append"),
        pytest.param([{"op": "remove", "path": "/l/0"}], {"l": [2]}, id="remove"),
        pytest.param([{"op": "test", "path": "/l/0", "value": 1}], {"l": [1, 2]}, id="test-holds"),
        pytest.param([{"op": "move", "from": "/l", "path": "/m"}], {"m": [1, 2]}, id="move"),
    ],
)
def test_json_patch(operations: Any, expected: Any) -> None:
    live = {"l": [1, 2]}
    assert json_patch(live, operations) == expected
    assert live == {"l": [1, 2]}


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        pytest.param([{"op": "test", "path": "/l/0", "value": 9}], 422, id="test-fails"),
        pytest.param([{"op": "replace", "path": "/x/y", "value": 9}], 422, id="missing-path"),
        pytest.param([{"op": "turn", "path": "/l"}], 422, id="unknown-operation"),
        pytest.param([{"path": "/l"}], 422, id="no-operation"),
        pytest.param([{"op": "replace", "path": "", "value": 1}], 422, id="document-becomes-scalar"),
        pytest.param({"op": "add"}, 400, id="no-list"),
        pytest.param([1], 400, id="no-objects"),
        pytest.param([{"op": "test", "path": "/l"}] * (PATCH_OPERATIONS_MAX + 1), 413, id="too-many"),
        pytest.param(
            [{"op": "copy", "from": "/l", "path": f"/l/{i}"} for i in range(2)] * 20,
            422,
            id="copies-double-without-end",
        ),
        pytest.param([{"op": "copy", "from": "", "path": "/l/0"}] * 40, 422, id="document-copied-into-itself"),
        pytest.param([{"op": "copy", "from": "/none/a", "path": "/l/0"}], 422, id="copy-from-nowhere"),
        pytest.param([{"op": "move", "from": "/none", "path": "/l/0"}], 422, id="move-of-nothing"),
        pytest.param([{"op": "add", "path": "", "value": {}}], 422, id="nothing-holds-the-whole"),
        pytest.param([{"op": "replace", "path": "", "value": 1}], 422, id="scalar-for-the-whole"),
        pytest.param(
            [{"op": "add", "path": "/l" + "/0" * i, "value": [[]]} for i in range(400)], 422, id="ever-deeper"
        ),
        pytest.param([{"op": "copy", "path": "/l/0"}], 422, id="copy-from-nowhere"),
    ],
)
def test_json_patch_refused(operations: Any, code: int) -> None:
    with pytest.raises(ApiError) as error:
        json_patch({"l": [1]}, operations)
    assert error.value.code == code


def test_copies_within_the_bound_are_made() -> None:
    value = "x" * (PATCH_COPY_BYTES_MAX // 2 - 2)
    operations = [{"op": "copy", "from": "/a", "path": f"/b{i}"} for i in range(2)]
    assert json_patch({"a": value}, operations) == {"a": value, "b0": value, "b1": value}
    with pytest.raises(ApiError):
        json_patch({"a": value}, [*operations, {"op": "copy", "from": "/a", "path": "/b2"}])


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        pytest.param([{"op": "copy", "from": "/none", "path": "/a"}], {"a": None, "l": [1, 2]}, id="copy-of-nothing"),
        pytest.param([{"op": "add", "path": "/l/-1", "value": 3}], {"l": [1, 2, 3]}, id="from-the-end"),
        pytest.param([{"op": "replace", "path": "l/0", "value": 3}], {"l": [1, 2], "0": 3}, id="before-the-slash"),
        pytest.param([{"op": "move", "from": "/l/0", "path": "/l/1"}], {"l": [2, 1]}, id="move"),
        pytest.param([{"op": "replace", "path": "", "value": []}], [], id="the-whole"),
    ],
)
def test_what_the_library_of_api_servers_does(operations: list[dict[str, Any]], expected: Any) -> None:
    assert json_patch({"l": [1, 2]}, operations) == expected
