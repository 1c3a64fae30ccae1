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
        pytest.param({"$deleteFromPrimitiveList/x": 1}, 400, "invalid patch format of primitive list", id="no-list"),
        pytest.param(
            {"$setElementOrder/containers": 1, "containers": [A1]}, 400, "setElementOrder list", id="order-no-list"
        ),
    ],
)
def test_refused(patch: Any, code: int, words: str) -> None:
    with pytest.raises(ApiError, match=words) as error:
        strategic_merge(SCHEMA, "core.v1.PodSpec", {"containers": [A1]}, patch)
    assert error.value.code == code
