"""The scale of a workload, there and back."""

from typing import Any

import pytest

from doorman.api.kinds import ScalePaths, builtin_kinds
from doorman.base.errors import ApiError
from doorman.registry.kinds.scale import applied_replicas, scale_part, to_scale, with_scale

META = {"name": "w", "namespace": "ns", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}}
PATHS = ScalePaths(replicas=("spec", "size"), status_replicas=("status", "size"), selector=("status", "selector"))


def workload(selector: Any, replicas: int = 3) -> dict[str, Any]:
    return {"metadata": META, "spec": {"replicas": replicas, "selector": selector}, "status": {"replicas": 2}}


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param({"matchLabels": {"b": "1", "a": "2"}}, "a=2,b=1", id="labels"),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]}, "a in (x,y)", id="expressions"
        ),
        pytest.param({"b": "1", "a": "2"}, "a=2,b=1", id="of-a-replication-controller"),
    ],
)
def test_to_scale(selector: Any, text: str) -> None:
    found = to_scale(workload(selector))
    assert found["status"] == {"replicas": 2, "selector": text}
    assert found["spec"] == {"replicas": 3}
    assert found["metadata"] == {"name": "w", "namespace": "ns", "uid": "u", "resourceVersion": "7"}


def test_zero_replicas_are_left_out() -> None:
    assert to_scale(workload({"a": "b"}, replicas=0))["spec"] == {}


def test_with_scale_changes_replicas_and_nothing_else() -> None:
    before = workload({"a": "b"})
    after = with_scale(before, {"metadata": {"resourceVersion": "6"}, "spec": {"replicas": 5}})
    assert after["spec"] == {"replicas": 5, "selector": {"a": "b"}}
    assert after["metadata"]["resourceVersion"] == "6", "the lock is the client's"
    assert before["spec"]["replicas"] == 3


def test_custom_kind_keeps_its_replicas_where_it_says() -> None:
    before = {"metadata": META, "spec": {"size": 1}, "status": {"size": 1, "selector": "a=b"}}
    found = to_scale(before, PATHS)
    assert (found["spec"], found["status"]) == ({"replicas": 1}, {"replicas": 1, "selector": "a=b"})
    assert with_scale(before, {"spec": {"replicas": 4}}, PATHS)["spec"] == {"size": 4}


def test_custom_kind_without_replicas_has_no_scale() -> None:
    with pytest.raises(ApiError, match=r'the spec replicas field ".spec.size" does not exist'):
        to_scale({"metadata": META, "spec": {}}, PATHS)


def test_part_is_shown_and_put_back() -> None:
    part = scale_part(builtin_kinds().named("deployments.apps"))
    before = workload({"matchLabels": {"a": "b"}})
    scale = part.show(before)
    assert part.put(before, {**scale, "spec": {"replicas": 9}})["spec"] == {**before["spec"], "replicas": 9}


@pytest.mark.parametrize(
    ("spec", "applied"),
    [pytest.param({"replicas": 4}, {"spec": {"replicas": 4}}, id="replicas"), pytest.param({}, {}, id="nothing")],
)
def test_applied_scale_is_a_configuration_of_the_replicas_alone(spec: Any, applied: Any) -> None:
    kind = builtin_kinds().named("deployments.apps")
    config = applied_replicas({"metadata": {"name": "w", "labels": {"a": "b"}}, "spec": spec}, kind)
    assert config == {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, **applied}
