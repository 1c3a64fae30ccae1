"""Whom a node that runs short sends away."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.nodes.pods.pressure_eviction import (
    SHORTAGES,
    Shortage,
    decide_victim,
    eviction_body,
    eviction_message,
    observe,
)
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


NODE = msgspec.convert({"status": {"capacity": {"memory": "1Gi", "ephemeral-storage": "100Gi"}}}, Node)


@pytest.mark.parametrize(
    ("shortage", "victim", "message"),
    [
        pytest.param(
            MEMORY,
            view("a", "1Mi", "200Mi"),
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 102396Ki. "
            "Container c was using 200Mi, request is 1Mi, has larger consumption of memory. ",
            id="beyond-its-request",
        ),
        pytest.param(
            MEMORY,
            view("a", "1Gi"),
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0. ",
            id="within-its-request",
        ),
        pytest.param(
            MEMORY,
            view("a", "1000Mi", "nonsense"),
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 24Mi. ",
            id="unreadable-usage-counts-as-none",
        ),
        pytest.param(
            DISK,
            view("a"),
            "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 10485756Ki. "
            "Container c was using 10Mi, request is 0, has larger consumption of ephemeral-storage. ",
            id="disk",
        ),
        pytest.param(PIDS, view("a"), "The node was low on resource: pids. ", id="pids"),
    ],
)
def test_message_says_what_was_short_and_who_used_it(shortage: Shortage, victim: Pod, message: str) -> None:
    assert eviction_message(shortage, victim, observe(shortage, NODE, [victim])) == message


def test_only_containers_beyond_their_own_request_are_named() -> None:
    containers = [
        {"name": "first", "resources": {"requests": {"memory": "10Mi"}}},
        {"name": "second", "resources": {"requests": {"memory": "20Mi"}}},
    ]
    metadata = {"annotations": {"doorman.dev/memory-usage": "50Mi"}}
    victim = msgspec.convert(pod("a", "n1", metadata=metadata, spec={"containers": containers}), Pod)
    assert eviction_message(MEMORY, victim, None) == (
        "The node was low on resource: memory. "
        "Container first was using 30Mi, request is 10Mi, has larger consumption of memory. "
    )


def test_evicted_pod_fails_and_says_by_whom() -> None:
    status = eviction_body(view("a"), "m", 0.0)["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", "m")
    assert status["conditions"][-1]["reason"] == "TerminationByKubelet"
    (container,) = status["containerStatuses"]
    assert (container["ready"], container["state"]["terminated"]["exitCode"]) == (False, 137)
