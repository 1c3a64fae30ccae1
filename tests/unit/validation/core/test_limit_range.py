"""LimitRanges."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.core.limit_range import LIMIT_RANGE


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param([{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}}], [], id="good"),
        pytest.param(
            [{"type": "Node"}],
            ['spec.limits[0].type: Invalid value: "Node": must be a standard limit type or fully qualified'],
            id="type",
        ),
        pytest.param(
            [{"type": "Pod"}, {"type": "Pod", "default": {"cpu": "1"}}],
            [
                'spec.limits[1].type: Duplicate value: "Pod"',
                "spec.limits[1].default: Forbidden: may not be specified when `type` is 'Pod'",
            ],
            id="pod-twice-with-default",
        ),
        pytest.param(
            [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}],
            ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
            id="min-over-max",
        ),
        pytest.param(
            [{"type": "Container", "default": {"cpu": "2"}, "max": {"cpu": "1"}}],
            ['spec.limits[0].default[cpu]: Invalid value: "1": default value 2 is greater than max value 1'],
            id="default-over-max",
        ),
        pytest.param(
            [{"type": "PersistentVolumeClaim"}],
            [
                "spec.limits[0].limits: Required value: "
                "either minimum or maximum storage value is required, but neither was provided"
            ],
            id="claim-without-bounds",
        ),
        pytest.param(
            [{"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}}],
            ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'],
            id="ratio",
        ),
        pytest.param(
            [{"type": "Container", "max": {"cpu": "4"}, "min": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}}],
            [
                'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": '
                "ratio 3 is greater than max/min = 2.000000"
            ],
            id="ratio-over-bounds",
        ),
    ],
)
def test_limit_range(given: Any, expected: list[str]) -> None:
    assert [
        str(error) for error in LIMIT_RANGE.create({"metadata": {"name": "x"}, "spec": {"limits": given}}, Context())
    ] == expected
