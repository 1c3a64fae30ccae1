"""How fast an autoscaler goes."""

from typing import Any

import pytest

from doorman.api.views.autoscaling.horizontal_pod_autoscalers import ScalingPolicy, ScalingRules
from doorman.controllers.autoscaling.scaling_limits import (
    Bounds,
    Recommendation,
    ScaleChange,
    limited,
    limited_by_rules,
    stabilized,
    stabilized_by_rules,
)

NOW = 1000.0
BOUNDS = Bounds(min_replicas=2, max_replicas=20)


def rules(*policies: tuple[str, int, int], select: str = "Max", window: int | None = 0) -> ScalingRules:
    return ScalingRules(
        stabilization_window_seconds=window,
        select_policy=select,
        policies=tuple(
            ScalingPolicy(type=kind, value=value, period_seconds=period) for kind, value, period in policies
        ),
    )


@pytest.mark.parametrize(
    ("desired", "before", "replicas", "reason"),
    [
        pytest.param(5, [], 5, "ReadyForNewScale", id="rule-1-nothing-before"),
        pytest.param(5, [(900.0, 3)], 5, "ReadyForNewScale", id="rule-1-less-before"),
        pytest.param(5, [(900.0, 8)], 8, "ScaleDownStabilized", id="rule-1-more-before"),
        pytest.param(5, [(700.0, 8)], 8, "ScaleDownStabilized", id="rule-1-just-five-minutes-ago"),
        pytest.param(5, [(699.0, 8)], 5, "ReadyForNewScale", id="rule-1-long-ago"),
    ],
)
def test_stabilization(desired: int, before: list[tuple[float, int]], replicas: int, reason: str) -> None:
    found = stabilized(desired, [Recommendation(at, count) for at, count in before], NOW)
    assert (found.replicas, found.why[0]) == (replicas, reason)


@pytest.mark.parametrize(
    ("current", "desired", "replicas", "reason"),
    [
        pytest.param(3, 5, 5, "DesiredWithinRange", id="rule-2-within"),
        pytest.param(3, 7, 6, "ScaleUpLimit", id="rule-2-twice-as-many"),
        pytest.param(1, 7, 4, "ScaleUpLimit", id="rule-2-or-four"),
        pytest.param(15, 25, 20, "TooManyReplicas", id="rule-2-maximum"),
        pytest.param(3, 1, 2, "TooFewReplicas", id="rule-2-minimum"),
    ],
)
def test_bounds(current: int, desired: int, replicas: int, reason: str) -> None:
    found = limited(current, desired, BOUNDS)
    assert (found.replicas, found.why[0]) == (replicas, reason)


@pytest.mark.parametrize(
    ("current", "desired", "before", "up", "down", "replicas", "reason"),
    [
        pytest.param(5, 9, [(990.0, 6)], 60, 60, 6, "ScaleUpStabilized", id="rule-3-least-in-the-window"),
        pytest.param(5, 9, [(930.0, 6)], 60, 60, 9, "ReadyForNewScale", id="rule-3-before-the-window"),
        pytest.param(5, 9, [(940.0, 6)], 60, 60, 9, "ReadyForNewScale", id="rule-3-at-its-edge"),
        pytest.param(5, 2, [(990.0, 4)], 60, 60, 4, "ScaleDownStabilized", id="rule-3-most-in-the-window"),
        pytest.param(5, 2, [(750.0, 4)], 0, None, 4, "ScaleDownStabilized", id="rule-3-five-minutes-by-default"),
        pytest.param(5, 9, [(990.0, 3)], 60, 60, 5, "ScaleUpStabilized", id="rule-3-stays-between-the-two"),
        pytest.param(5, 9, [(990.0, 3)], 0, 0, 9, "ReadyForNewScale", id="rule-3-no-windows"),
    ],
)
def test_stabilization_by_rules(
    current: int, desired: int, before: Any, up: int, down: int | None, replicas: int, reason: str
) -> None:
    recommended = [Recommendation(at, count) for at, count in before]
    found = stabilized_by_rules(current, desired, recommended, rules(window=up), rules(window=down), NOW)
    assert (found.replicas, found.why[0]) == (replicas, reason)


UP = [("Pods", 4, 15), ("Percent", 100, 15)]


@pytest.mark.parametrize(
    ("current", "desired", "up", "changes", "replicas", "reason"),
    [
        pytest.param(3, 15, rules(*UP), [], 7, "ScaleUpLimit", id="rule-4-most-by-default"),
        pytest.param(10, 30, rules(*UP), [], 20, "TooManyReplicas", id="rule-4-percent-and-maximum"),
        pytest.param(3, 15, rules(*UP, select="Min"), [], 6, "ScaleUpLimit", id="rule-4-least"),
        pytest.param(3, 15, rules(*UP, select="Disabled"), [], 3, "ScaleUpLimit", id="rule-4-disabled"),
        pytest.param(3, 4, rules(("Percent", 10, 15)), [], 4, "DesiredWithinRange", id="rule-4-rounded-up"),
        pytest.param(7, 15, rules(("Pods", 4, 60)), [(950.0, 3)], 8, "ScaleUpLimit", id="rule-4-what-was-added"),
        pytest.param(7, 15, rules(("Pods", 4, 50)), [(950.0, 3)], 11, "ScaleUpLimit", id="rule-4-added-long-ago"),
        pytest.param(7, 15, rules(("Pods", 1, 60)), [(950.0, 3)], 7, "ScaleUpLimit", id="rule-4-never-backwards"),
    ],
)
def test_rate_upwards(current: int, desired: int, up: ScalingRules, changes: Any, replicas: int, reason: str) -> None:
    made = ([ScaleChange(at, count) for at, count in changes], [])
    found = limited_by_rules(current, desired, BOUNDS, up, rules(("Percent", 100, 15)), made, NOW)
    assert (found.replicas, found.why[0]) == (replicas, reason)


@pytest.mark.parametrize(
    ("current", "desired", "down", "changes", "replicas", "reason"),
    [
        pytest.param(10, 0, rules(("Percent", 100, 15)), [], 2, "TooFewReplicas", id="rule-4-minimum"),
        pytest.param(10, 2, rules(("Pods", 3, 60)), [], 7, "ScaleDownLimit", id="rule-4-pods"),
        pytest.param(10, 2, rules(("Percent", 25, 60)), [], 7, "ScaleDownLimit", id="rule-4-rounded-down"),
        pytest.param(
            10, 2, rules(("Pods", 3, 60), ("Percent", 50, 60)), [], 5, "ScaleDownLimit", id="rule-4-most-by-default"
        ),
        pytest.param(
            10, 2, rules(("Pods", 3, 60), ("Percent", 50, 60), select="Min"), [], 7, "ScaleDownLimit", id="rule-4-least"
        ),
        pytest.param(7, 2, rules(("Pods", 3, 60)), [(950.0, 3)], 7, "ScaleDownLimit", id="rule-4-what-was-removed"),
        pytest.param(10, 9, rules(("Pods", 3, 60)), [], 9, "DesiredWithinRange", id="rule-4-within"),
    ],
)
def test_rate_downwards(
    current: int, desired: int, down: ScalingRules, changes: Any, replicas: int, reason: str
) -> None:
    made: Any = ([], [ScaleChange(at, count) for at, count in changes])
    found = limited_by_rules(current, desired, BOUNDS, rules(*UP), down, made, NOW)
    assert (found.replicas, found.why[0]) == (replicas, reason)
