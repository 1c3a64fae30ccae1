"""The status of an autoscaler: written when it has changed, and only then."""

from typing import Any

from doorman.api.views.autoscaling.horizontal_pod_autoscalers import HorizontalPodAutoscaler
from doorman.api.views.meta import to_view
from doorman.controllers.autoscaling.autoscaler_status import AutoscalerStatus

BEFORE = "1970-01-01T00:00:00Z"
ABLE = {"type": "AbleToScale", "status": "True", "reason": "A", "message": "a", "lastTransitionTime": BEFORE}
STORED = {
    "currentReplicas": 2,
    "desiredReplicas": 3,
    "observedGeneration": 1,
    "currentMetrics": [{"type": "Resource"}],
    "conditions": [ABLE],
}


def status_of(**status: Any) -> AutoscalerStatus:
    document = {"metadata": {"name": "a", "namespace": "default", "generation": 1}, "status": status}
    return AutoscalerStatus(to_view(document, HorizontalPodAutoscaler), 60.0)


def test_same_again_is_not_written() -> None:
    status = status_of(**STORED)
    status.set_condition("AbleToScale", "True", ("A", "a"))
    status.set_numbers(2, 3, [{"type": "Resource"}], rescaled=False)
    assert status.patch() is None


def test_time_of_a_condition_changes_with_its_status_alone() -> None:
    status = status_of(**STORED)
    status.set_condition("AbleToScale", "True", ("B", "b"))
    patch = status.patch()
    assert patch is not None
    assert patch.body["status"]["conditions"] == [{**ABLE, "reason": "B", "message": "b"}]
    status.set_condition("AbleToScale", "False", ("B", "b"))
    patch = status.patch()
    assert patch is not None
    assert patch.body["status"]["conditions"][0]["lastTransitionTime"] == "1970-01-01T00:01:00Z"


def test_numbers_and_time_of_a_change() -> None:
    status = status_of(**STORED)
    status.set_numbers(3, 5, [], rescaled=True)
    patch = status.patch()
    assert patch is not None
    written = patch.body["status"]
    assert (written["currentReplicas"], written["desiredReplicas"]) == (3, 5)
    assert (written["currentMetrics"], written["lastScaleTime"]) == (None, "1970-01-01T00:01:00Z")
