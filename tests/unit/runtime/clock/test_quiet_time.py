"""What counts as a change, and when a cluster is idle."""

import pytest

from doorman.base.clock import ManualClock
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.runtime.clock.quiet_time import QuietTime, is_change
from doorman.store.memory_store import MemoryStore
from doorman.store.store_contract import ABSENT, Entry, StoreEvent, Write


def node(heartbeat: str = "t1", status: str = "True", taint: str = "") -> bytes:
    condition = {"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat}
    taints = {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {}
    return to_kept_bytes({"metadata": {"name": "n"}, "spec": taints, "status": {"conditions": [condition]}})


@pytest.mark.parametrize(
    ("key", "before", "after", "changes"),
    [
        pytest.param("pods/default/p", b"a", b"b", True, id="pod"),
        pytest.param("leases.coordination.k8s.io/kube-node-lease/n", b"a", b"b", False, id="lease"),
        pytest.param("events/default/e", None, b"b", False, id="event"),
        pytest.param("nodes/n", node("t1"), node("t2"), False, id="heartbeat"),
        pytest.param("nodes/n", node("t1"), node("t1", "False"), True, id="condition"),
        pytest.param("nodes/n", node("t1"), node("t1", taint="k"), True, id="taint"),
        pytest.param("nodes/n", None, node(), True, id="new-node"),
        pytest.param("nodes/n", node(), None, True, id="deleted-node"),
        pytest.param("nodes/n", b"damaged", b"otherwise", True, id="damaged-node"),
    ],
)
def test_is_change(key: str, before: bytes | None, after: bytes | None, changes: bool) -> None:
    entries = [Entry(key, value, 1, 1) if value is not None else None for value in (after, before)]
    assert is_change(StoreEvent(2, key, *entries)) is changes


async def test_idle_when_quiet_and_when_what_was_waited_for_has_come() -> None:
    clock, store = ManualClock(0.0), MemoryStore()
    quiet = QuietTime(store, clock, lambda: 3600.0)
    assert not quiet.is_idle(600)
    clock.advance_to(600)
    assert not quiet.is_idle(600), "somebody wants to be woken at 3600"
    clock.advance_to(3600)
    assert quiet.is_idle(600)
    await store.commit(Write("pods/default/p", b"{}", ABSENT))
    assert not quiet.is_idle(600)
