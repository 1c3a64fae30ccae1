"""Tallies count as Prometheus' histograms do: a value belongs to the first bound that is not below it."""

import pytest

from doorman.base.histograms import Histogram, doubling


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        pytest.param(0.0, [1, 1, 1], id="below"),
        pytest.param(1.0, [1, 1, 1], id="at-the-bound"),
        pytest.param(1.5, [0, 1, 1], id="between"),
        pytest.param(7.0, [0, 0, 1], id="beyond"),
    ],
)
def test_value_counts_from_its_bound_on(value: float, counts: list[int]) -> None:
    histogram = Histogram(doubling(1.0, 2))
    histogram.observe(value)
    assert [count for _, count in histogram.cumulated()] == counts
    assert histogram.total == value
