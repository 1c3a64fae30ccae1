"""What a kubelet writes: events, patches of status, and what a node made by hand has not said of itself yet."""

from collections.abc import Iterable
from typing import Any, Final

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.client.actions import ObjectReference, Patch, RecordEvent
from doorman.nodes.pods.kubelet_pod_status import full_name
from doorman.nodes.pods.pod_lifecycle import DEADLINE_MESSAGE, DEADLINE_REASON, Next
from doorman.nodes.profile import DEFAULT_CAPACITY, NODE_FEATURES, node_addresses, node_info

COMPONENT: Final = "kubelet"


def missing_status(node: Node) -> dict[str, Any]:  # part of a node's status as JSON
    """What a node that was made by hand lacks, or has been given since."""
    status = node.status
    missing: dict[str, Any] = {}  # JSON
    if not status.capacity:
        missing |= {"capacity": DEFAULT_CAPACITY, "allocatable": DEFAULT_CAPACITY}
    elif status.capacity.keys() - status.allocatable.keys():
        # What somebody says there is, such as a resource of a device, may be used.
        missing["allocatable"] = {**status.capacity, **status.allocatable}
    if not status.addresses:
        missing["addresses"] = node_addresses(node.metadata.name)
    if not status.node_info.kubelet_version:
        missing |= {"nodeInfo": node_info(node.metadata.name), "features": NODE_FEATURES}
    return missing


def status_patch(pod: Pod, body: dict[str, Any]) -> Patch:  # body as JSON
    meta = pod.metadata
    return Patch(resource="pods", namespace=meta.namespace, name=meta.name, subresource="status", body=body)


def life_events(pod: Pod, following: Next) -> Iterable[RecordEvent]:
    """What a kubelet tells of a turn of a pod's life."""
    if following.backs_off:
        meta = pod.metadata
        for container in pod.spec.containers:
            text = f"Back-off restarting failed container {container.name} in pod {full_name(meta)}"
            yield pod_event(pod, "BackOff", text, container=container.name)
    for name in following.replaced:
        yield pod_event(pod, "Killing", f"Container {name} definition changed, will be restarted", kind="Normal")
    if following.body is not None and following.body["status"].get("reason") == DEADLINE_REASON:
        yield pod_event(pod, DEADLINE_REASON, DEADLINE_MESSAGE, kind="Normal")


def stop_events(pod: Pod) -> Iterable[RecordEvent]:
    """Of a pod that was deleted and takes a while to stop. Of one that is gone at once nothing is told."""
    for status in pod.status.container_statuses:
        if status.state.running is not None:
            yield pod_event(pod, "Killing", f"Stopping container {status.name}", kind="Normal", container=status.name)


def pod_event(pod: Pod, reason: str, message: str, *, kind: str = "Warning", container: str = "") -> RecordEvent:
    """Of the pod, or of a container of it."""
    meta = pod.metadata
    regarding = ObjectReference(
        kind="Pod",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        api_version="v1",
        resource_version=meta.resource_version,
        field_path=_container_path(pod, container) if container else "",
    )
    return RecordEvent(
        regarding=regarding,
        type=kind,
        reason=reason,
        message=message,
        component=COMPONENT,
        host=pod.spec.node_name,
    )


def _container_path(pod: Pod, name: str) -> str:
    is_init = any(container.name == name for container in pod.spec.init_containers)
    return f"spec.initContainers{{{name}}}" if is_init else f"spec.containers{{{name}}}"


def node_event(node: Node, kind: str, reason: str, message: str) -> RecordEvent:
    regarding = ObjectReference(kind="Node", name=node.metadata.name, uid=node.metadata.name)
    return RecordEvent(
        regarding=regarding,
        type=kind,
        reason=reason,
        message=message,
        component=COMPONENT,
        host=node.metadata.name,
    )
