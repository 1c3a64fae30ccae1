"""The life of a pod, one decision at a time; whole lives are in test_agent."""

from typing import Any

import msgspec
import pytest

from doorman.api.kinds import type_table
from doorman.api.machinery.schema import Schema
from doorman.api.views.pods import Pod
from doorman.nodes.agent_settings import PodLives
from doorman.nodes.pods.critical_pod_preemption import preempted_body
from doorman.nodes.pods.graceful_shutdown import terminated_body
from doorman.nodes.pods.kubelet_pod_status import disrupted_body, failed_body, refused_body, stopped_body
from doorman.nodes.pods.pod_lifecycle import Life, decide_next, decide_start, decide_stop, deleted_at, life_of, lives_on
from doorman.nodes.pods.pressure_eviction import eviction_body
from doorman.registry.fastpath.pod_status import status_patch_of
from support.objects import pod

JOB = {"ownerReferences": [{"kind": "Job", "controller": True}]}


def view(**more: Any) -> Pod:
    return msgspec.convert(pod("p", "node-1", **more), Pod)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({}, Life(), id="ordinary"),
        pytest.param({"annotations": {"doorman.dev/startup": "2s"}}, Life(startup_seconds=2.0), id="start-up"),
        pytest.param(
            {"annotations": {"doorman.dev/runs-for": "5s", "doorman.dev/exit-codes": "1,0"}},
            Life(runs_for_seconds=5.0, exit_codes=(1, 0)),
            id="exits",
        ),
        pytest.param({"annotations": {"doorman.dev/exit-codes": "x"}}, Life(), id="unreadable-codes"),
        pytest.param({"annotations": {"doorman.dev/exit-codes": "999"}}, Life(), id="impossible-code"),
        pytest.param(JOB, Life(runs_for_seconds=1.0), id="job"),
        pytest.param(
            {**JOB, "annotations": {"doorman.dev/runs-for": "9s"}}, Life(runs_for_seconds=9.0), id="job-that-says-so"
        ),
    ],
)
def test_life_of_annotations(metadata: dict[str, Any], expected: Life) -> None:
    assert life_of(view(metadata=metadata)) == expected


def test_containers_that_read_their_input_once_end_when_all_do() -> None:
    once, other = {"name": "a", "stdin": True, "stdinOnce": True}, {"name": "b"}
    assert life_of(view(spec={"containers": [once]})).runs_for_seconds == 1.0
    assert life_of(view(spec={"containers": [once, other]})).runs_for_seconds is None
    says = {"annotations": {"doorman.dev/runs-for": "9s"}}
    assert life_of(view(metadata=says, spec={"containers": [once]})).runs_for_seconds == 9.0


def test_lives_are_of_pods_that_do_not_say() -> None:
    slow = PodLives(startup_seconds=20.0, termination_seconds=30.0, job_run_seconds=None)
    assert life_of(view(), slow) == Life(startup_seconds=20.0, termination_seconds=30.0)
    assert life_of(view(metadata=JOB), slow).runs_for_seconds is None
    says = {"annotations": {"doorman.dev/startup": "1s", "doorman.dev/termination": "0s"}}
    assert life_of(view(metadata=says), slow) == Life(startup_seconds=1.0)


def test_deletion_is_as_long_ago_as_the_grace_period_has_passed() -> None:
    going = {"deletionTimestamp": "1970-01-01T00:02:00Z", "deletionGracePeriodSeconds": 30}
    assert deleted_at(view(metadata=going), 100.0) == 90.0
    assert deleted_at(view(metadata=going), 80.0) == 80.0, "not later than now"


def test_start_posts_pending_only_if_it_takes_time() -> None:
    at_once = decide_start(view(), Life(), 100.0)
    later = decide_start(view(), Life(startup_seconds=5.0), 100.0)
    assert at_once.body is not None
    assert later.body is not None
    assert (at_once.body["status"]["phase"], at_once.looks_again) == ("Running", None)
    assert (later.body["status"]["phase"], later.looks_again) == ("Pending", 105.0)


def test_host_network_has_the_nodes_address() -> None:
    body = decide_start(view(spec={"hostNetwork": True}), Life(), 0.0).body
    assert body is not None
    assert body["status"]["podIP"] == body["status"]["hostIP"] == "10.64.0.1"


def test_pod_that_is_well_needs_nothing() -> None:
    well = view(status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
    assert decide_next(well, Life(), 50.0, since=None, node_is_ready=True).body is None


@pytest.mark.parametrize(("node_is_ready", "restored"), [(True, True), (False, False)])
def test_pod_said_unready_by_others_is_ready_again_with_its_node(node_is_ready: bool, restored: bool) -> None:
    unready = view(status={"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]})
    following = decide_next(unready, Life(), 50.0, since=None, node_is_ready=node_is_ready)
    assert (following.body is not None) is restored


def test_times_of_the_status_count_when_the_memory_is_gone() -> None:
    status = {"phase": "Pending", "startTime": "1970-01-01T00:01:00Z"}
    following = decide_next(view(status=status), Life(startup_seconds=9.0), 65.0, since=None, node_is_ready=True)
    assert following.looks_again == 69.0


@pytest.mark.parametrize(
    ("seconds", "grace", "gone_at"),
    [
        pytest.param(0.0, 30, 100.0, id="at-once"),
        pytest.param(5.0, 30, 105.0, id="takes-its-time"),
        pytest.param(50.0, 30, 130.0, id="grace-period-is-over"),
        pytest.param(5.0, None, 105.0, id="no-grace-period"),
    ],
)
def test_stop(seconds: float, grace: int | None, gone_at: float) -> None:
    one = view(metadata={"deletionGracePeriodSeconds": grace})
    assert decide_stop(one, Life(termination_seconds=seconds), seen=100.0) == gone_at


def sleeping(seconds: int) -> dict[str, object]:
    return {"lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}}


@pytest.mark.parametrize(
    ("containers", "inits", "phase", "gone_at"),
    [
        pytest.param([sleeping(9)], [], "Running", 111.0, id="sleeps-then-stops"),
        pytest.param([sleeping(9), sleeping(12)], [], "Running", 114.0, id="all-sleep-at-the-same-time"),
        pytest.param([{}], [sleeping(4)], "Running", 106.0, id="sidecars-sleep-too"),
        pytest.param([sleeping(29)], [], "Running", 130.0, id="killed-when-the-grace-period-is-over"),
        pytest.param([sleeping(9)], [], "Pending", 102.0, id="what-does-not-run-has-no-hook"),
        pytest.param([{"lifecycle": {"preStop": {"exec": {}}}}], [], "Running", 102.0, id="commands-take-no-time"),
        pytest.param([{"lifecycle": {"postStart": {}}}], [], "Running", 102.0, id="no-hook"),
    ],
)
def test_stop_after_hooks(
    containers: list[dict[str, object]], inits: list[dict[str, object]], phase: str, gone_at: float
) -> None:
    one = view(
        metadata={"deletionGracePeriodSeconds": 30},
        spec={"containers": containers, "initContainers": inits},
        status={"phase": phase},
    )
    assert decide_stop(one, Life(termination_seconds=2.0), seen=100.0) == gone_at


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        pytest.param({}, 1.0, id="nothing-said"),
        pytest.param({"doorman.dev/pod-termination": "4s"}, 4.0, id="by-the-node"),
        pytest.param({"doorman.dev/pod-termination": "soon"}, 1.0, id="unreadable"),
    ],
)
def test_lives_on_a_node(said: dict[str, str], seconds: float) -> None:
    assert lives_on(said, PodLives(termination_seconds=1.0)).termination_seconds == seconds


def test_failed_and_stopped_pods_keep_their_restarts() -> None:
    containers = [{"name": "c", "restartCount": 4}]
    status = {"phase": "Running", "startTime": "1970-01-01T00:00:00Z", "containerStatuses": containers}
    for body in (failed_body(view(status=status), "R", "m", 9.0), stopped_body(view(status=status), 9.0)):
        container = body["status"]["containerStatuses"][0]
        assert body["status"]["phase"] == "Failed"
        assert (container["restartCount"], container["state"]["terminated"]["exitCode"]) == (4, 143)


@pytest.mark.parametrize(
    ("runs_for", "waits"),
    [pytest.param(600.0, True, id="ten-minutes"), pytest.param(601.0, False, id="longer-than-the-back-off-lasts")],
)
def test_containers_that_ran_long_start_again_at_once(runs_for: float, waits: bool) -> None:
    began = {"running": {"startedAt": "1970-01-01T00:00:00Z"}}
    status = {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 5, "state": began}]}
    following = decide_next(view(status=status), Life(runs_for_seconds=runs_for), 2e3, since=None, node_is_ready=True)
    assert following.backs_off is waits


GATE = {"readinessGates": [{"conditionType": "a.b/c"}]}
OPEN = {"type": "a.b/c", "status": "True"}


@pytest.mark.parametrize(
    ("ready", "gate", "becomes"),
    [
        pytest.param("False", [], "False", id="4-closed"),
        pytest.param("False", [OPEN], "True", id="4-opens"),
        pytest.param("True", [], "False", id="4-closes-again"),
        pytest.param("True", [OPEN], None, id="4-open-still"),
    ],
)
def test_pod_is_ready_only_while_its_gates_are_open(ready: str, gate: list[Any], becomes: str | None) -> None:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}, *gate]}
    body = decide_next(view(spec=GATE, status=status), Life(), 50.0, since=None, node_is_ready=True).body
    assert (body["status"]["conditions"][0]["status"] if body is not None else None) == becomes


def test_pod_behind_a_closed_gate_is_told_of_once() -> None:
    first = decide_next(view(spec=GATE, status={"phase": "Running"}), Life(), 50.0, since=None, node_is_ready=True).body
    assert first is not None
    told = view(spec=GATE, status={"phase": "Running", "conditions": first["status"]["conditions"]})
    assert decide_next(told, Life(), 50.0, since=None, node_is_ready=True).body is None


WELL = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
DEBUGGER = {"name": "debugger", "image": "busybox"}


def test_ephemeral_container_runs_when_it_is_added() -> None:
    added = view(spec={"ephemeralContainers": [DEBUGGER]}, status=WELL)
    following = decide_next(added, Life(), 50.0, since=None, node_is_ready=True)
    assert following.body is not None
    (status,) = following.body["status"]["ephemeralContainerStatuses"]
    assert (status["name"], status["state"]) == ("debugger", {"running": {"startedAt": "1970-01-01T00:00:50Z"}})
    assert not following.begins


def test_second_ephemeral_container_leaves_the_first_as_it_is() -> None:
    known = {"name": "debugger", "state": {"running": {"startedAt": "1970-01-01T00:00:10Z"}}}
    other = {"name": "other", "image": "busybox"}
    status = {**WELL, "ephemeralContainerStatuses": [known]}
    settled = view(spec={"ephemeralContainers": [DEBUGGER]}, status=status)
    assert decide_next(settled, Life(), 50.0, since=None, node_is_ready=True).body is None
    added = view(spec={"ephemeralContainers": [DEBUGGER, other]}, status=status)
    body = decide_next(added, Life(), 50.0, since=None, node_is_ready=True).body
    assert body is not None
    started = [one["state"]["running"]["startedAt"] for one in body["status"]["ephemeralContainerStatuses"]]
    assert started == ["1970-01-01T00:00:10Z", "1970-01-01T00:00:50Z"]


def test_change_of_the_spec_is_acknowledged_once() -> None:
    changed = view(metadata={"generation": 3}, status={**WELL, "observedGeneration": 2})
    following = decide_next(changed, Life(), 50.0, since=None, node_is_ready=True)
    assert following.body is not None
    assert following.body["status"] == {"observedGeneration": 3}
    assert not following.begins
    known = view(metadata={"generation": 3}, status={**WELL, "observedGeneration": 3})
    assert decide_next(known, Life(), 50.0, since=None, node_is_ready=True).body is None


@pytest.mark.parametrize("ready_after", [0.0, 5.0])
def test_container_with_another_image_starts_again_and_the_others_go_on(ready_after: float) -> None:
    began = {"running": {"startedAt": "1970-01-01T00:00:10Z"}}
    statuses = [{"name": name, "image": "old", "ready": True, "restartCount": 1, "state": began} for name in ("a", "b")]
    changed = view(
        metadata={"generation": 2},
        spec={"containers": [{"name": "a", "image": "old"}, {"name": "b", "image": "new"}]},
        status={**WELL, "observedGeneration": 1, "containerStatuses": statuses},
    )
    following = decide_next(changed, Life(ready_after_seconds=ready_after), 50.0, since=10.0, node_is_ready=True)
    assert following.body is not None
    first, second = following.body["status"]["containerStatuses"]
    assert (first["restartCount"], first["state"]) == (1, began)
    assert (second["restartCount"], second["image"], second["ready"]) == (2, "new", ready_after == 0.0)
    assert second["state"] == {"running": {"startedAt": "1970-01-01T00:00:50Z"}}
    assert second["lastState"]["terminated"]["exitCode"] == 143
    assert following.replaced == ("b",)


def made(**more: Any) -> Pod:
    """As the server makes them."""
    return view(metadata={"generation": 1, "uid": "u"}, **more)


RUNNING = {
    "phase": "Running",
    "startTime": "2026-01-01T00:00:00Z",
    "conditions": [{"type": "Ready", "status": "False"}],
    "containerStatuses": [
        {
            "name": "c", "restartCount": 3, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}},
        }
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(decide_start(made(), Life(), 100.0).body, id="runs"),
        pytest.param(decide_start(made(), Life(ready_after_seconds=5.0), 100.0).body, id="runs-not-ready"),
        pytest.param(decide_start(made(), Life(startup_seconds=5.0), 100.0).body, id="starts"),
        pytest.param(
            decide_start(made(spec={"initContainers": [{"name": "i", "image": "x"}]}), Life(), 100.0).body, id="init"
        ),
        pytest.param(
            decide_next(made(status=RUNNING), Life(), 2e9, since=None, node_is_ready=True).body, id="ready-at-last"
        ),
        pytest.param(
            decide_next(
                made(status=RUNNING), Life(runs_for_seconds=1.0, exit_codes=(1,)), 2e9, since=None, node_is_ready=True
            ).body,
            id="backs-off",
        ),
        pytest.param(failed_body(made(status=RUNNING), "R", "m", 100.0), id="failed"),
        pytest.param(refused_body(made(), "R", "m", 100.0), id="refused"),
        pytest.param(stopped_body(made(status=RUNNING), 100.0), id="stopped"),
        pytest.param(disrupted_body(made(status=RUNNING), "R", "m", 100.0), id="disrupted"),
        pytest.param(eviction_body(made(status=RUNNING), "m", 100.0), id="under-pressure"),
        pytest.param(preempted_body(made(status=RUNNING), 100.0), id="preempted"),
        pytest.param(terminated_body(made(status=RUNNING), 100.0), id="shut-down"),
    ],
)
def test_what_is_reported_goes_the_short_way(body: dict[str, Any] | None) -> None:
    """The server takes it as it is, without the type table: nothing in it is empty that would be left out."""
    assert body is not None
    assert status_patch_of(body) is not None
    doc = {"kind": "Pod", "apiVersion": "v1", "status": body["status"]}
    cleaned, unknown = Schema(type_table()).clean(doc, "core.v1.Pod")
    assert (cleaned, unknown) == (doc, [])
