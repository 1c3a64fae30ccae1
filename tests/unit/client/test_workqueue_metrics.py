"""Bounds as those of Kubernetes' work queues."""

import pytest

from doorman.client.workqueue_metrics import WorkqueueMetrics


def test_times_fall_between_ten_nanoseconds_and_a_quarter_of_an_hour() -> None:
    metrics = WorkqueueMetrics("q")
    metrics.waited.observe(5e-9)
    metrics.waited.observe(2000.0)
    bounds = [float(bound) for bound, _ in metrics.waited.cumulated()]
    assert bounds[:-1] == pytest.approx([10.0**power for power in range(-8, 4)])
    assert [count for _, count in metrics.waited.cumulated()] == [1] * 12 + [2]
