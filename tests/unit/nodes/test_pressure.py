"""Whom a node that runs short sends away."""

from typing import Any

import msgspec
import pytest

from doorman.api.pods import Pod
from doorman.nodes.pressure import SHORTAGES, decide_victim, eviction_body, eviction_message
from support.objects import pod

MEMORY, DISK, PIDS = SHORTAGES


def view(name: str, request: str = "", usage: str = "", priority: int = 0, **more: Any) -> Pod:
    resources = {"requests": {"memory": request}} if request else {}
    annotations = {"doorman.dev/memory-usage": usage} if usage else {}
    metadata = {
        "uid": name,
        "annotations": annotations,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        **more.get("metadata", {}),
    }
    spec = {"containers": [{"name": "c", "resources": resources}], "priority": priority}
    status = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", **more.get("status", {})}
    return msgspec.convert(pod(name, "n1", metadata=metadata, spec=spec, status=status), Pod)


@pytest.mark.parametrize(
    ("pods", "victim"),
    [
        pytest.param([view("guaranteed", "1Gi"), view("best-effort")], "best-effort", id="1-beyond-its-request"),
        pytest.param([view("a", "1Gi", "2Gi", priority=10), view("b", "1Gi", "2Gi")], "b", id="1-lower-priority"),
        pytest.param([view("a", "1Gi", "2Gi"), view("b", "1Gi", "3Gi")], "b", id="1-uses-most-beyond"),
        pytest.param(
            [view("a", "1Gi", "3Gi", priority=5), view("b", "1Gi", "2Gi")], "b", id="1-priority-before-amount"
        ),
        pytest.param(
            [view("low", "1Gi"), view("high", "1Gi", "2Gi", priority=99)], "high", id="1-excess-before-priority"
        ),
        pytest.param([view("a", priority=2_000_000_000), view("b", "1Gi")], "b", id="2-critical-stays"),
        pytest.param([view("a", metadata={"deletionTimestamp": "x"}), view("b", "1Gi")], "b", id="2-going-already"),
        pytest.param([view("a", status={"phase": "Failed"}), view("b", "1Gi")], "b", id="2-ended"),
        pytest.param(
            [view("old"), view("new", metadata={"creationTimestamp": "2026-01-02T00:00:00Z"})], "new", id="1-younger"
        ),
        pytest.param([view("a", priority=2_000_000_000)], None, id="2-nobody"),
        pytest.param([], None, id="no-pods"),
    ],
)
def test_victim(pods: list[Pod], victim: str | None) -> None:
    found = decide_victim(MEMORY, pods)
    assert (found.metadata.name if found is not None else None) == victim


def test_short_of_processes_goes_by_priority() -> None:
    found = decide_victim(PIDS, [view("a", priority=5), view("b", "1Gi", priority=1)])
    assert found is not None
    assert found.metadata.name == "b"


def test_message_says_what_was_short_and_who_used_it() -> None:
    assert eviction_message(MEMORY, view("a", "1Mi", "2Mi")) == (
        "The node was low on resource: memory. "
        "Container c was using 2048Ki, request is 1024Ki, has larger consumption of memory. "
    )
    assert eviction_message(MEMORY, view("a", "1Gi")) == "The node was low on resource: memory. "
    assert eviction_message(DISK, view("a")).startswith("The node was low on resource: ephemeral-storage. Container c")
    assert "memory" in eviction_message(MEMORY, view("a", "1Mi", "nonsense"))


def test_evicted_pod_fails_and_says_by_whom() -> None:
    status = eviction_body(view("a"), "m", 0.0)["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", "m")
    assert status["conditions"][0]["reason"] == "TerminationByKubelet"
