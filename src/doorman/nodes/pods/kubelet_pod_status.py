"""What a kubelet says of a pod: its status at each turn of its life, as patches of pods/status.

Words and shapes are a kubelet's; no container runs. A condition keeps the time of its last transition for as long as
its status stays, and loses the reason of a status that is over.
"""

from collections.abc import Sequence
from typing import Final

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pods import Container, ContainerStatus, Pod
from doorman.api.well_known import DISRUPTION_TARGET
from doorman.base.clock import Instant
from doorman.base.durations import format_duration
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.nodes.profile import node_ip, pod_ip

EXIT_CODE_OF_TERM: Final = 143
"""What a container that is asked to stop exits with: 128 and the number of SIGTERM."""
EXIT_CODE_OF_KILL: Final = 137
BACK_OFF: Final = "CrashLoopBackOff"


def patch_of(pod: Pod, status: Document) -> Document:
    return {
        "metadata": {"uid": pod.metadata.uid},
        "status": {"observedGeneration": pod.metadata.generation, **status},
    }


def refused_body(pod: Pod, reason: str, message: str, now: Instant) -> Document:
    """The pod was not taken. A kubelet notes the time as that of its start, though nothing was started."""
    status = {"phase": "Failed", "reason": reason, "message": message, "startTime": to_time(now)}
    return patch_of(pod, status)


def failed_body(pod: Pod, reason: str, message: str, now: Instant, *, code: int = EXIT_CODE_OF_TERM) -> Document:
    """The pod failed as a whole; its containers were stopped."""
    return patch_of(
        pod, {"phase": "Failed", "reason": reason, "message": message, **ended_status(pod, code, "Error", now)}
    )


def disrupted_body(
    pod: Pod,
    reason: str,
    message: str,
    now: Instant,
    *,
    condition_message: str | None = None,
    code: int = EXIT_CODE_OF_TERM,
) -> Document:
    """As `failed_body`, of a pod that its kubelet ended for others' sake. Who succeeded before has succeeded."""
    body = failed_body(pod, reason, message, now, code=code)
    if pod.status.phase == "Succeeded":
        body["status"]["phase"] = "Succeeded"
    condition = {
        "type": DISRUPTION_TARGET, "status": "True", "reason": "TerminationByKubelet",
        "message": message if condition_message is None else condition_message,
        "lastTransitionTime": to_time(now), "observedGeneration": pod.metadata.generation,
    }  # fmt: skip
    body["status"]["conditions"] = [*body["status"]["conditions"], condition]
    return body


def stopped_body(pod: Pod, now: Instant) -> Document:
    """The last status of a pod that was deleted, for those that hold it by a finalizer."""
    return patch_of(pod, {"phase": "Failed", **ended_status(pod, EXIT_CODE_OF_TERM, "Error", now)})


def completed_body(pod: Pod, code: int, now: Instant) -> Document:
    """All containers exited with `code`, and none starts again."""
    if code:
        return patch_of(pod, {"phase": "Failed", **ended_status(pod, code, "Error", now)})
    ended = ended_status(pod, code, "Completed", now, why="PodCompleted")
    ended["conditions"].append(condition_of(pod, "Initialized", "True", now, "PodCompleted"))
    return patch_of(pod, {"phase": "Succeeded", **ended})


def running_body(pod: Pod, now: Instant, *, ready: bool) -> Document:
    status: Document = {
        "phase": "Running",
        "startTime": pod.status.start_time or to_time(now),
        **host_address(pod),
        **own_address(pod),
        "conditions": [
            condition_of(pod, "PodReadyToStartContainers", "True", now),
            condition_of(pod, "Initialized", "True", now),
            *ready_conditions(pod, now, containers_ready=ready),
            *placed(pod, now),
        ],
        "containerStatuses": [running_status(pod, at, ready=ready, now=now) for at in range(len(pod.spec.containers))],
    }
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [init_status(pod, at, now) for at in range(len(pod.spec.init_containers))]
    return patch_of(pod, status)


def readiness_body(pod: Pod, now: Instant) -> Document:
    """All containers run and are ready; whether the pod is depends on its readiness gates."""
    statuses = [running_status(pod, at, ready=True, now=now) for at in range(len(pod.spec.containers))]
    conditions = ready_conditions(pod, now, containers_ready=True)
    return patch_of(pod, {"conditions": conditions, "containerStatuses": statuses})


def waiting_body(pod: Pod, code: int, delay_seconds: float, now: Instant) -> Document:
    """The containers exited, and start again when the back-off is over."""
    back_off = f"back-off {format_duration(delay_seconds)}"
    statuses = []
    for at, container in enumerate(pod.spec.containers):
        before = status_at(pod, at)
        text = f"{back_off} restarting failed container={container.name} pod={full_name(pod.metadata)}"
        waiting = {"reason": BACK_OFF, "message": text}
        statuses.append(
            {
                **_container(pod, at), "ready": False, "started": False, "restartCount": before.restart_count,
                "state": {"waiting": waiting}, "lastState": {"terminated": _terminated(pod, at, code, now)},
            }
        )  # fmt: skip
    conditions = ready_conditions(pod, now, containers_ready=False)
    return patch_of(pod, {"conditions": conditions, "containerStatuses": statuses})


def full_name(meta: ObjectMeta) -> str:
    """As kubelets call a pod.

    >>> full_name(ObjectMeta(name="web", namespace="default", uid="1-2"))
    'web_default(1-2)'
    """
    return f"{meta.name}_{meta.namespace}({meta.uid})"


def restarted_body(pod: Pod, restarts: int, now: Instant, *, ready: bool, code: int | None) -> Document:
    """The containers run once more; `code` is what they have just exited with, if that was not told yet."""
    statuses = []
    for at in range(len(pod.spec.containers)):
        status = running_status(pod, at, ready=ready, now=now, began=now)
        status["restartCount"] = restarts
        if code is not None:
            status["lastState"] = {"terminated": _terminated(pod, at, code, now)}
        statuses.append(status)
    conditions = ready_conditions(pod, now, containers_ready=ready)
    return patch_of(pod, {"conditions": conditions, "containerStatuses": statuses})


def changed_containers(pod: Pod) -> tuple[int, ...]:
    """Those that run with an image that is no longer theirs."""
    found = []
    for at, container in enumerate(pod.spec.containers):
        status = status_at(pod, at)
        if status.state.running is not None and status.image and status.image != container.image:
            found.append(at)
    return tuple(found)


def replaced_body(pod: Pod, changed: Sequence[int], now: Instant, *, ready: bool) -> Document:
    """The containers `changed` were stopped and run again as they are now; the others go on."""
    statuses = []
    for at in range(len(pod.spec.containers)):
        if at not in changed:
            statuses.append(running_status(pod, at, ready=status_at(pod, at).ready, now=now))
            continue
        status = running_status(pod, at, ready=ready, now=now, began=now)
        status["restartCount"] += 1
        status["lastState"] = {"terminated": _terminated(pod, at, EXIT_CODE_OF_TERM, now)}
        statuses.append(status)
    conditions = ready_conditions(pod, now, containers_ready=all(status["ready"] for status in statuses))
    return patch_of(pod, {"conditions": conditions, "containerStatuses": statuses})


def ended_status(pod: Pod, code: int, reason: str, now: Instant, *, why: str = "PodFailed") -> Document:
    """Every container has ended; nothing is ready."""
    statuses = []
    for at in range(len(pod.spec.containers)):
        before = status_at(pod, at)
        state = {"terminated": {**_terminated(pod, at, code, now), "reason": reason}}
        statuses.append(
            {
                **_container(pod, at), "ready": False, "started": False, "restartCount": before.restart_count,
                "state": state, "lastState": {},
            }
        )  # fmt: skip
    conditions = [condition_of(pod, kind, "False", now, why) for kind in ("Ready", "ContainersReady")]
    return {"containerStatuses": statuses, "conditions": conditions}


def ephemeral_status(pod: Pod, container: Container, before: ContainerStatus | None, now: Instant) -> Document:
    running = before.state.running if before is not None else None
    return {
        "name": container.name, "image": container.image, "imageID": container.image,
        "containerID": f"doorman://{pod.metadata.uid}/{container.name}", "ready": False, "restartCount": 0,
        "state": {"running": {"startedAt": running.started_at if running is not None else to_time(now)}},
        "lastState": {},
    }  # fmt: skip


def ready_conditions(pod: Pod, now: Instant, *, containers_ready: bool) -> list[Document]:
    """Ready and ContainersReady. The pod is ready when its containers are and every readiness gate is open."""
    if not containers_ready:
        text = f"containers with unready status: [{' '.join(container.name for container in pod.spec.containers)}]"
        return [
            condition_of(pod, kind, "False", now, "ContainersNotReady", text) for kind in ("Ready", "ContainersReady")
        ]
    closed = closed_gates(pod) if pod.spec.readiness_gates else ""
    ready = (
        condition_of(pod, "Ready", "False", now, "ReadinessGatesNotReady", closed)
        if closed
        else condition_of(pod, "Ready", "True", now)
    )
    return [ready, condition_of(pod, "ContainersReady", "True", now)]


def closed_gates(pod: Pod) -> str:
    """What keeps a pod whose containers are ready from being ready; empty if nothing does."""
    texts = []
    for gate in pod.spec.readiness_gates:
        found = pod.status.condition(gate.condition_type)
        if found is None:
            texts.append(f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.')
        elif found.status != "True":
            texts.append(f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {found.status}')
    return ", ".join(texts)


def condition_of(pod: Pod, kind: str, status: str, now: Instant, reason: str = "", message: str = "") -> Document:
    """A patch of one condition: None takes away what its last status was given for."""
    before = pod.status.condition(kind)
    if before is None:
        condition: Document = {"type": kind, "status": status, "lastTransitionTime": to_time(now)}
    else:
        is_same = before.status == status and before.last_transition_time
        time = before.last_transition_time if is_same else to_time(now)
        condition = {"type": kind, "status": status, "lastTransitionTime": time}
        if before.reason:
            condition["reason"] = None
        if before.message:
            condition["message"] = None
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition


def running_status(pod: Pod, at: int, *, ready: bool, now: Instant, began: Instant | None = None) -> Document:
    before = status_at(pod, at)
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


def status_at(pod: Pod, at: int) -> ContainerStatus:
    name = pod.spec.containers[at].name
    return next((status for status in pod.status.container_statuses if status.name == name), _NO_STATUS)


def placed(pod: Pod, now: Instant) -> list[Document]:
    """A pod that is on a node is scheduled, whoever put it there."""
    if pod.status.condition("PodScheduled") is not None:
        return []
    return [condition_of(pod, "PodScheduled", "True", now)]


def host_address(pod: Pod) -> Document:
    host = node_ip(pod.spec.node_name)
    return {"hostIP": host, "hostIPs": [{"ip": host}]}


def own_address(pod: Pod) -> Document:
    address = node_ip(pod.spec.node_name) if pod.spec.host_network else pod_ip(pod.metadata.uid)
    return {"podIP": address, "podIPs": [{"ip": address}]}


def init_status(pod: Pod, at: int, now: Instant) -> Document:
    container = pod.spec.init_containers[at]
    before = next((one for one in pod.status.init_container_statuses if one.name == container.name), _NO_STATUS)
    running, ended_before = before.state.running, before.state.terminated
    time = to_time(now)
    base = {
        "name": container.name, "image": container.image, "imageID": container.image, "restartCount": 0,
        "containerID": f"doorman://{pod.metadata.uid}/{container.name}", "lastState": {}, "ready": True,
    }  # fmt: skip
    if container.restart_policy == "Always":
        since = running.started_at if running is not None else time
        return {**base, "started": True, "state": {"running": {"startedAt": since}}}
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": time, "finishedAt": time}
    if ended_before is not None:
        ended |= {"startedAt": ended_before.started_at, "finishedAt": ended_before.finished_at}
    elif running is not None:
        ended["startedAt"] = running.started_at
    return {**base, "started": False, "state": {"terminated": ended}}


def _terminated(pod: Pod, at: int, code: int, now: Instant) -> Document:
    running = status_at(pod, at).state.running
    time = to_time(now)
    return {
        "containerID": f"doorman://{pod.metadata.uid}/{pod.spec.containers[at].name}",
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": running.started_at if running is not None else time,
        "finishedAt": time,
    }


def _container(pod: Pod, at: int) -> Document:
    container = pod.spec.containers[at]
    return {
        "name": container.name,
        "image": container.image,
        "imageID": container.image,
        "containerID": f"doorman://{pod.metadata.uid}/{container.name}",
    }


def _last_state(status: ContainerStatus) -> Document:
    ended = status.last_state.terminated
    if ended is None:
        return {}
    told = {
        "containerID": ended.container_id, "reason": ended.reason,
        "startedAt": ended.started_at, "finishedAt": ended.finished_at,
    }  # fmt: skip
    return {"terminated": {"exitCode": ended.exit_code, **{name: value for name, value in told.items() if value}}}


_NO_STATUS: Final = ContainerStatus()
