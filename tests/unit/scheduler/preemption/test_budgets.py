"""Whose leaving breaks a budget."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.policy import PodDisruptionBudget
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.preemption.budgets import Budgets
from support.scheduling import make_pod


def budget(name: str = "b", allowed: int = 1, **selector: Any) -> PodDisruptionBudget:
    return msgspec.convert(
        {
            "metadata": {"namespace": "default", "name": name},
            "spec": {"selector": selector or {"matchLabels": {"app": "x"}}},
            "status": {"disruptionsAllowed": allowed, "disruptedPods": {"gone": "2026-01-01T00:00:00Z"}},
        },
        PodDisruptionBudget,
    )


def records(*names: str, labels: dict[str, str] | None = None) -> list[PodRecord]:
    shapes = ShapeTable(ResourceIds())
    pods = [make_pod(name, labels={"app": "x"} if labels is None else labels) for name in names]
    return [PodRecord(pod.metadata.name, pod, shapes.take(pod), "n", assumed=False) for pod in pods]


def test_those_beyond_what_is_allowed_break_it_in_their_order() -> None:
    budgets = Budgets()
    assert budgets.broken_by(records("a", "b")) == set()
    budgets.put(budget(allowed=1))
    assert budgets.broken_by(records("a", "b", "c")) == {"b", "c"}
    budgets.put(budget(allowed=0))
    assert budgets.broken_by(records("a")) == {"a"}
    budgets.remove("default/b")
    assert (budgets.broken_by(records("a")), len(budgets)) == (set(), 0)


@pytest.mark.parametrize(
    ("found", "names", "labels"),
    [
        pytest.param(budget(allowed=0), ["gone"], None, id="already-disrupted"),
        pytest.param(budget(allowed=0), ["a"], {"app": "y"}, id="other-labels"),
        pytest.param(budget(allowed=0), ["a"], {}, id="no-labels"),
        pytest.param(budget(allowed=0, matchLabels={}), ["a"], None, id="empty-selector-is-nobody"),
    ],
)
def test_pods_that_are_not_counted(found: PodDisruptionBudget, names: list[str], labels: dict[str, str] | None) -> None:
    budgets = Budgets()
    budgets.put(found)
    assert budgets.broken_by(records(*names, labels=labels)) == set()


def test_changes_are_counted() -> None:
    budgets = Budgets()
    budgets.put(budget())
    budgets.remove("default/b")
    budgets.remove("default/b")
    assert budgets.version == 3
