"""A short run of etcd_faults.py, which does the same for half an hour; and that it finds what it looks for."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.fault_clients import Acknowledged, Key, Segment, Told
from faults.fault_truth import LEASES, MAPS, PODS, History

CONTROLLERS, SCHEDULER = "kube-controller-manager", "kube-scheduler"


@pytest.mark.slow
def test_nothing_is_lost_and_nobody_is_told_anything_wrong() -> None:
    command = [sys.executable, str(Path(__file__).parent / "etcd_faults.py"), "--minutes", "0.25", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "found: 0" in done.stdout


class Recorded:
    """A short history, and what clients say of it: all is well until somebody changes it."""

    def __init__(self) -> None:
        self.history = History((301, 302))
        self.lease(1, CONTROLLERS, "a")
        self.lease(2, SCHEDULER, "a")
        self.map(3, "x", 1, is_new=True)
        self.pod(4, "p", 301)
        self.pod(5, "p", 301, node="node-1")
        self.map(6, "x", 2)
        self.lease(7, CONTROLLERS, "b")
        self.pod(8, "q", 302)
        self.map(9, "x", None)
        self.acknowledged = [Acknowledged(3, "x", 1), Acknowledged(6, "x", 2)]
        self.key = Key("x")
        self.segment = Segment(3, {"x": 1})
        self.segment.told = [Told(6, "MODIFIED", "x", 2), Told(9, "DELETED", "x", 2)]
        self.segment.last = 9

    def map(self, revision: int, name: str, value: int | None, *, is_new: bool = False) -> None:
        body = None if value is None else json.dumps({"data": {"n": str(value)}}).encode()
        self.history.take(revision, MAPS + name, is_new, body)

    def lease(self, revision: int, name: str, holder: str) -> None:
        self.history.take(revision, LEASES + name, False, json.dumps({"spec": {"holderIdentity": holder}}).encode())

    def pod(self, revision: int, name: str, seconds: int, node: str = "") -> None:
        tolerations = [{"key": "node.kubernetes.io/not-ready", "tolerationSeconds": seconds}]
        spec = {"tolerations": tolerations, **({"nodeName": node} if node else {})}
        pod = {"metadata": {"uid": name}, "spec": spec}
        self.history.take(revision, PODS + name, not node, json.dumps(pod).encode())

    def faults(self) -> list[str]:
        return self.history.faults(self.acknowledged, [self.key], [self.segment])


def test_nothing_is_found_where_all_is_well() -> None:
    assert Recorded().faults() == []


@pytest.mark.parametrize(
    ("change", "word"),
    [
        pytest.param(lambda r: r.acknowledged.append(Acknowledged(8, "x", 3)), "LOST", id="acknowledged-and-nowhere"),
        pytest.param(lambda r: r.acknowledged.append(Acknowledged(5, "x", 2)), "LOST", id="told-another-revision"),
        pytest.param(lambda r: setattr(r.key, "value", 2), "LOST", id="deleted-by-nobody"),
        pytest.param(lambda r: r.segment.told.pop(0), "WATCH", id="event-not-told"),
        pytest.param(lambda r: r.segment.told.reverse(), "WATCH", id="events-out-of-order"),
        pytest.param(lambda r: r.segment.told.insert(0, r.segment.told[0]), "WATCH", id="event-told-twice"),
        pytest.param(lambda r: setattr(r.segment, "last", 8), "WATCH", id="event-from-the-future"),
        pytest.param(lambda r: r.segment.listed.update(x=2), "LIST", id="list-of-another-time"),
        pytest.param(lambda r: r.pod(10, "late", 301), CONTROLLERS, id="old-leader-acts"),
        pytest.param(lambda r: r.pod(10, "q", 302, "node-4"), SCHEDULER, id="scheduler-that-does-not-lead"),
        pytest.param(lambda r: (r.lease(10, CONTROLLERS, ""), r.pod(11, "z", 302)), "nobody", id="nobody-leads"),
    ],
)
def test_what_must_not_be_is_found(change: Callable[[Recorded], object], word: str) -> None:
    recorded = Recorded()
    change(recorded)
    found = recorded.faults()
    assert len(found) == 1, found
    assert word in found[0]


def test_late_creation_that_nobody_answered_is_no_fault() -> None:
    recorded = Recorded()
    recorded.key.created = {7}
    recorded.map(10, "x", 7, is_new=True)
    assert recorded.faults() == []
