"""The life of a pod on a simulated node: when it starts, is ready, exits, starts again, and how long it takes to stop.

Rules
-----
1. A pod that was taken is Pending until its start-up time is over, then Running; it is Ready when its readiness time
   is over too. By default both are at once.
2. A pod with a running time exits when it is over, run after run with the next exit code. A Job's pod that says
   nothing about it runs for a moment and succeeds.
3. After an exit `Never` ends the pod, Succeeded with code 0 and else Failed; `OnFailure` ends it only with code 0;
   otherwise it starts again, the first time at once, then after 10 s, 20 s, 40 s, at most 300 s.
4. A pod that is Running but not Ready, because somebody else said so, is Ready again when its node is.
5. A pod that outlives its `activeDeadlineSeconds` fails.
6. A pod that is deleted goes when its termination time or its grace period is over, whichever is sooner.
7. An ephemeral container that is added to a running pod runs from then on.

Each function looks at the pod as it is and gives the next status, or the instant at which to look again.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from doorman.api.meta import controller_of
from doorman.api.pods import Container, ContainerStatus, Pod
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.nodes.marks import EXIT_CODES, READY_AFTER, RUNS_FOR, STARTUP, TERMINATION, seconds_or
from doorman.nodes.profile import node_ip, pod_ip

JOB_RUN_SECONDS: Final = 1.0
RESTART_DELAY_SECONDS: Final = 10.0
RESTART_DELAY_SECONDS_MAX: Final = 300.0
EXIT_CODE_OF_TERM: Final = 143
"""What a container that is asked to stop exits with: 128 and the number of SIGTERM."""

Body = dict[str, Any]  # a patch of pods/status, as JSON


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """What the annotations say."""

    startup_seconds: float = 0.0
    ready_after_seconds: float = 0.0
    runs_for_seconds: float | None = None
    exit_codes: tuple[int, ...] = (0,)
    termination_seconds: float = 0.0


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """The status to post now, if any, whether a stretch of the pod's life begins with it, and when to look again."""

    body: Body | None = None
    begins: bool = True
    looks_again: Instant | None = None


ORDINARY: Final = Life()


def life_of(pod: Pod) -> Life:
    annotations = pod.metadata.annotations
    owner = controller_of(pod.metadata)
    of_job = owner is not None and owner.kind == "Job"
    if not annotations and not of_job:
        return ORDINARY
    runs_for = seconds_or(annotations, RUNS_FOR, JOB_RUN_SECONDS if of_job else -1.0)
    return Life(
        startup_seconds=seconds_or(annotations, STARTUP, 0.0),
        ready_after_seconds=seconds_or(annotations, READY_AFTER, 0.0),
        runs_for_seconds=runs_for if runs_for >= 0 else None,
        exit_codes=_exit_codes(annotations),
        termination_seconds=seconds_or(annotations, TERMINATION, 0.0),
    )


def decide_start(pod: Pod, life: Life, now: Instant) -> Next:
    """Rule 1, for a pod that was just taken."""
    if life.startup_seconds > 0:
        return Next(body=_starting_body(pod, now), looks_again=now + life.startup_seconds)
    return _run(pod, life, now, now)


def decide_next(pod: Pod, life: Life, now: Instant, *, since: Instant | None, node_is_ready: bool) -> Next:
    """Rules 1 to 5, for a pod that was taken before; `since` is when its present stretch began, if known."""
    started = _instant(pod.status.start_time, now)
    deadline = None
    if pod.spec.active_deadline_seconds is not None:
        deadline = started + pod.spec.active_deadline_seconds
        if now >= deadline:
            return Next(body=failed_body(pod, "DeadlineExceeded", _DEADLINE_TEXT, now))
    found = _decide_by_phase(pod, life, now, since=since, started=started, node_is_ready=node_is_ready)
    if found.body is None and pod.spec.ephemeral_containers and pod.status.phase == "Running":
        found = _run_ephemeral(pod, found, now)
    if deadline is None or found.body is not None:
        return found
    return Next(looks_again=deadline if found.looks_again is None else min(deadline, found.looks_again))


def decide_stop(pod: Pod, life: Life, *, seen: Instant) -> Instant:
    """Rule 6: when a pod whose deletion the node saw at `seen` is gone."""
    grace = pod.metadata.deletion_grace_period_seconds
    return seen + min(life.termination_seconds, grace if grace is not None else life.termination_seconds)


def failed_body(pod: Pod, reason: str, message: str, now: Instant) -> Body:
    """The pod failed as a whole; containers that ran were stopped."""
    status: Body = {"phase": "Failed", "reason": reason, "message": message}
    if pod.status.start_time:
        status |= _ended_status(pod, EXIT_CODE_OF_TERM, "Error", now)
    return _patch(pod, status)


def disrupted_body(pod: Pod, reason: str, message: str, now: Instant, *, condition_message: str | None = None) -> Body:
    """As `failed_body`, of a pod that its kubelet ended for others' sake. Who succeeded before has succeeded."""
    body = failed_body(pod, reason, message, now)
    if pod.status.phase == "Succeeded":
        body["status"]["phase"] = "Succeeded"
    condition = {
        **_condition("DisruptionTarget", "True", now, "TerminationByKubelet"),
        "message": message if condition_message is None else condition_message,
        "observedGeneration": pod.metadata.generation,
    }
    body["status"]["conditions"] = [*body["status"].get("conditions", ()), condition]
    return body


def stopped_body(pod: Pod, now: Instant) -> Body:
    """The last status of a pod that was deleted, for those that hold it by a finalizer."""
    return _patch(pod, {"phase": "Failed", **_ended_status(pod, EXIT_CODE_OF_TERM, "Error", now)})


def _decide_by_phase(
    pod: Pod, life: Life, now: Instant, *, since: Instant | None, started: Instant, node_is_ready: bool
) -> Next:
    if pod.status.phase != "Running":
        runs_at = (since if since is not None else started) + life.startup_seconds
        return _run(pod, life, now, runs_at) if now >= runs_at else Next(looks_again=runs_at)
    first = pod.status.container_statuses[0] if pod.status.container_statuses else ContainerStatus()
    if first.state.waiting is not None:
        ended = first.last_state.terminated
        finished = _instant(ended.finished_at, started) if ended is not None else started
        again_at = (since if since is not None else finished) + _restart_delay(first.restart_count + 1)
        return _restart(pod, life, first, now) if now >= again_at else Next(looks_again=again_at)
    run_began = since if since is not None else _run_began(first, started)
    if life.runs_for_seconds is not None:
        exits_at = run_began + life.runs_for_seconds
        if now >= exits_at:
            return _exit(pod, life, first, now)
        return _ready_or_wait(pod, life, now, run_began, node_is_ready, also=exits_at)
    return _ready_or_wait(pod, life, now, run_began, node_is_ready, also=None)


def _run_ephemeral(pod: Pod, otherwise: Next, now: Instant) -> Next:
    """Rule 7."""
    known = {status.name: status for status in pod.status.ephemeral_container_statuses}
    if all(container.name in known for container in pod.spec.ephemeral_containers):
        return otherwise
    statuses = [
        _ephemeral_status(pod, container, known.get(container.name), now) for container in pod.spec.ephemeral_containers
    ]
    body = _patch(pod, {"ephemeralContainerStatuses": statuses})
    return Next(body=body, begins=False, looks_again=otherwise.looks_again)


def _ephemeral_status(pod: Pod, container: Container, before: ContainerStatus | None, now: Instant) -> Body:
    running = before.state.running if before is not None else None
    return {
        "name": container.name, "image": container.image, "imageID": container.image,
        "containerID": f"doorman://{pod.metadata.uid}/{container.name}", "ready": False, "restartCount": 0,
        "state": {"running": {"startedAt": running.started_at if running is not None else to_time(now)}},
        "lastState": {},
    }  # fmt: skip


def _ready_or_wait(
    pod: Pod, life: Life, now: Instant, run_began: Instant, node_is_ready: bool, also: Instant | None
) -> Next:
    """Rules 1 and 4."""
    ready = pod.status.condition("Ready")
    if ready is not None and ready.status == "True":
        return Next(looks_again=also)
    ready_at = run_began + life.ready_after_seconds
    if now < ready_at:
        return Next(looks_again=ready_at if also is None else min(also, ready_at))
    if not node_is_ready:
        return Next(looks_again=also)
    statuses = [_running_status(pod, at, ready=True, now=now) for at in range(len(pod.spec.containers))]
    conditions = [_condition(kind, "True", now) for kind in ("Ready", "ContainersReady")]
    body = _patch(pod, {"conditions": conditions, "containerStatuses": statuses})
    return Next(body=body, begins=False, looks_again=also)


def _run(pod: Pod, life: Life, now: Instant, run_began: Instant) -> Next:
    ready = now >= run_began + life.ready_after_seconds
    again = [] if ready else [run_began + life.ready_after_seconds]
    if life.runs_for_seconds is not None:
        again.append(run_began + life.runs_for_seconds)
    return Next(body=_running_body(pod, now, ready=ready), looks_again=min(again, default=None))


def _exit(pod: Pod, life: Life, first: ContainerStatus, now: Instant) -> Next:
    """Rules 2 and 3."""
    code = life.exit_codes[min(first.restart_count, len(life.exit_codes) - 1)]
    policy = pod.spec.restart_policy
    if policy == "Never" or (policy == "OnFailure" and code == 0):
        phase, reason = ("Succeeded", "Completed") if code == 0 else ("Failed", "Error")
        ended = _ended_status(pod, code, reason, now)
        if phase == "Succeeded":
            for condition in ended["conditions"]:
                condition["reason"] = "PodCompleted"
        return Next(body=_patch(pod, {"phase": phase, **ended}))
    delay = _restart_delay(first.restart_count + 1)
    if delay <= 0:
        return _restart(pod, life, first, now, code=code)
    statuses = [_waiting_status(pod, at, code, delay, now) for at in range(len(pod.spec.containers))]
    conditions = [_condition(kind, "False", now, "ContainersNotReady") for kind in ("Ready", "ContainersReady")]
    body = _patch(pod, {"conditions": conditions, "containerStatuses": statuses})
    return Next(body=body, looks_again=now + delay)


def _restart(pod: Pod, life: Life, first: ContainerStatus, now: Instant, code: int | None = None) -> Next:
    ready = life.ready_after_seconds <= 0
    statuses = []
    for at in range(len(pod.spec.containers)):
        status = _running_status(pod, at, ready=ready, now=now, began=now)
        status["restartCount"] = first.restart_count + 1
        if code is not None:
            status["lastState"] = {"terminated": _terminated(pod, at, code, now)}
        statuses.append(status)
    value = "True" if ready else "False"
    conditions = [
        _condition(kind, value, now, "" if ready else "ContainersNotReady") for kind in ("Ready", "ContainersReady")
    ]
    again = [] if ready else [now + life.ready_after_seconds]
    if life.runs_for_seconds is not None:
        again.append(now + life.runs_for_seconds)
    body = _patch(pod, {"conditions": conditions, "containerStatuses": statuses})
    return Next(body=body, looks_again=min(again, default=None))


def _patch(pod: Pod, status: Body) -> Body:
    return {
        "metadata": {"uid": pod.metadata.uid},
        "status": {"observedGeneration": pod.metadata.generation, **status},
    }


def _starting_body(pod: Pod, now: Instant) -> Body:
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    statuses = [
        {**_container(pod, at), "imageID": "", "ready": False, "started": False, "restartCount": 0, "state": waiting}
        for at in range(len(pod.spec.containers))
    ]
    host = node_ip(pod.spec.node_name)
    conditions = [
        _condition("PodReadyToStartContainers", "False", now),
        _condition("Initialized", "True", now),
        _condition("Ready", "False", now, "ContainersNotReady"),
        _condition("ContainersReady", "False", now, "ContainersNotReady"),
    ]
    return _patch(
        pod,
        {
            "phase": "Pending", "startTime": to_time(now), "hostIP": host, "hostIPs": [{"ip": host}],
            "conditions": conditions, "containerStatuses": statuses,
        },
    )  # fmt: skip


def _running_body(pod: Pod, now: Instant, *, ready: bool) -> Body:
    host = node_ip(pod.spec.node_name)
    address = host if pod.spec.host_network else pod_ip(pod.metadata.uid)
    value, reason = ("True", "") if ready else ("False", "ContainersNotReady")
    status: Body = {
        "phase": "Running",
        "startTime": pod.status.start_time or to_time(now),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [
            _condition("PodReadyToStartContainers", "True", now),
            _condition("Initialized", "True", now),
            _condition("Ready", value, now, reason),
            _condition("ContainersReady", value, now, reason),
        ],
        "containerStatuses": [
            _running_status(pod, at, ready=ready, now=now, began=now) for at in range(len(pod.spec.containers))
        ],
    }
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [_init_status(pod, at, now) for at in range(len(pod.spec.init_containers))]
    return _patch(pod, status)


def _ended_status(pod: Pod, code: int, reason: str, now: Instant) -> Body:
    statuses = []
    for at in range(len(pod.spec.containers)):
        before = _status_at(pod, at)
        state = {"terminated": {**_terminated(pod, at, code, now), "reason": reason}}
        statuses.append(
            {
                **_container(pod, at), "ready": False, "started": False, "restartCount": before.restart_count,
                "state": state, "lastState": {},
            }
        )  # fmt: skip
    conditions = [_condition(kind, "False", now, "PodFailed") for kind in ("Ready", "ContainersReady")]
    return {"containerStatuses": statuses, "conditions": conditions}


def _running_status(pod: Pod, at: int, *, ready: bool, now: Instant, began: Instant | None = None) -> Body:
    before = _status_at(pod, at)
    running = before.state.running
    since = to_time(began) if began is not None else (running.started_at if running is not None else to_time(now))
    return {
        **_container(pod, at),
        "ready": ready,
        "started": True,
        "restartCount": before.restart_count,
        "state": {"running": {"startedAt": since}},
        "lastState": _last_state(before),
    }


def _waiting_status(pod: Pod, at: int, code: int, delay: float, now: Instant) -> Body:
    name = pod.spec.containers[at].name
    text = f"back-off {delay:g}s restarting failed container={name} pod={pod.metadata.name}"
    return {
        **_container(pod, at),
        "ready": False,
        "started": False,
        "restartCount": _status_at(pod, at).restart_count,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": text}},
        "lastState": {"terminated": _terminated(pod, at, code, now)},
    }


def _init_status(pod: Pod, at: int, now: Instant) -> Body:
    container = pod.spec.init_containers[at]
    time = to_time(now)
    base = {
        "name": container.name, "image": container.image, "imageID": container.image, "restartCount": 0,
        "containerID": f"doorman://{pod.metadata.uid}/{container.name}", "lastState": {}, "ready": True,
    }  # fmt: skip
    if container.restart_policy == "Always":
        return {**base, "started": True, "state": {"running": {"startedAt": time}}}
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": time, "finishedAt": time}
    return {**base, "started": False, "state": {"terminated": ended}}


def _terminated(pod: Pod, at: int, code: int, now: Instant) -> Body:
    running = _status_at(pod, at).state.running
    time = to_time(now)
    return {
        "containerID": f"doorman://{pod.metadata.uid}/{pod.spec.containers[at].name}",
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": running.started_at if running is not None else time,
        "finishedAt": time,
    }


def _container(pod: Pod, at: int) -> Body:
    container = pod.spec.containers[at]
    return {
        "name": container.name,
        "image": container.image,
        "imageID": container.image,
        "containerID": f"doorman://{pod.metadata.uid}/{container.name}",
    }


def _status_at(pod: Pod, at: int) -> ContainerStatus:
    name = pod.spec.containers[at].name
    return next((status for status in pod.status.container_statuses if status.name == name), _NO_STATUS)


def _last_state(status: ContainerStatus) -> Body:
    ended = status.last_state.terminated
    if ended is None:
        return {}
    return {"terminated": {"exitCode": ended.exit_code, "reason": ended.reason, "finishedAt": ended.finished_at}}


def _condition(kind: str, status: str, now: Instant, reason: str = "") -> Body:
    condition = {"type": kind, "status": status, "lastTransitionTime": to_time(now)}
    if reason:
        condition["reason"] = reason
    return condition


def _restart_delay(restart: int) -> float:
    """Before the first start again nothing, then doubling."""
    if restart <= 1:
        return 0.0
    return min(RESTART_DELAY_SECONDS * 2.0 ** (restart - 2), RESTART_DELAY_SECONDS_MAX)


def _exit_codes(annotations: Mapping[str, str]) -> tuple[int, ...]:
    try:
        codes = tuple(int(code) for code in annotations.get(EXIT_CODES, "0").split(","))
    except ValueError:
        return (0,)
    return codes if all(0 <= code <= 255 for code in codes) else (0,)


def _run_began(first: ContainerStatus, otherwise: Instant) -> Instant:
    running = first.state.running
    return _instant(running.started_at, otherwise) if running is not None else otherwise


def _instant(text: str, otherwise: Instant) -> Instant:
    return from_time(text) if text else otherwise


_NO_STATUS: Final = ContainerStatus()
_DEADLINE_TEXT: Final = "Pod was active on the node longer than the specified deadline"
