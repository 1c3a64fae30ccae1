"""The queue by its rules: order, penalties, early pop, events, gates, flush."""

from typing import Any

import pytest

from doorman.base.histograms import LabelledHistograms
from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.framework import ActionType, ClusterEvent, EventResource, Hint
from doorman.scheduler.queue.queued_pod import QueuedPod, SubQueue
from doorman.scheduler.queue.queueing_hints import QueueingHints
from doorman.scheduler.queue.scheduling_queue import SchedulingQueue
from support.scheduling import make_pod

SHAPES = ShapeTable(ResourceIds())
TAINT = frozenset({"Taints"})
NODE_ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)
POD_GONE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)


class Line:
    """A queue whose only rejecting plugin wakes pods by added nodes, if it says so."""

    def __init__(self, timing: dict[str, Any] | None = None, **more: Any) -> None:  # arguments of hints and queue
        self.helps = True
        self.gated: set[str] = set()
        hints = {
            "Taints": [Hint(EventResource.NODE, ActionType.ADD, lambda _shape, _event: self.helps)],
            "Gate": [Hint(EventResource.ASSIGNED_POD, ActionType.DELETE, lambda _shape, _event: False)],
            "Broken": [Hint(EventResource.NODE, ActionType.ADD, lambda _shape, event: event.new.nothing)],
        }
        self.queue = SchedulingQueue(hints=QueueingHints({"s": hints}, **(timing or {})), gate=self._gate, **more)

    def _gate(self, pod: QueuedPod) -> str:
        return "Gate" if pod.key in self.gated else ""

    def add(self, name: str, now: float = 0.0, priority: int = 0) -> QueuedPod:
        pod = make_pod(name, priority=priority)
        queued = QueuedPod(name, pod, SHAPES.take(pod), "s", now)
        self.queue.add(queued, now)
        return queued

    def pop(self, now: float) -> str:
        found = self.queue.pop(now)
        return "" if found is None else found.key

    def reject(self, name: str, now: float, rejectors: frozenset[str] = TAINT) -> None:
        queued = self.queue.get(name)
        assert queued is not None
        self.queue.rejected(queued, rejectors, now)


def test_order_is_priority_then_time_then_arrival() -> None:
    line = Line()
    line.add("late", 2.0)
    line.add("first", 1.0)
    line.add("second", 1.0)
    line.add("high", 9.0, priority=5)
    assert [line.pop(10.0) for _ in range(5)] == ["high", "first", "second", "late", ""]


@pytest.mark.parametrize(
    ("rejections", "seconds"),
    [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (2000, 10)],
    ids=lambda value: f"rule-1-{value}",
)
def test_penalty_doubles_up_to_its_maximum(rejections: int, seconds: int) -> None:
    line = Line()
    queued = line.add("p")
    line.pop(0.0)
    queued.rejections = rejections - 1
    line.reject("p", 100.0)
    line.add("busy", 100.0, priority=1)
    line.queue.happened(NODE_ADDED, 100.0)
    assert queued.sub_queue is SubQueue.BACKOFF
    line.queue.flush(100.0 + seconds)
    assert queued.sub_queue is SubQueue.BACKOFF, "it is backing off through the whole second of expiry"
    line.queue.flush(100.0 + seconds + 1)
    assert queued.sub_queue is SubQueue.ACTIVE


def test_penalty_of_fractions_is_cut_to_seconds_rule_1() -> None:
    line = Line()
    queued = line.add("p")
    line.pop(0.0)
    line.reject("p", 100.9)
    line.queue.happened(NODE_ADDED, 100.9)
    line.queue.flush(101.999)
    assert queued.sub_queue is SubQueue.BACKOFF
    line.queue.flush(102.0)
    assert queued.sub_queue is SubQueue.ACTIVE


def test_maximum_of_zero_disables_backoff() -> None:
    line = Line(max_backoff_seconds=0)
    queued = line.add("p")
    line.pop(0.0)
    line.reject("p", 1.0)
    line.queue.happened(NODE_ADDED, 1.0)
    assert queued.sub_queue is SubQueue.ACTIVE


def test_backoff_only_delays_while_others_wait_rule_3() -> None:
    line = Line()
    line.add("p")
    line.pop(0.0)
    line.reject("p", 0.0)
    line.add("other", 0.0)
    line.queue.happened(NODE_ADDED, 0.0)
    assert line.pop(0.0) == "other"
    assert line.queue.next_wake() is not None
    assert line.pop(0.0) == "p"


def test_error_backoff_is_never_popped_early_rule_3() -> None:
    line = Line()
    line.add("p")
    line.pop(0.0)
    line.reject("p", 0.0, frozenset())
    assert line.pop(1.0) == ""
    assert line.queue.next_wake() == 2.0
    assert line.pop(2.0) == "p"


def test_errors_in_a_row_count_and_a_rejection_resets_them_rule_1() -> None:
    line = Line()
    queued = line.add("p")
    for now, wake in ((0.0, 2.0), (2.0, 5.0), (5.0, 10.0)):
        assert line.pop(now) == "p"
        line.reject("p", now, frozenset())
        assert line.queue.next_wake() == wake
    line.pop(10.0)
    line.reject("p", 10.0)
    assert (queued.errors, queued.rejections) == (0, 1)


@pytest.mark.parametrize(
    ("rejectors", "event", "helps", "moved"),
    [
        pytest.param({"Taints"}, NODE_ADDED, True, True, id="rule-5-hint-says-yes"),
        pytest.param({"Taints"}, NODE_ADDED, False, False, id="rule-5-hint-says-no"),
        pytest.param({"Taints"}, POD_GONE, True, False, id="rule-5-event-not-asked-for"),
        pytest.param({"Unknown"}, NODE_ADDED, True, False, id="rule-5-plugin-without-hints"),
        pytest.param({"Broken"}, NODE_ADDED, True, True, id="rule-5-broken-hint-is-a-yes"),
        pytest.param(
            {"Unknown"}, ClusterEvent(EventResource.WILDCARD, ActionType(0)), True, True, id="rule-5-wildcard"
        ),
    ],
)
def test_event_moves_a_pod(rejectors: set[str], event: ClusterEvent, helps: bool, moved: bool) -> None:
    line = Line()
    line.helps = helps
    queued = line.add("p")
    line.pop(0.0)
    line.reject("p", 0.0, frozenset(rejectors))
    line.queue.happened(event, 0.0)
    assert (queued.sub_queue is not SubQueue.UNSCHEDULABLE) is moved


def test_event_for_lower_priorities_leaves_higher_ones_waiting() -> None:
    line = Line()
    high, low = line.add("high", priority=9), line.add("low", priority=1)
    for name in ("high", "low"):
        line.pop(0.0)
        line.reject(name, 0.0)
    line.queue.happened(NODE_ADDED, 0.0, priority_max=5)
    assert (high.sub_queue, low.sub_queue) == (SubQueue.UNSCHEDULABLE, SubQueue.BACKOFF)


def test_gated_pod_remembers_what_it_missed_rule_6() -> None:
    line = Line()
    queued = line.add("p")
    line.pop(0.0)
    line.gated.add("p")
    line.reject("p", 0.0)
    assert line.queue.lengths() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}
    line.queue.happened(NODE_ADDED, 0.0)
    assert not queued.missed_event, "its gate did not ask for added nodes"
    line.gated.clear()
    line.queue.ungate("p", 0.0)
    assert queued.sub_queue is SubQueue.UNSCHEDULABLE
    line.queue.happened(NODE_ADDED, 0.0)
    assert queued.sub_queue is SubQueue.BACKOFF


def test_new_pod_with_a_shut_gate_waits_and_goes_on_when_it_opens_rule_6() -> None:
    line = Line()
    line.gated.add("p")
    queued = line.add("p")
    assert line.pop(0.0) == ""
    line.gated.clear()
    line.queue.ungate("p", 1.0)
    assert queued.sub_queue is SubQueue.ACTIVE


def test_pod_that_nothing_may_wake_is_tried_again_after_its_penalty_and_not_early() -> None:
    line = Line()
    line.add("p")
    line.pop(0.0)
    line.reject("p", 0.0)
    line.queue.retry("p", 0.0)
    assert line.pop(1.0) == ""
    assert line.pop(2.0) == "p"
    line.queue.retry("p", 2.0)
    line.reject("p", 2.0)
    assert line.pop(60.0) == "", "a pod that is being tried is not queued"


def test_flush_after_five_minutes_at_a_tick_rule_7() -> None:
    line = Line()
    line.add("p", 10.0)
    line.pop(10.0)
    line.reject("p", 10.0)
    assert line.queue.next_wake() == 330.0
    assert line.pop(329.0) == ""
    assert line.pop(330.0) == "p"


def test_updated_pod_keeps_its_place_in_line() -> None:
    line = Line()
    line.add("a")
    line.add("b")
    shape = SHAPES.take(make_pod("b"))
    line.queue.update("b", make_pod("b", priority=7), shape, [], 1.0)
    assert [line.pop(1.0), line.pop(1.0)] == ["b", "a"]


def test_removed_pod_is_forgotten_everywhere() -> None:
    line = Line()
    line.add("p")
    line.queue.remove("p")
    assert line.pop(0.0) == ""
    assert len(line.queue) == 0
    assert line.queue.next_wake() is None
    line.add("p", 1.0)
    assert line.pop(1.0) == "p"


def test_what_came_into_which_queue_is_counted_with_its_cause() -> None:
    line = Line()
    line.gated.add("held")
    line.add("held")
    line.add("p")
    line.pop(0.0)
    line.reject("p", 0.0)
    line.queue.happened(NODE_ADDED, 0.5)
    line.queue.flush(3.0)
    assert dict(line.queue.incoming) == {
        ("gated", "TargetPodAdd"): 1,
        ("active", "TargetPodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "NodeAdd"): 1,
        ("active", "BackoffComplete"): 1,
    }


def test_first_attempt_is_remembered() -> None:
    line = Line()
    queued = line.add("p", 1.0)
    line.pop(2.0)
    line.reject("p", 2.0)
    line.queue.happened(NODE_ADDED, 5.0)
    line.pop(9.0)
    assert (queued.first_tried, queued.attempts) == (2.0, 2)


def test_pod_that_only_time_brought_back_is_marked_until_it_is_rejected_again() -> None:
    line = Line()
    queued = line.add("p", 0.0)
    line.pop(0.0)
    line.reject("p", 0.0)
    assert not queued.was_flushed
    line.queue.flush(400.0)
    assert queued.was_flushed
    line.pop(400.0)
    line.reject("p", 400.0)
    assert not queued.was_flushed


def test_some_hints_are_timed_with_their_answer() -> None:
    seconds = LabelledHistograms((1.0,))
    ticks = iter(range(100))
    line = Line(timing={"stopwatch": lambda: float(next(ticks)), "seconds": seconds})
    line.add("p")
    line.pop(0.0)
    line.reject("p", 0.0)
    line.queue.happened(NODE_ADDED, 0.5)
    ((labels, histogram),) = seconds.items()
    assert labels[1:] == ("NodeAdd", "Queue")
    assert (histogram.count, histogram.total) == (1, 1.0)
