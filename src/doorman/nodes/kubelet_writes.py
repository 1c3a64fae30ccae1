"""What a kubelet writes: events, and patches of status."""

from collections.abc import Iterable
from typing import Any

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.well_known import KUBELET
from doorman.client.actions import ObjectReference, Patch, RecordEvent


def status_patch(pod: Pod, body: dict[str, Any]) -> Patch:  # body as JSON
    meta = pod.metadata
    return Patch(resource="pods", namespace=meta.namespace, name=meta.name, subresource="status", body=body)


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
        component=KUBELET,
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
        component=KUBELET,
        host=node.metadata.name,
    )
