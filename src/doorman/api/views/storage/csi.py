"""Views of what CSI drivers say of themselves, of nodes and of their room, and of what they have attached."""

from typing import Final

import msgspec

from doorman.api.views.meta import LabelSelector, ObjectMeta, View

CSI_NODES: Final = "csinodes.storage.k8s.io"
CSI_DRIVERS: Final = "csidrivers.storage.k8s.io"
STORAGE_CAPACITIES: Final = "csistoragecapacities.storage.k8s.io"
ATTACHMENTS: Final = "volumeattachments.storage.k8s.io"


class VolumeNodeResources(View, frozen=True, kw_only=True):
    count: int | None = None


class CsiNodeDriver(View, frozen=True, kw_only=True):
    name: str = ""
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CsiNodeSpec(View, frozen=True, kw_only=True):
    drivers: tuple[CsiNodeDriver, ...] = ()


class CsiNode(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(View, frozen=True, kw_only=True):
    storage_capacity: bool | None = None
    attach_required: bool | None = None


class CsiDriver(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | None = None
    maximum_volume_size: str | None = None


BY_ATTACHED_NODE: Final = "attachedNode"
BY_ATTACHED_VOLUME: Final = "attachedVolume"
"""Indexes of attachments."""


class AttachmentSource(View, frozen=True, kw_only=True):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(View, frozen=True, kw_only=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeError(View, frozen=True, kw_only=True):
    message: str = ""


class VolumeAttachmentStatus(View, frozen=True, kw_only=True):
    attached: bool = False
    attach_error: VolumeError | None = None


class VolumeAttachment(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()


def attached_node_of(attachment: VolumeAttachment) -> tuple[str, ...]:
    return (attachment.spec.node_name,)


def attached_volume_of(attachment: VolumeAttachment) -> tuple[str, ...]:
    name = attachment.spec.source.persistent_volume_name
    return (name,) if name else ()
