"""What the attach-detach controller writes: attachments, a node's list of attached volumes, and events about pods."""

from collections.abc import Iterator, Sequence
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.storage.csi import ATTACHMENTS, VolumeAttachment
from doorman.api.views.storage.persistent_volumes import PersistentVolume
from doorman.client.actions import Create, Delete, Patch, PatchType, RecordEvent
from doorman.controllers.pods.status_reports import reference_to
from doorman.semantics.volumes.csi_volumes import CsiVolume
from doorman.semantics.volumes.volume_attachments import attachment_name

COMPONENT: Final = "attachdetach-controller"
"""The source of events."""


def create_attachment(volume: PersistentVolume, csi: CsiVolume, node: str) -> Create:
    spec = {"attacher": csi.driver, "nodeName": node, "source": {"persistentVolumeName": volume.metadata.name}}
    return Create(resource=ATTACHMENTS, body={"metadata": {"name": attachment_name(csi, node)}, "spec": spec})


def delete_attachment(attachment: VolumeAttachment) -> Delete:
    return Delete(resource=ATTACHMENTS, name=attachment.metadata.name, uid=attachment.metadata.uid)


def report_attached(node: Node, unique_names: Sequence[str]) -> Patch:
    attached = [{"name": name, "devicePath": ""} for name in unique_names]
    body = {"status": {"volumesAttached": attached or None}}
    return Patch(resource="nodes", name=node.metadata.name, subresource="status", body=body, type=PatchType.MERGE)


def attached_events(volume: PersistentVolume, pods: Sequence[Pod]) -> Iterator[RecordEvent]:
    text = f'AttachVolume.Attach succeeded for volume "{volume.metadata.name}" '
    return (_event(pod, "Normal", "SuccessfulAttachVolume", text) for pod in pods)


def failed_events(volume: PersistentVolume, pods: Sequence[Pod], message: str) -> list[RecordEvent]:
    text = f'AttachVolume.Attach failed for volume "{volume.metadata.name}" : {message}'
    return [_event(pod, "Warning", "FailedAttachVolume", text) for pod in pods]


def waiting_events(volume: PersistentVolume, pods: Sequence[Pod], users: Sequence[Pod]) -> list[RecordEvent]:
    """To each pod about those of its namespace by name, and about others by number; `users` have the volume."""
    return [
        _event(
            pod,
            "Warning",
            "FailedAttachVolume",
            f'Waiting for detach for volume "{volume.metadata.name}" {_obstacle(pod, users)}',
        )
        for pod in pods
    ]


def _obstacle(pod: Pod, users: Sequence[Pod]) -> str:
    if not users:
        return (
            "Volume is already exclusively attached to one node, waiting on detach before it can be attached to "
            "another node"
        )
    named = [user.metadata.name for user in users if user.metadata.namespace == pod.metadata.namespace]
    others = len(users) - len(named)
    if not named:
        return f"Volume is already used by {others} pod(s) in different namespaces"
    text = f"Volume is already used by pod(s) {', '.join(named)}"
    return f"{text} and {others} pod(s) in different namespaces" if others else text


def _event(pod: Pod, kind: str, reason: str, message: str) -> RecordEvent:
    regarding = reference_to(pod.metadata, api_version="v1", kind="Pod")
    return RecordEvent(regarding=regarding, type=kind, reason=reason, message=message, component=COMPONENT)
