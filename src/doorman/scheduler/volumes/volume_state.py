"""What the scheduler knows of volumes: volumes, claims, classes, drivers, and bindings that are being written.

A binding counts from the moment it is decided (it is assumed) until the volume or the claim is seen with it, or until
it could not be written.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.storage.csi import (
    ATTACHMENTS,
    CSI_DRIVERS,
    CSI_NODES,
    STORAGE_CAPACITIES,
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    VolumeAttachment,
)
from doorman.api.views.storage.persistent_volumes import CLAIMS as VOLUME_CLAIMS
from doorman.api.views.storage.persistent_volumes import (
    VOLUMES,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeClaimReference,
)
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES, StorageClass
from doorman.api.volume_annotations import SELECTED_NODE
from doorman.scheduler.cache.claim_users import ClaimUsers
from doorman.scheduler.cache.row_changes import ChangeLog
from doorman.scheduler.framework import ActionType, ClusterEvent, EventResource
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings
from doorman.semantics.volumes.volume_matching import class_of_volume

VOLUME_KINDS: Final = (
    STORAGE_CLASSES, CSI_DRIVERS, CSI_NODES, STORAGE_CAPACITIES, ATTACHMENTS, VOLUMES, VOLUME_CLAIMS,
)  # fmt: skip
"""What it must be told of."""

_EVENT_RESOURCES: Final = {
    STORAGE_CLASSES: EventResource.STORAGE_CLASS,
    CSI_DRIVERS: EventResource.CSI_DRIVER,
    CSI_NODES: EventResource.CSI_NODE,
    STORAGE_CAPACITIES: EventResource.CSI_STORAGE_CAPACITY,
    ATTACHMENTS: EventResource.VOLUME_ATTACHMENT,
    VOLUMES: EventResource.PERSISTENT_VOLUME,
    VOLUME_CLAIMS: EventResource.PERSISTENT_VOLUME_CLAIM,
}


class VolumeState:
    def __init__(self) -> None:
        self.classes: dict[str, StorageClass] = {}
        self.drivers: dict[str, CsiDriver] = {}
        self.csi_nodes: dict[str, CsiNode] = {}
        self.capacities: dict[str, CsiStorageCapacity] = {}
        self.csi_nodes_version = 0
        self.attachments: dict[str, VolumeAttachment] = {}
        self._volumes: dict[str, PersistentVolume] = {}
        self._claims: dict[str, PersistentVolumeClaim] = {}
        self._by_class: dict[str, dict[str, None]] = {}
        """Names of volumes by their classes."""
        self._attached: dict[str, dict[str, None]] = {}
        """Names of attachments by their nodes."""
        self._stores: Mapping[str, dict[str, Any]] = {  # views of those kinds
            STORAGE_CLASSES: self.classes,
            CSI_DRIVERS: self.drivers,
            CSI_NODES: self.csi_nodes,
            STORAGE_CAPACITIES: self.capacities,
            ATTACHMENTS: self.attachments,
            VOLUMES: self._volumes,
            VOLUME_CLAIMS: self._claims,
        }
        self._kept_for: dict[str, PersistentVolume] = {}
        """Volumes as they will be, by name: assumed to be a claim's."""
        self._sent_to: dict[str, PersistentVolumeClaim] = {}
        """Claims as they will be, by key: assumed to be provisioned for a node."""
        self._assumed: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        """Names of assumed volumes and keys of assumed claims, by the keys of the pods."""
        self.users = ClaimUsers()
        self.changes = ChangeLog[str | None]()
        """Keys of claims, and names of nodes, of which something else is known now; None: anything may have changed."""

    def volume(self, name: str) -> PersistentVolume | None:
        """As it is, or as it is assumed to become."""
        return self._kept_for.get(name) or self._volumes.get(name)

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """As it is, or as it is assumed to become."""
        return self._sent_to.get(key) or self._claims.get(key)

    def seen_volume(self, name: str) -> PersistentVolume | None:
        """As the API last showed it."""
        return self._volumes.get(name)

    def seen_claim(self, key: str) -> PersistentVolumeClaim | None:
        return self._claims.get(key)

    def volumes_of_class(self, name: str) -> Sequence[PersistentVolume]:
        """In order of their names."""
        found = (self.volume(each) for each in sorted(self._by_class.get(name, ())))
        return [volume for volume in found if volume is not None]

    def has_volumes_of_class(self, name: str) -> bool:
        """Whether any of them is free, or kept for somebody who has not got it yet."""
        return any(volume.status.phase != "Bound" for volume in self.volumes_of_class(name))

    def attachments_on(self, node: str) -> Iterable[VolumeAttachment]:
        return (self.attachments[name] for name in self._attached.get(node, ()))

    def reserve(self, pod_key: str, bindings: PodVolumeBindings, node: str) -> None:
        """The bindings are decided: nobody else gets those volumes from now on."""
        for binding in bindings.static:
            meta = binding.claim.metadata
            reference = VolumeClaimReference(namespace=meta.namespace, name=meta.name, uid=meta.uid)
            spec = msgspec.structs.replace(binding.volume.spec, claim_ref=reference)
            self._kept_for[binding.volume.metadata.name] = msgspec.structs.replace(binding.volume, spec=spec)
        for claim in bindings.provisioned:
            annotations = {**claim.metadata.annotations, SELECTED_NODE: node}
            meta = msgspec.structs.replace(claim.metadata, annotations=annotations)
            self._sent_to[meta.key] = msgspec.structs.replace(claim, metadata=meta)
        self._assumed[pod_key] = (
            tuple(binding.volume.metadata.name for binding in bindings.static),
            tuple(claim.metadata.key for claim in bindings.provisioned),
        )

    def unreserve(self, pod_key: str) -> None:
        """What was decided for the pod is no longer assumed: what is seen counts."""
        if pod_key not in self._assumed:
            return
        volumes, claims = self._assumed.pop(pod_key)
        for name in volumes:
            self._kept_for.pop(name, None)
        for key in claims:
            self._sent_to.pop(key, None)

    def changed(self, resource: str, old: Any, new: Any) -> list[ClusterEvent]:  # views of that kind
        """Take a change up; gives what it means to waiting pods."""
        newest = new if new is not None else old
        key = newest.metadata.key
        self._file(resource, key, new)
        only = self.users.of(key) if resource == VOLUME_CLAIMS else None
        if new is None:
            change = ActionType.DELETE
        else:
            change = ActionType.ADD if old is None else ActionType.UPDATE_OTHER
        return [ClusterEvent(_EVENT_RESOURCES[resource], change, old, new, only)]

    def _file(self, resource: str, key: str, new: Any) -> None:  # a view of that kind
        store = self._stores[resource]
        before = store.pop(key, None)
        if new is not None:
            store[key] = new
        self._note(resource, key, before, new)
        if resource == VOLUMES:
            self._refile(self._by_class, key, before and class_of_volume(before), new and class_of_volume(new))
            if new is None or new.spec.claim_ref is not None:
                self._kept_for.pop(key, None)
        elif resource == VOLUME_CLAIMS:
            if new is None or SELECTED_NODE in new.metadata.annotations or new.spec.volume_name:
                self._sent_to.pop(key, None)
        elif resource == ATTACHMENTS:
            self._refile(self._attached, key, before and before.spec.node_name, new and new.spec.node_name)

    def _note(self, resource: str, key: str, before: Any, new: Any) -> None:  # views of that kind
        """For those who keep what they have worked out."""
        if resource == VOLUMES:
            for volume in (before, new):
                if volume is not None and volume.spec.claim_ref is not None:
                    self.changes.note(volume.spec.claim_ref.key)
        elif resource == ATTACHMENTS:
            for attachment in (before, new):
                if attachment is not None:
                    self.changes.note(attachment.spec.node_name)
        elif resource == CSI_NODES:
            self.csi_nodes_version += 1
            self.changes.note(key)
        elif resource == VOLUME_CLAIMS:
            self.changes.note(key)
        elif resource == STORAGE_CLASSES:
            self.changes.note(None)

    @staticmethod
    def _refile(index: dict[str, dict[str, None]], key: str, before: str | None, after: str | None) -> None:
        if before is not None and key in index.get(before, {}):
            del index[before][key]
            if not index[before]:
                del index[before]
        if after is not None:
            index.setdefault(after, {})[key] = None
