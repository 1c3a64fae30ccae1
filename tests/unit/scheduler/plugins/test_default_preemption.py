"""DefaultPreemption, the queue's side: who waits while victims are being deleted."""

from doorman.scheduler.plugins.default_preemption import DefaultPreemption
from support.scheduling import make_pod


def test_pod_waits_while_its_victims_are_being_deleted() -> None:
    preempting = {"default/p"}
    plugin = DefaultPreemption(preempting)
    assert "preemption" in plugin.waits(make_pod("p"))
    assert plugin.waits(make_pod("q")) == ""
    preempting.clear()
    assert plugin.waits(make_pod("p")) == ""


def test_no_event_opens_the_gate() -> None:
    assert DefaultPreemption(()).hints() == ()
