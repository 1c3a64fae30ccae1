"""What simulated containers wrote, and what a kubelet says where there is nothing."""

from typing import Any

import pytest

from doorman.api.views.meta import to_view
from doorman.api.views.nodes import Node
from doorman.base.instants import from_time
from doorman.nodes.pods.simulated_logs import is_cut_off, simulated_log
from doorman.semantics.pods.run_logs import RunLog, lines_of

BEGAN = "2026-01-01T00:00:00Z"
ENDED = "2026-01-01T00:00:05Z"
RUNNING = {"running": {"startedAt": BEGAN}}
TERMINATED = {"terminated": {"startedAt": BEGAN, "finishedAt": ENDED, "exitCode": 3, "containerID": "x://1"}}


def pod(
    state: Any, last: Any = None, *, restarts: int = 0, ready: bool = True, container: Any = None, **metadata: Any
) -> dict[str, Any]:
    status = {"name": "c", "state": state, "lastState": last or {}, "restartCount": restarts, "ready": ready}
    condition = {"type": "ContainersReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:02Z"}
    return {
        "metadata": {"name": "p", **metadata},
        "spec": {"containers": [{"name": "c", "image": "i", **(container or {})}]},
        "status": {"containerStatuses": [status], "conditions": [condition]},
    }


def written(document: dict[str, Any], *, previous: bool = False, seconds: float = 60.0) -> list[tuple[float, str]]:
    log = simulated_log(document, "c", previous=previous)
    assert isinstance(log, RunLog), log
    start = from_time(BEGAN)
    return [(line.at - start, line.text) for line in lines_of(log, since=start, until=start + seconds)]


@pytest.mark.parametrize(
    ("state", "last", "previous", "text"),
    [
        pytest.param(
            {"waiting": {"reason": "ContainerCreating"}}, {}, False,
            'container "c" in pod "p" is waiting to start: ContainerCreating', id="creating",
        ),
        pytest.param(
            {"waiting": {"reason": "ErrImagePull"}}, {}, False,
            'container "c" in pod "p" is waiting to start: image can\'t be pulled', id="image",
        ),
        pytest.param(
            {"waiting": {"reason": "ImagePullBackOff"}}, {}, False,
            'container "c" in pod "p" is waiting to start: trying and failing to pull image', id="image-back-off",
        ),
        pytest.param({}, {}, False, 'container "c" in pod "p" is waiting to start - no logs yet', id="no-state"),
        pytest.param(
            RUNNING, {}, True, 'previous terminated container "c" in pod "p" not found', id="no-run-before",
        ),
    ],
)  # fmt: skip
def test_no_log(state: Any, last: Any, previous: bool, text: str) -> None:
    assert simulated_log(pod(state, last), "c", previous=previous) == text


def test_container_without_status() -> None:
    assert simulated_log(pod(RUNNING), "d", previous=False) == 'container "d" in pod "p" is not available'


def test_rule_1_running_container_tells_its_start() -> None:
    assert written(pod(RUNNING)) == [(0.0, "container c started, image i")]


def test_rule_1_ended_container_tells_its_code() -> None:
    assert written(pod(TERMINATED, restarts=2)) == [
        (0.0, "container c started, image i, restart 2"),
        (5.0, "exited with code 3"),
    ]


def test_rule_1_deleted_container_tells_its_hook_and_its_signal() -> None:
    hook = {"lifecycle": {"preStop": {"sleep": {"seconds": 4}}}}
    document = pod(RUNNING, container=hook, deletionTimestamp="2026-01-01T00:00:40Z", deletionGracePeriodSeconds=30)
    assert written(document)[1:] == [(10.0, "preStop hook: sleep 4s"), (14.0, "received SIGTERM")]
    plain = pod(RUNNING, deletionTimestamp="2026-01-01T00:00:40Z", deletionGracePeriodSeconds=30)
    assert written(plain)[1:] == [(10.0, "received SIGTERM")]


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        pytest.param(None, [(0.0, "a"), (0.0, "b")], id="at-once"),
        pytest.param("2s", [(0.0, "a"), (2.0, "b"), (4.0, "a")], id="in-turn"),
        pytest.param("soon", [(0.0, "a"), (0.0, "b")], id="unreadable"),
    ],
)
def test_rule_2_text_of_the_annotation(interval: str | None, expected: list[tuple[float, str]]) -> None:
    annotations = {"doorman.dev/logs": "a\nb"} | ({"doorman.dev/log-interval": interval} if interval else {})
    assert written(pod(RUNNING, annotations=annotations), seconds=5.0) == expected


def test_rule_3_probes() -> None:
    probes = {
        "readinessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 1},
        "livenessProbe": {"grpc": {"port": 9}, "initialDelaySeconds": 1, "periodSeconds": 2},
    }
    found = written(pod(RUNNING, container=probes), seconds=3.0)[1:]
    assert found == [
        (0.0, "readiness probe tcp-socket :80: failure"),
        (1.0, "liveness probe grpc <pod>:9: success"),
        (1.0, "readiness probe tcp-socket :80: failure"),
        (2.0, "readiness probe tcp-socket :80: success"),
        (3.0, "liveness probe grpc <pod>:9: success"),
        (3.0, "readiness probe tcp-socket :80: success"),
    ]
    unready = written(pod(RUNNING, ready=False, container=probes), seconds=3.0)[1:]
    assert [text for _, text in unready if "readiness" in text] == ["readiness probe tcp-socket :80: failure"] * 4


@pytest.mark.parametrize(
    ("state", "previous", "began"),
    [
        pytest.param({"waiting": {"reason": "CrashLoopBackOff"}}, False, "restart 1", id="rule-4-last-that-ended"),
        pytest.param({"running": {"startedAt": ENDED}}, True, "image i", id="rule-4-the-one-before"),
    ],
)
def test_run_that_is_meant(state: Any, previous: bool, began: str) -> None:
    found = written(pod(state, TERMINATED, restarts=1), previous=previous)
    assert found[0][0] == 0.0
    assert found[0][1].endswith(began)
    assert found[-1] == (5.0, "exited with code 3")


@pytest.mark.parametrize(
    ("ready", "silent", "expected"),
    [
        pytest.param("True", None, False, id="rule-5-heard-of"),
        pytest.param("Unknown", None, True, id="rule-5-not-heard-of"),
        pytest.param("True", "true", True, id="rule-5-has-just-fallen-silent"),
        pytest.param("True", "false", False, id="rule-5-speaks"),
    ],
)
def test_node_that_is_cut_off(ready: str, silent: str | None, expected: bool) -> None:
    annotations = {} if silent is None else {"doorman.dev/silent": silent}
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    assert is_cut_off(to_view({"metadata": {"annotations": annotations}, "status": status}, Node)) is expected


def test_container_that_waits_for_input_says_that_none_comes() -> None:
    texts = [text for _, text in written(pod(TERMINATED, container={"stdin": True, "stdinOnce": True}))]
    unread = "no input: nobody can attach to a simulated container"
    assert texts == ["container c started, image i", unread, "exited with code 3"]
