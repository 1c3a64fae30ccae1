"""A pod that has just come: nothing has become of it yet."""

from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.queue.queued_pod import QueuedPod, SubQueue
from support.scheduling import make_pod


def test_new_pod_has_its_priority_and_no_past() -> None:
    pod = make_pod("p", priority=7)
    queued = QueuedPod("default/p", pod, ShapeTable(ResourceIds()).take(pod), "s", 100.0)
    assert (queued.priority, queued.timestamp, queued.profile) == (7, 100.0, "s")
    assert (queued.attempts, queued.rejections, queued.errors, queued.rejectors) == (0, 0, 0, frozenset())
    assert queued.sub_queue is SubQueue.UNSCHEDULABLE, "until the queue takes it"
    assert not queued.gate
