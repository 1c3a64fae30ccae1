"""Scores of how full a node is: the specification's figures, for single numbers and for columns alike."""

import numpy as np
import pytest

from doorman.scheduler.config.scheduler_config import ShapePoint
from doorman.scheduler.plugins.resource_scores import (
    Share,
    average,
    average_of_positive,
    balance,
    balance_score,
    least_allocated,
    most_allocated,
    ratio,
    ratio_table,
)

GIB = 2**30


@pytest.mark.parametrize(
    ("used", "cap", "expected"),
    [(1500, 4000, 62), (100, 4000, 97), (4001, 4000, 0), (0, 0, 0), (4000, 4000, 0), (0, 4000, 100)],
    ids=["rule-1-example", "rule-1-best-effort", "rule-1-over", "rule-1-nothing", "rule-1-full", "rule-1-empty"],
)
def test_least_allocated(used: int, cap: int, expected: int) -> None:
    assert least_allocated(used, cap) == expected
    assert least_allocated(np.array([used]), np.array([cap])).tolist() == [expected]


@pytest.mark.parametrize(
    ("used", "cap", "expected"),
    [(1500, 4000, 37), (5000, 4000, 100), (0, 0, 0)],
    ids=["rule-2-share", "rule-2-over", "rule-2-nothing"],
)
def test_most_allocated(used: int, cap: int, expected: int) -> None:
    assert most_allocated(used, cap) == expected
    assert most_allocated(np.array([used]), np.array([cap])).tolist() == [expected]


def test_ratio_follows_the_broken_line_rule_3() -> None:
    table = ratio_table([ShapePoint(0, 0), ShapePoint(50, 10), ShapePoint(100, 3)])
    caps = np.array([100, 100, 100, 100, 0, 100])
    used = np.array([0, 25, 50, 75, 5, 200])
    assert ratio(used, caps, table).tolist() == [0, 50, 100, 65, 30, 30]


def test_average_leaves_out_resources_a_node_lacks_rule_4() -> None:
    shares = [Share(0, np.array([4, 0])), Share(0, np.array([4, 8]), 3)]
    assert average(shares, [np.array([100, 0]), np.array([50, 50])]).tolist() == [62, 50]
    nothing = [Share(0, np.array([0]))]
    assert average(nothing, [np.array([100])]).tolist() == [0]


def test_ratio_average_rounds_and_leaves_out_zero_rule_4() -> None:
    shares = [Share(0, np.array([1, 1])), Share(0, np.array([1, 1]))]
    assert average_of_positive(shares, [np.array([0, 51]), np.array([50, 50])]).tolist() == [50, 51]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param([Share(500, 1000), Share(0, 1000)], 75, id="rule-5-two"),
        pytest.param([Share(2000, 1000), Share(1000, 1000)], 100, id="rule-5-capped-at-one"),
        pytest.param([Share(500, 1000)], 100, id="rule-5-one"),
        pytest.param([Share(500, 1000), Share(0, 0)], 100, id="rule-5-one-is-lacking"),
        pytest.param([Share(0, 10), Share(5, 10), Share(10, 10)], 59, id="rule-5-three"),
        pytest.param([Share(5, 10), Share(0, 10), Share(7, 0)], 75, id="rule-5-two-of-three"),
    ],
)
def test_balance(shares: list[Share], expected: int) -> None:
    assert balance(shares) == expected
    columns = [Share(np.array([share.used]), np.array([share.cap])) for share in shares]
    assert balance(columns).tolist() == [expected]


@pytest.mark.parametrize(
    ("with_pod", "without", "expected"),
    [(75, 100, 62), (100, 75, 87), (75, 75, 75)],
    ids=["rule-6-worse", "rule-6-better", "rule-6-neutral"],
)
def test_balance_score(with_pod: int, without: int, expected: int) -> None:
    assert balance_score(with_pod, without) == expected
