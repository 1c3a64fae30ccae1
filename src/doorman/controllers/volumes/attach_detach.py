"""persistentvolume-attach-detach-controller: volumes are attached to the nodes of the pods that use them.

It reads pods, claims, volumes, nodes, drivers and VolumeAttachments. A VolumeAttachment asks the driver to attach a
volume to a node; when the driver says that it did, the node's status names the volume (`volumesAttached`) and its
kubelet goes on. When nobody there uses the volume any more it is taken out of the node's status and the attachment is
deleted (`semantics/volumes/volume_attachments.py` has the rules). VolumeAttachments that have other names than it
gives are others' business.

Keys: names of nodes.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from doorman.api.taints import OUT_OF_SERVICE
from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import BY_CLAIM, UNFINISHED_BY_NODE
from doorman.api.views.pods import Pod
from doorman.api.views.storage.csi import (
    ATTACHMENTS,
    BY_ATTACHED_NODE,
    BY_ATTACHED_VOLUME,
    CsiDriver,
    VolumeAttachment,
)
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES, PersistentVolume, PersistentVolumeClaim
from doorman.api.well_known import SIMULATED
from doorman.base.clock import Instant
from doorman.client.actions import Action
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.volumes.attach_detach_settings import AttachDetachSettings
from doorman.controllers.volumes.attachment_memory import AttachmentMemory
from doorman.controllers.volumes.attachment_writes import (
    attached_events,
    create_attachment,
    delete_attachment,
    failed_events,
    report_attached,
    waiting_events,
)
from doorman.semantics.volumes.csi_volumes import CsiVolume, csi_volume, named_volume
from doorman.semantics.volumes.pod_volumes import claim_keys
from doorman.semantics.volumes.volume_attachments import (
    attached_volumes_of,
    attachment_name,
    decide_detach,
    has_let_go,
    may_be_on_many_nodes,
)

NAME: Final = "persistentvolume-attach-detach-controller"
WORKERS: Final = 16
MANAGED: Final = "volumes.kubernetes.io/controller-managed-attach-detach"
"""On a node: its kubelet leaves attaching to this controller."""


class Wanted(msgspec.Struct, frozen=True):
    """A volume that pods of a node use."""

    volume: PersistentVolume
    csi: CsiVolume
    pods: tuple[Pod, ...]


class Attached(msgspec.Struct, frozen=True):
    """One of this controller's attachments."""

    attachment: VolumeAttachment
    csi: CsiVolume


def is_ready(node: Node) -> bool:
    ready = node.status.condition("Ready")
    return ready is not None and ready.status == "True"


def is_out_of_service(node: Node) -> bool:
    return any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def is_managed(node: Node) -> bool:
    annotations = node.metadata.annotations
    return MANAGED in annotations or annotations.get(SIMULATED) == "true"


class AttachDetachController:
    name = NAME
    workers = WORKERS

    def __init__(
        self,
        pods: ListerOf[Pod],
        nodes: ListerOf[Node],
        claims: ListerOf[PersistentVolumeClaim],
        volumes: ListerOf[PersistentVolume],
        drivers: ListerOf[CsiDriver],
        attachments: ListerOf[VolumeAttachment],
        settings: AttachDetachSettings | None = None,
    ) -> None:
        self.sources: Final[Sequence[Source]] = (
            Source("pods", self._pod_keys, only_with=VOLUMES),
            Source("nodes", self._node_keys, only_with=VOLUMES),
            Source(CLAIMS, self._claim_keys, only_with=VOLUMES),
            Source(VOLUMES, self._volume_keys),
            Source(ATTACHMENTS, self._attachment_keys),
        )
        self._pods = pods
        self._nodes = nodes
        self._claims = claims
        self._volumes = volumes
        self._drivers = drivers
        self._attachments = attachments
        self._settings = settings if settings is not None else AttachDetachSettings()
        self._memories: dict[str, AttachmentMemory] = {}
        """By node."""
        self._sent_to: dict[str, set[str]] = {}
        """By volume: nodes for which an attachment was asked for that is not there yet."""
        self._last_in_use: dict[str, tuple[str, ...]] = {}
        """Of nodes that are gone: what they said last."""

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    @property
    def detachments_pending(self) -> int:
        """Volumes that are detached at a time that is known."""
        return sum(len(memory.timed) for memory in self._memories.values())

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change tries again."""

    def reconcile(self, key: str, now: Instant) -> Result:
        node = self._nodes.get(key)
        memory = self._memories.setdefault(key, AttachmentMemory())
        own = self._own(key, node, memory)
        wanted = self._wanted(key) if node is not None and is_managed(node) else {}
        freed = self._no_longer_sent(key, own, wanted, memory)
        memory.keep(own, wanted)
        leaving, wakes = self._leaving(key, node, own, wanted, memory, now)
        actions = [
            *self._report(node, own, wanted, leaving),
            *(delete_attachment(own[name].attachment) for name in leaving),
        ]
        for name, each in wanted.items():
            if name in own:
                actions += self._failure(own[name], each, memory)
            else:
                actions += self._attach(key, name, each, memory)
        if memory.is_empty:
            del self._memories[key]
            self._last_in_use.pop(key, None)
        return Result(actions=actions, wakes=[*wakes, *((other, now) for other in self._waiting_for(freed, key))])

    def _own(self, name: str, node: Node | None, memory: AttachmentMemory) -> dict[str, Attached]:
        """The node's attachments that are this controller's, by name. Also of a volume that was deleted since."""
        found = {}
        volumes = (named_volume(each.name) for each in (node.status.volumes_attached if node is not None else ()))
        reported = {attachment_name(each, name): each for each in volumes if each is not None}
        for attachment in self._attachments.by(BY_ATTACHED_NODE, name):
            own = attachment.metadata.name
            volume = self._volumes.get(attachment.spec.source.persistent_volume_name or "")
            csi = csi_volume(volume) if volume is not None else memory.known.get(own) or reported.get(own)
            if csi is not None and own == attachment_name(csi, name):
                memory.known[own] = csi
                found[own] = Attached(attachment, csi)
        return found

    def _no_longer_sent(
        self, node: str, own: Container[str], wanted: Container[str], memory: AttachmentMemory
    ) -> list[str]:
        """Volumes that were asked for here and are wanted no longer: nodes that wait for them must look again."""
        freed = []
        for name, volume in memory.sent.items():
            if name in own or name not in wanted:
                self._sent_to[volume].discard(node)
                if not self._sent_to[volume]:
                    del self._sent_to[volume]
                freed += [volume] if name not in own else []
        return freed

    def _waiting_for(self, volumes: Iterable[str], node: str) -> Iterator[str]:
        """Other nodes whose pods use one of these."""
        for name in volumes:
            volume = self._volumes.get(name)
            yield from (other for other in _nodes_of(self._pods_of(volume) if volume else ()) if other != node)

    def _wanted(self, node: str) -> dict[str, Wanted]:
        """What the node's pods use, by the name of the attachment."""
        found: dict[str, Wanted] = {}
        for pod in self._pods.by(UNFINISHED_BY_NODE, node):
            if not pod.spec.volumes or has_let_go(pod):
                continue
            for _, volume, csi in attached_volumes_of(pod, self._claims.get, self._volumes.get, self._drivers.get):
                name = attachment_name(csi, node)
                others = found[name].pods if name in found else ()
                found[name] = Wanted(volume, csi, (*others, pod))
        return found

    def _leaving(
        self,
        name: str,
        node: Node | None,
        own: Mapping[str, Attached],
        wanted: Mapping[str, Wanted],
        memory: AttachmentMemory,
        now: Instant,
    ) -> tuple[list[str], list[tuple[str, Instant]]]:
        """Names of attachments to delete now, and when to look at the others again."""
        in_use = node.status.volumes_in_use if node is not None else self._last_in_use.get(name, ())
        leaving: list[str] = []
        wakes: list[tuple[str, Instant]] = []
        for attachment, each in own.items():
            memory.timed.discard(attachment)
            if attachment in wanted or each.attachment.metadata.deletion_timestamp:
                memory.unused_since.pop(attachment, None)
                continue
            at = decide_detach(
                memory.unused_since.setdefault(attachment, now),
                in_use=each.csi.unique_name in in_use,
                is_ready=node is not None and is_ready(node),
                is_out_of_service=node is not None and is_out_of_service(node),
                forces=not self._settings.disable_force_detach_on_timeout,
            )
            if at is not None and at <= now:
                leaving.append(attachment)
            elif at is not None:
                memory.timed.add(attachment)
                wakes.append((name, at))
        return leaving, wakes

    @staticmethod
    def _report(
        node: Node | None, own: Mapping[str, Attached], wanted: Mapping[str, Wanted], leaving: Sequence[str]
    ) -> Iterator[Action]:
        """The node's status names what is attached and stays, and pods are told of what has just been attached."""
        if node is None:
            return
        attached = {
            each.csi.unique_name: name
            for name, each in own.items()
            if name not in leaving
            if each.attachment.status.attached and not each.attachment.metadata.deletion_timestamp
        }
        before = {each.name for each in node.status.volumes_attached}
        if before != attached.keys():
            yield report_attached(node, sorted(attached))
        for unique_name, name in attached.items():
            if unique_name not in before and name in wanted:
                yield from attached_events(wanted[name].volume, wanted[name].pods)

    def _attach(self, node: str, name: str, wanted: Wanted, memory: AttachmentMemory) -> Iterable[Action]:
        volume = wanted.volume
        if not may_be_on_many_nodes(volume):
            elsewhere = self._elsewhere(volume, node)
            if elsewhere:
                if name in memory.told:
                    return ()
                memory.told.add(name)
                return waiting_events(volume, wanted.pods, self._users(volume, elsewhere))
        memory.told.discard(name)
        memory.sent[name] = volume.metadata.name
        self._sent_to.setdefault(volume.metadata.name, set()).add(node)
        return (create_attachment(volume, wanted.csi, node),)

    @staticmethod
    def _failure(attached: Attached, wanted: Wanted, memory: AttachmentMemory) -> Iterable[Action]:
        """What the driver says that it could not do is told once."""
        name, status = attached.attachment.metadata.name, attached.attachment.status
        message = status.attach_error.message if status.attach_error is not None and not status.attached else ""
        if memory.failures.get(name, "") == message:
            return ()
        if not message:
            del memory.failures[name]
            return ()
        memory.failures[name] = message
        return failed_events(wanted.volume, wanted.pods, message)

    def _elsewhere(self, volume: PersistentVolume, node: str) -> list[str]:
        """Other nodes that have it, or are about to."""
        csi = csi_volume(volume)
        sent = sorted(self._sent_to.get(volume.metadata.name, set()) - {node})
        return sent or [
            each.spec.node_name
            for each in self._attachments.by(BY_ATTACHED_VOLUME, volume.metadata.name)
            if each.spec.node_name != node
            if csi is not None and each.metadata.name == attachment_name(csi, each.spec.node_name)
        ]

    def _users(self, volume: PersistentVolume, nodes: Sequence[str]) -> list[Pod]:
        """Pods on these nodes that use it."""
        return [pod for pod in self._pods_of(volume) if pod.spec.node_name in nodes and not has_let_go(pod)]

    def _pods_of(self, volume: PersistentVolume) -> Sequence[Pod]:
        reference = volume.spec.claim_ref
        return self._pods_of_claim(reference.key) if reference is not None else ()

    def _pods_of_claim(self, key: str) -> list[Pod]:
        """By name, or because it was made for one of the pod's volumes."""
        claim = self._claims.get(key)
        owners = claim.metadata.owner_references if claim is not None else ()
        makers = (self._pods.get(f"{key.partition('/')[0]}/{owner.name}") for owner in owners if owner.kind == "Pod")
        return [*self._pods.by(BY_CLAIM, key), *(pod for pod in makers if pod is not None)]

    def _pod_keys(self, change: ObjectChange) -> Iterable[str]:
        newest: Pod = change.newest
        if not newest.spec.node_name or not claim_keys(newest):
            return ()
        old: Pod | None = change.old
        is_same = old is not None and change.new is not None and old.metadata.uid == newest.metadata.uid
        if is_same and old is not None and old.spec.node_name and has_let_go(old) is has_let_go(newest):
            return ()
        return (newest.spec.node_name,)

    def _node_keys(self, change: ObjectChange) -> Iterable[str]:
        newest: Node = change.newest
        name = newest.metadata.name
        if change.new is None:
            self._last_in_use[name] = newest.status.volumes_in_use
            return (name,)
        self._last_in_use.pop(name, None)
        old: Node | None = change.old
        return (name,) if old is None or _attaching_facts(old) != _attaching_facts(newest) else ()

    def _claim_keys(self, change: ObjectChange) -> Iterable[str]:
        claim: PersistentVolumeClaim | None = change.new
        if claim is None or not claim.spec.volume_name or claim.status.phase != "Bound":
            return ()
        return _nodes_of(self._pods_of_claim(claim.metadata.key))

    def _volume_keys(self, change: ObjectChange) -> Iterable[str]:
        newest: PersistentVolume = change.newest
        attachments = self._attachments.by(BY_ATTACHED_VOLUME, newest.metadata.name)
        return _nodes_of(self._pods_of(newest), (each.spec.node_name for each in attachments))

    def _attachment_keys(self, change: ObjectChange) -> Iterable[str]:
        newest: VolumeAttachment = change.newest
        if change.new is not None:
            return (newest.spec.node_name,)
        volume = self._volumes.get(newest.spec.source.persistent_volume_name or "")
        return _nodes_of(self._pods_of(volume) if volume is not None else (), (newest.spec.node_name,))


def _attaching_facts(node: Node) -> tuple[object, ...]:
    """What this controller looks at."""
    status = node.status
    return (
        status.volumes_in_use, status.volumes_attached, is_ready(node), is_out_of_service(node), is_managed(node),
        node.metadata.uid,
    )  # fmt: skip


def _nodes_of(pods: Iterable[Pod], others: Iterable[str] = ()) -> Iterable[str]:
    return dict.fromkeys((*(pod.spec.node_name for pod in pods if pod.spec.node_name), *others))
