"""How many pods each ReplicaSet shall have next."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import Deployment, ReplicaSet
from doorman.controllers.deployment.deployment_sizes import (
    DESIRED,
    MAX,
    decide_roll_down,
    decide_roll_up,
    decide_scaling,
    is_scaling,
    new_size,
    surge_and_unavailable,
)


def deployment(replicas: int = 10, strategy: dict[str, Any] | None = None, **status: Any) -> Deployment:
    spec = {"replicas": replicas, "strategy": strategy or {"type": "RollingUpdate"}}
    return msgspec.convert({"spec": spec, "status": status}, Deployment)


def rolling(surge: int | str, unavailable: int | str) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def rs(name: str, size: int, available: int | None = None, knows: tuple[int, int] | None = None) -> ReplicaSet:
    annotations = {DESIRED: str(knows[0]), MAX: str(knows[1])} if knows else {}
    meta = {"name": name, "creationTimestamp": f"2026-01-0{ord(name[0]) - 96}T00:00:00Z", "annotations": annotations}
    status = {"availableReplicas": size if available is None else available}
    return msgspec.convert({"metadata": meta, "spec": {"replicas": size}, "status": status}, ReplicaSet)


def sizes(steps: list[Any]) -> dict[str, int]:
    return {step.replica_set.metadata.name: step.replicas for step in steps}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(deployment(10), (3, 2), id="1-quarter-up-and-down"),
        pytest.param(deployment(1), (1, 0), id="1-one-replica"),
        pytest.param(deployment(10, rolling(0, 0)), (0, 1), id="1-both-zero"),
        pytest.param(deployment(10, rolling("10%", "30%")), (1, 3), id="1-shares"),
        pytest.param(deployment(2, rolling(0, 5)), (0, 2), id="1-not-more-than-wanted"),
        pytest.param(deployment(10, {"type": "Recreate"}), (0, 0), id="recreate"),
    ],
)
def test_surge_and_unavailable(one: Deployment, expected: tuple[int, int]) -> None:
    assert surge_and_unavailable(one) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(rs("b", 0), [rs("a", 10)], {"b": 3}, id="2-as-far-as-the-surge"),
        pytest.param(rs("b", 3), [rs("a", 10)], {}, id="2-no-room"),
        pytest.param(rs("b", 8), [rs("a", 1)], {"b": 10}, id="2-never-more-than-wanted"),
        pytest.param(rs("b", 12), [], {"b": 10}, id="2-too-many"),
        pytest.param(rs("b", 10), [rs("a", 3)], {}, id="2-enough"),
    ],
)
def test_roll_up(new: ReplicaSet, old: list[ReplicaSet], expected: dict[str, int]) -> None:
    assert sizes(decide_roll_up(deployment(10), new, [*old, new])) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(rs("b", 3, 0), [rs("a", 10)], {"a": 8}, id="3-down-to-what-must-be-available"),
        pytest.param(rs("b", 3), [rs("a", 10)], {"a": 5}, id="3-new-ones-count-when-available"),
        pytest.param(rs("b", 5, 0), [rs("a", 8)], {}, id="3-nothing-to-spare"),
        pytest.param(rs("c", 3, 0), [rs("a", 5, 3), rs("b", 5)], {"a": 3}, id="3-unhealthy-first"),
        pytest.param(rs("c", 10), [rs("a", 2), rs("b", 1)], {"a": 0, "b": 0}, id="3-all-gone-at-the-end"),
        pytest.param(rs("c", 10), [rs("a", 0)], {}, id="3-none-left"),
    ],
)
def test_roll_down(new: ReplicaSet, old: list[ReplicaSet], expected: dict[str, int]) -> None:
    assert sizes(decide_roll_down(deployment(10), new, old)) == expected


@pytest.mark.parametrize(
    ("one", "new", "old", "expected"),
    [
        pytest.param(deployment(5), rs("b", 3, knows=(3, 4)), [], {"b": 5}, id="5-only-one"),
        pytest.param(deployment(5), rs("b", 5, knows=(5, 7)), [], {}, id="5-only-one-that-knows"),
        pytest.param(deployment(5), rs("b", 0), [rs("a", 0)], {"b": 5}, id="5-none-in-use"),
        pytest.param(deployment(5), None, [rs("a", 0), rs("b", 0)], {"b": 5}, id="5-latest-of-the-old"),
        pytest.param(
            deployment(10), rs("b", 10, knows=(10, 13)), [rs("a", 3)], {"a": 0}, id="5-saturated-new-one-ends-the-old"
        ),
        pytest.param(
            deployment(20, rolling(0, "25%")), rs("b", 5, knows=(10, 10)), [rs("a", 5, knows=(10, 10))],
            {"a": 10, "b": 10}, id="5-in-proportion-up",
        ),
        pytest.param(
            deployment(5, rolling(0, "25%")), rs("b", 4, knows=(10, 10)), [rs("a", 6, knows=(10, 10))],
            {"a": 3, "b": 2}, id="5-in-proportion-down",
        ),
        pytest.param(
            deployment(0), rs("b", 4, knows=(10, 13)), [rs("a", 6, knows=(10, 13))], {"a": 0, "b": 0}, id="5-to-zero"
        ),
    ],
)  # fmt: skip
def test_scaling(one: Deployment, new: ReplicaSet | None, old: list[ReplicaSet], expected: dict[str, int]) -> None:
    assert sizes(decide_scaling(one, new, old)) == expected


def test_scaling_is_noticed_by_what_replica_sets_know() -> None:
    assert is_scaling(deployment(5), [rs("a", 3, knows=(3, 4))])
    assert not is_scaling(deployment(5), [rs("a", 3, knows=(5, 7)), rs("b", 0, knows=(3, 4)), rs("c", 3)])


def test_recreate_goes_to_the_wanted_size_at_once() -> None:
    assert new_size(deployment(4, {"type": "Recreate"}), [], 0) == 4
