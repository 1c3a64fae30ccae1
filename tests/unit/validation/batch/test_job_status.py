"""What a job's status may say."""

from typing import Any

import pytest

from doorman.validation.batch.job_status import job_status_errors


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(({}, {"active": 1, "ready": 1}, {}), [], id="good"),
        pytest.param(({}, {"active": 1, "ready": 2}, {}), ["status.ready"], id="more-ready-than-active"),
        pytest.param(({}, {"active": -1}, {}), ["status.active"], id="negative"),
        pytest.param(
            ({}, {"failed": 1, "succeeded": 0}, {"failed": 2, "succeeded": 1}),
            ["status.failed", "status.succeeded"],
            id="counters-fall",
        ),
        pytest.param(
            ({}, {"conditions": [{"type": "Failed", "status": "True"}], "startTime": "2024-01-02T03:04:05Z"}, {}),
            ["status.conditions"],
            id="failed-without-target",
        ),
        pytest.param(({}, {"completedIndexes": "1"}, {}), ["status.completedIndexes"], id="not-indexed"),
        pytest.param(
            ({"completionMode": "Indexed", "completions": 2}, {"completedIndexes": "5"}, {}),
            ["status.completedIndexes"],
            id="too-large",
        ),
        pytest.param(
            ({}, {"startTime": "2024-01-02T03:04:06Z"}, {"startTime": "2024-01-02T03:04:05Z"}),
            ["status.startTime"],
            id="start-time-stays",
        ),
    ],
)
def test_job_status(given: Any, expected: list[str]) -> None:
    assert [
        error.field for error in job_status_errors({"spec": given[0], "status": given[1]}, {"status": given[2]})
    ] == expected
