"""Which events are worth a pod's next attempt, as those who rejected it said."""

from typing import Any

import pytest

from doorman.base.histograms import LabelledHistograms
from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.framework import ActionType, ClusterEvent, EventResource, Hint, always
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.queue.queueing_hints import QueueingHints
from support.scheduling import make_pod

SHAPES = ShapeTable(ResourceIds())
NODE_ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
POD_GONE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)


def never(_shape: Any, _event: ClusterEvent) -> bool:
    return False


def breaks(_shape: Any, _event: ClusterEvent) -> bool:
    raise ValueError("a hint of somebody else's")


HINTS = {
    "s": {
        "Taints": [Hint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, always)],
        "Stubborn": [Hint(EventResource.NODE, ActionType.ADD, never)],
        "Broken": [Hint(EventResource.NODE, ActionType.ADD, breaks)],
        "Mine": [Hint(EventResource.NODE, ActionType.ADD, never, lambda pod, _event: pod.metadata.name == "a")],
        "Gate": [Hint(EventResource.ASSIGNED_POD, ActionType.DELETE, always)],
    }
}


def queued(*rejectors: str, name: str = "p", gate: str = "") -> QueuedPod:
    pod = make_pod(name)
    found = QueuedPod(name, pod, SHAPES.take(pod), "s", 0.0)
    found.rejectors = frozenset(rejectors)
    found.gate = gate
    return found


@pytest.mark.parametrize(
    ("pod", "event", "expected"),
    [
        pytest.param(queued("Taints"), NODE_ADDED, True, id="asked-for"),
        pytest.param(queued("Taints"), NODE_TAINT, True, id="one-of-several-changes"),
        pytest.param(queued("Taints"), POD_GONE, False, id="another-resource"),
        pytest.param(queued("Stubborn"), NODE_ADDED, False, id="looked-at-and-no"),
        pytest.param(queued("Stubborn", "Taints"), NODE_ADDED, True, id="one-of-the-rejectors"),
        pytest.param(queued("Unknown"), NODE_ADDED, False, id="a-plugin-without-hints"),
        pytest.param(queued(), POD_GONE, True, id="rejected-by-nobody"),
        pytest.param(queued("Broken"), NODE_ADDED, True, id="a-hint-that-breaks"),
        pytest.param(queued("Stubborn"), ClusterEvent(EventResource.WILDCARD, ActionType.ADD), True, id="anything"),
        pytest.param(queued("Mine", name="a"), NODE_ADDED, True, id="of-this-pod"),
        pytest.param(queued("Mine", name="b"), NODE_ADDED, False, id="of-another-pod"),
        pytest.param(queued(gate="Gate"), POD_GONE, True, id="the-gate"),
    ],
)
def test_is_worth_a_try(pod: QueuedPod, event: ClusterEvent, expected: bool) -> None:
    assert QueueingHints(HINTS).is_worth_a_try(pod, event) is expected


def test_pods_of_one_shape_share_answers_but_those_about_a_pod() -> None:
    asked: list[str] = []

    def counted(_shape: Any, _event: ClusterEvent) -> bool:
        asked.append("x")
        return False

    hints = QueueingHints({"s": {**HINTS["s"], "Counted": [Hint(EventResource.NODE, ActionType.ADD, counted)]}})
    answers: dict[tuple[str, int], bool] = {}
    for name in ("a", "b", "c"):
        hints.is_worth_a_try(queued("Counted", name=name), NODE_ADDED, answers)
    assert asked == ["x"]
    answers = {}
    assert not hints.is_worth_a_try(queued("Mine", name="b"), NODE_ADDED, answers)
    assert hints.is_worth_a_try(queued("Mine", name="a"), NODE_ADDED, answers)


def test_wanted_is_what_those_who_keep_the_pod_asked_to_hear() -> None:
    hints = QueueingHints(HINTS)
    assert set(hints.wanted(queued("Taints", "Stubborn"))) == {
        (EventResource.NODE, ActionType.ADD), (EventResource.NODE, ActionType.UPDATE_NODE_TAINT),
    }  # fmt: skip
    assert list(hints.wanted(queued("Taints", gate="Gate"))) == [(EventResource.ASSIGNED_POD, ActionType.DELETE)]


def test_some_answers_are_timed() -> None:
    seconds, times = LabelledHistograms((1.0,)), iter((5.0, 7.0))
    hints = QueueingHints(HINTS, stopwatch=lambda: next(times), seconds=seconds)
    hints.is_worth_a_try(queued("Taints"), NODE_ADDED)
    hints.is_worth_a_try(queued("Taints"), NODE_ADDED)
    ((labels, times_of),) = seconds.items()
    assert (labels[0], labels[2], times_of.count) == ("Taints", "Queue", 1)
