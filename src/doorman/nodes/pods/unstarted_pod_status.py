"""What a kubelet says of a pod that it has taken and whose containers do not all run yet, as patches of pods/status."""

from collections.abc import Mapping

from doorman.api.views.pods import Container, Pod
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.nodes.pods.kubelet_pod_status import (
    condition_of,
    host_address,
    init_status,
    own_address,
    patch_of,
    placed,
    ready_conditions,
    running_body,
)


def starting_body(pod: Pod, now: Instant) -> Document:
    """Taken, and not running yet: its init containers are under way, or its containers are being made."""
    inits = [container.name for container in pod.spec.init_containers if container.restart_policy != "Always"]
    waiting = {"waiting": {"reason": "PodInitializing" if inits else "ContainerCreating"}}
    unready = {"imageID": "", "ready": False, "started": False, "restartCount": 0, "lastState": {}}
    statuses = [
        {"name": container.name, "image": container.image, **unready, "state": waiting}
        for container in pod.spec.containers
    ]
    text = f"containers with incomplete status: [{' '.join(inits)}]"
    status: Document = {
        "phase": "Pending",
        "startTime": to_time(now),
        **host_address(pod),
        "conditions": [
            condition_of(pod, "PodReadyToStartContainers", "True" if inits else "False", now),
            condition_of(pod, "Initialized", "False", now, "ContainersNotInitialized", text)
            if inits
            else condition_of(pod, "Initialized", "True", now),
            *ready_conditions(pod, now, containers_ready=False),
            *placed(pod, now),
        ],
        "containerStatuses": statuses,
    }
    if inits:
        status |= own_address(pod)
        status["initContainerStatuses"] = [
            _init_status_at_start(pod, container, now, first=container.name == inits[0])
            for container in pod.spec.init_containers
        ]
    return patch_of(pod, status)


def held_up_body(pod: Pod, failures: Mapping[str, tuple[str, str]], now: Instant) -> Document:
    """Reason and message of each container that waits, for its image or for what its variables are set from.

    Those before it have run, those beside it run.
    """
    names = [container.name for container in pod.spec.init_containers]
    held = next((at for at, name in enumerate(names) if name in failures), None)
    body = starting_body(pod, now) if held is not None else running_body(pod, now, ready=True)
    status = body["status"]
    status["phase"] = "Pending"
    status["startTime"] = pod.status.start_time or to_time(now)
    status |= own_address(pod)
    if held is not None:
        status["initContainerStatuses"] = [
            init_status(pod, at, now) if at < held else _init_status_at_start(pod, container, now, first=False)
            for at, container in enumerate(pod.spec.init_containers)
        ]
        waiting = names[held:]
        status["conditions"][1] = condition_of(
            pod,
            "Initialized",
            "False",
            now,
            "ContainersNotInitialized",
            f"containers with incomplete status: [{' '.join(waiting)}]",
        )
    else:
        text = f"containers with unready status: [{' '.join(failures)}]"
        status["conditions"][2:4] = [
            condition_of(pod, kind, "False", now, "ContainersNotReady", text) for kind in ("Ready", "ContainersReady")
        ]
    for said in (*status.get("initContainerStatuses", ()), *status["containerStatuses"]):
        if said["name"] in failures:
            reason, message = failures[said["name"]]
            said |= {"imageID": "", "ready": False, "started": False, "lastState": {}}
            said["state"] = {"waiting": {"reason": reason, "message": message}}
            said.pop("containerID", None)
    return body


def _init_status_at_start(pod: Pod, container: Container, now: Instant, *, first: bool) -> Document:
    """The first runs; those that come later wait for it."""
    status = {"name": container.name, "image": container.image, "ready": False, "restartCount": 0, "lastState": {}}
    if not first:
        return {**status, "imageID": "", "started": False, "state": {"waiting": {"reason": "PodInitializing"}}}
    running = {"running": {"startedAt": to_time(now)}}
    identity = f"doorman://{pod.metadata.uid}/{container.name}"
    return {**status, "imageID": container.image, "containerID": identity, "started": True, "state": running}
