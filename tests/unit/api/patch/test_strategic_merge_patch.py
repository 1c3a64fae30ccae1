"""Strategic merge patch: the worked examples, one row each, then what is refused."""

from typing import Any

import pytest

from doorman.api.kinds import type_table
from doorman.api.machinery.schema import Schema
from doorman.api.patch.strategic_merge_patch import strategic_merge
from doorman.base.errors import ApiError

SCHEMA = Schema(type_table())
A1, B2 = {"name": "a", "image": "1"}, {"name": "b", "image": "2"}
K1, K2 = {"key": "k1", "effect": "NoSchedule"}, {"key": "k2", "effect": "NoExecute"}
T1, T3 = {"key": "t1", "operator": "Exists"}, {"key": "t3", "operator": "Exists"}


LIVE = {"containers": [A1], "securityContext": {"runAsUser": 2}, "nodeSelector": {"a": "b"}, "nodeName": "n"}


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("type_name", "live", "patch", "expected"),
    [
        pytest.param(
            "core.v1.PodSpec",
            {"containers": [A1, B2]},
            {"containers": [{"name": "b", "image": "3"}]},
            {"containers": [A1, {"name": "b", "image": "3"}]},
            id="merges-by-key",
        ),
        pytest.param(
            "core.v1.PodSpec",
            {"containers": [A1, B2]},
            {"containers": [{"name": "c", "image": "9"}]},
            {"containers": [{"name": "c", "image": "9"}, A1, B2]},
            id="new-ones-come-first",
        ),
        pytest.param(
            "core.v1.PodSpec",
            {"containers": [A1, B2]},
            {"$setElementOrder/containers": named("b", "a"), "containers": [{"name": "b", "image": "3"}]},
            {"containers": [{"name": "b", "image": "3"}, A1]},
            id="set-element-order",
        ),
        pytest.param(
            "core.v1.PodSpec",
            {"containers": named("a", "x", "b")},
            {"$setElementOrder/containers": named("b", "a")},
            {"containers": named("x", "b", "a")},
            id="order-alone-keeps-unnamed-before",
        ),
        pytest.param(
            "core.v1.PodSpec",
            {"containers": named("a", "b")},
            {"containers": [{"$patch": "delete", "name": "a"}]},
            {"containers": named("b")},
            id="delete-element",
        ),
        pytest.param(
            "core.v1.PodSpec",
            {"containers": named("a", "b")},
            {"containers": [{"name": "z", "image": "1"}, {"$patch": "replace"}]},
            {"containers": [{"name": "z", "image": "1"}]},
            id="replace-list",
        ),
        pytest.param(
            "core.v1.NodeStatus",
            {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}]},
            {"conditions": [{"type": "Ready", "status": "False"}]},
            {"conditions": [{"type": "Ready", "status": "False", "reason": "r"}]},
            id="conditions-by-type",
        ),
        pytest.param("core.v1.NodeSpec", {"taints": [K1, K2]}, {"taints": [K1]}, {"taints": [K1]}, id="taints-whole"),
        pytest.param("core.v1.NodeSpec", {"taints": [K1]}, {"taints": None}, {}, id="null-removes"),
        pytest.param(
            "core.v1.PodSpec",
            {"tolerations": [T1]},
            {"tolerations": [T3]},
            {"tolerations": [T3]},
            id="tolerations-whole",
        ),
        pytest.param(
            "meta.v1.ObjectMeta",
            {"finalizers": ["f1", "f2"]},
            {"$deleteFromPrimitiveList/finalizers": ["f1"]},
            {"finalizers": ["f2"]},
            id="delete-from-primitive-list",
        ),
        pytest.param(
            "meta.v1.ObjectMeta",
            {"finalizers": ["f1", "f2"]},
            {"finalizers": ["f3"]},
            {"finalizers": ["f3", "f1", "f2"]},
            id="primitive-merge",
        ),
        pytest.param(
            "apps.v1.DeploymentSpec",
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
            {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
            {"strategy": {"type": "Recreate"}},
            id="retain-keys",
        ),
        pytest.param(
            "meta.v1.ObjectMeta",
            {"labels": {"a": "1", "b": "2"}},
            {"labels": {"a": None, "c": "3"}},
            {"labels": {"b": "2", "c": "3"}},
            id="maps-merge",
        ),
        pytest.param(
            "meta.v1.ObjectMeta",
            {"labels": {"a": "1", "b": "2"}},
            {"labels": {"$patch": "replace", "c": "3"}},
            {"labels": {"c": "3"}},
            id="replace-map",
        ),
    ],
)
def test_worked_example(type_name: str, live: Any, patch: Any, expected: Any) -> None:
    before = repr(live)
    assert strategic_merge(SCHEMA, type_name, live, patch) == expected
    assert repr(live) == before, "the live document is not changed"


@pytest.mark.parametrize(
    ("patch", "code", "words"),
    [
        pytest.param(
            {"$patch": "turn"}, 500, r"^unknown patch type: turn in map: map\[\$patch:turn\]$", id="unknown-directive"
        ),
        pytest.param(
            {"containers": [{"image": "x"}]},
            500,
            r"^map: map\[image:x\] does not contain declared merge key: name$",
            id="no-key",
        ),
        pytest.param(
            {"containers": [{"$patch": "merge", "name": "a"}]},
            500,
            "^merging lists cannot yet be specified in the patch$",
            id="merge-a-list",
        ),
        pytest.param(
            {"containers": [{"$patch": "turn", "name": "a"}]}, 500, "^unknown patch type: turn in map", id="in-a-list"
        ),
        pytest.param(
            {"$setElementOrder/containers": [{"name": "z"}], "containers": [A1]},
            500,
            r"doesn't match \$setElementOrder list:\n\[map\[name:z\]\]",
            id="order-without-the-element",
        ),
        pytest.param(
            {"securityContext": {"$retainKeys": ["a"], "runAsUser": 1}}, 400, "retainKeys", id="key-not-retained"
        ),
        pytest.param({"containers": [["a"]]}, 500, "^list element types are not identical", id="list-of-lists"),
        pytest.param({"$retainKeys": None}, 400, "retainKeys", id="retained-null"),
        pytest.param({"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list", id="no-field"),
        pytest.param(
            {"$setElementOrder": []}, 400, "invalid patch format of setElementOrder list", id="order-no-field"
        ),
        pytest.param(
            {"$setElementOrder/containers": 1}, 500, r"^expected a \[\]interface \{\}, but .* int64$", id="int"
        ),
        pytest.param({"$setElementOrder/containers": None}, 500, r"received a %!s\(<nil>\)$", id="order-null"),
        pytest.param({"$setElementOrder/containers": [], "containers": "x"}, 500, "received a string$", id="no-list"),
        pytest.param({"$setElementOrder/securityContext": []}, 500, r"received a map\[string\]interface", id="a-map"),
        pytest.param({"$setElementOrder/hostname": []}, 500, "^expected slice or array type, but got", id="a-string"),
        pytest.param(
            {"$setElementOrder/x": []}, 500, '^unable to find api field in struct PodSpec .* "x"$', id="no-such"
        ),
        pytest.param({"nodeSelector": {"$setElementOrder/x": []}}, 500, "not struct, instead is: map$", id="in-a-map"),
        pytest.param(
            {"$setElementOrder/containers": ["a"]}, 500, "^value for key 0 is not a map$", id="order-of-texts"
        ),
        pytest.param({"$setElementOrder/containers": [{"x": 1}]}, 500, "declared merge key: name$", id="order-no-key"),
        pytest.param(
            {"securityContext": {"$patch": 5}}, 500, r"patch type: %!s\(int64=5\) in map", id="directive-number"
        ),
        pytest.param(
            {"securityContext": {"$patch": None}}, 500, r"patch type: %!s\(<nil>\) in map", id="directive-null"
        ),
        pytest.param({"$deleteFromPrimitiveList/containers": ["a"]}, 500, "types are not identical", id="delete-texts"),
    ],
)
def test_refused(patch: Any, code: int, words: str) -> None:
    with pytest.raises(ApiError, match=words) as error:
        strategic_merge(SCHEMA, "core.v1.PodSpec", LIVE, patch)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"affinity": {"$patch": "delete"}}, {}, id="goes"),
        pytest.param({"affinity": {"nodeAffinity": {"$patch": 5}}}, {"affinity": {}}, id="goes-whatever-it-says"),
        pytest.param({"affinity": {"a": None, "b": [{"c": None}]}}, {"affinity": {"b": [{}]}}, id="nulls"),
        pytest.param({"affinity": {"$retainKeys": 1}}, {"affinity": {"$retainKeys": 1}}, id="other-directives-stay"),
        pytest.param({"volumes": [{"$patch": "delete", "name": "a"}, []]}, {"volumes": [[]]}, id="list"),
        pytest.param({"nodeName": {"a": None}}, {"nodeName": {}}, id="of-another-type"),
        pytest.param({"$deleteFromPrimitiveList/volumes": ["a"]}, {}, id="delete-from-nothing"),
        pytest.param({"$deleteFromPrimitiveList/nodeName": ["a"]}, {}, id="delete-from-another-type"),
        pytest.param({"$deleteFromPrimitiveList/nodeName": "m"}, {"nodeName": "m"}, id="delete-from-the-same-type"),
        pytest.param({"$setElementOrder/volumes": [{"name": "a"}]}, {}, id="order-of-nothing"),
        pytest.param(
            {"$setElementOrder/volumes": named("a", "b"), "volumes": named("a", "b")},
            {"volumes": named("a", "b")},
            id="order-of-new-ones",
        ),
        pytest.param({"$deleteFromPrimitiveList/containers": []}, {}, id="delete-nothing"),
    ],
)
def test_what_is_put_in_whole(patch: Any, expected: Any) -> None:
    assert strategic_merge(SCHEMA, "core.v1.PodSpec", LIVE, patch) == {**LIVE, **expected}


def test_delete_null() -> None:
    patch = {"$deleteFromPrimitiveList/nodeSelector": None}
    assert "nodeSelector" not in strategic_merge(SCHEMA, "core.v1.PodSpec", LIVE, patch)


def test_maps_in_a_list_of_texts() -> None:
    with pytest.raises(ApiError, match="list element types are not identical"):
        strategic_merge(SCHEMA, "meta.v1.ObjectMeta", {"finalizers": ["a"]}, {"finalizers": [{"a": 1}]})
    with pytest.raises(ApiError, match="cannot merge lists without merge key"):
        strategic_merge(SCHEMA, "meta.v1.ObjectMeta", {"finalizers": []}, {"finalizers": [{"a": 1}]})
