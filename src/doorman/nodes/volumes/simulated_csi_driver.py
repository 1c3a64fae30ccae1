"""The CSI driver of simulated nodes: registers with them, and attaches and detaches volumes in name only.

It publishes itself (a CSIDriver) and a CSINode for each simulated node, with the number of volumes that can be attached
if the node's annotation `doorman.dev/attach-limit` says one. Nodes without a limit get theirs when there is a first
claim or volume: nobody reads them before. To simulated nodes it attaches the volumes of every driver, since no other
reaches them. Annotations on a claim:

- `doorman.dev/attach-delay: 20s`: attaching its volume takes so long;
- `doorman.dev/attach-failure: disk is broken`: it fails with this message until the annotation goes.

Keys: `node/<name>`, `attachment/<name>`, `driver` and `nodes`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.storage.csi import (
    ATTACHMENTS,
    BY_ATTACHED_VOLUME,
    CSI_DRIVERS,
    CSI_NODES,
    CsiDriver,
    CsiNode,
    VolumeAttachment,
)
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES, PersistentVolume, PersistentVolumeClaim
from doorman.api.well_known import ZONE_LABEL
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.client.actions import Action, Create, Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.nodes.node_annotations import ATTACH_LIMIT, PREFIX, is_simulated, parse_limit, seconds_or
from doorman.semantics.volumes.csi_volumes import MIGRATED_PLUGINS, PLUGINS
from doorman.semantics.volumes.volume_drivers import SIMULATED_DRIVER

NAME: Final = "simulated-csi-driver"
WORKERS: Final = 16
ALL_NODES: Final = "nodes"
OWN_DRIVER: Final = "driver"
ATTACH_DELAY: Final = PREFIX + "attach-delay"
ATTACH_FAILURE: Final = PREFIX + "attach-failure"
ATTACHER_PREFIX: Final = "external-attacher/"
"""How the finalizers of attachers begin."""


def driver_manifest() -> Document:
    return {"metadata": {"name": SIMULATED_DRIVER}, "spec": {"attachRequired": True, "podInfoOnMount": False}}


def csi_node_manifest(node: Node) -> Document:
    meta = node.metadata
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta.name, "uid": meta.uid}
    return {
        "metadata": {
            "name": meta.name, "ownerReferences": [owner], "annotations": {MIGRATED_PLUGINS: ",".join(PLUGINS)},
        },
        "spec": {"drivers": [_driver_entry(node)]},
    }  # fmt: skip


def decide_csi_node(node: Node, before: CsiNode | None) -> Action | None:
    """One that somebody else made is completed only where the node's annotation says a limit."""
    if before is None:
        return Create(resource=CSI_NODES, body=csi_node_manifest(node))
    limit = _limit_of(node)
    own = next((driver for driver in before.spec.drivers if driver.name == SIMULATED_DRIVER), None)
    if limit is None or (own is not None and own.allocatable is not None and own.allocatable.count == limit):
        return None
    if own is not None:
        body: Document = {"spec": {"drivers": [{"name": SIMULATED_DRIVER, "allocatable": {"count": limit}}]}}
    else:
        body = {"spec": {"drivers": [_driver_entry(node)]}}
    return Patch(resource=CSI_NODES, name=node.metadata.name, body=body)


def decide_attachment(
    attachment: VolumeAttachment, annotations: Mapping[str, str], *, began: Instant, now: Instant
) -> tuple[list[Action], Instant | None]:
    """What to write, and when to look again; `annotations` are those of the volume's claim."""
    meta, status = attachment.metadata, attachment.status
    if meta.deletion_timestamp:
        kept = [each for each in meta.finalizers if not each.startswith(ATTACHER_PREFIX)]
        if len(kept) == len(meta.finalizers):
            return [], None
        body: Document = {"metadata": {"uid": meta.uid, "finalizers": kept or None}}
        return [Patch(resource=ATTACHMENTS, name=meta.name, body=body, type=PatchType.MERGE)], None
    if status.attached:
        return [], None
    due = began + seconds_or(annotations, ATTACH_DELAY, 0.0)
    if now < due:
        return [], due
    failure = annotations.get(ATTACH_FAILURE, "")
    told = status.attach_error.message if status.attach_error is not None else ""
    if failure:
        error = {"message": failure, "time": to_time(now)}
        return ([] if told == failure else [_report(attachment, {"attached": False, "attachError": error})]), None
    return [_report(attachment, {"attached": True, "attachError": None})], None


class SimulatedCsiDriver:
    name = NAME
    workers = WORKERS

    def __init__(
        self,
        nodes: ListerOf[Node],
        csi_nodes: ListerOf[CsiNode],
        drivers: ListerOf[CsiDriver],
        attachments: ListerOf[VolumeAttachment],
        volumes: ListerOf[PersistentVolume],
        claims: ListerOf[PersistentVolumeClaim],
        *,
        registers: bool = True,
    ) -> None:
        """`registers`: it publishes itself and CSINodes; a cluster that was copied has its own."""
        self.sources: Final[Sequence[Source]] = (
            Source("nodes", self._node_keys),
            Source(CSI_NODES, self._csi_node_keys),
            Source(ATTACHMENTS, _attachment_keys),
            Source(VOLUMES, self._first_keys),
            Source(CLAIMS, self._claim_keys),
        )
        self._nodes = nodes
        self._csi_nodes = csi_nodes
        self._drivers = drivers
        self._attachments = attachments
        self._volumes = volumes
        self._claims = claims
        self._registers = registers
        self._serves_all = False
        """There is, or was, a claim or a volume."""
        self._began: dict[str, Instant] = {}
        """By the uid of an attachment that is being made."""

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change tries again."""

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, name = key.partition("/")
        match kind:
            case "attachment":
                return self._sync_attachment(key, name, now)
            case "node":
                return self._sync_node(name, now)
            case "driver":
                return self._sync_driver()
            case _:
                assert key == ALL_NODES, f"unknown key {key}"
                return Result(wakes=[(f"node/{node.metadata.name}", now) for node in self._nodes.list()])

    def _sync_node(self, name: str, now: Instant) -> Result:
        node = self._nodes.get(name)
        if node is None or not is_simulated(node.metadata.annotations):
            return DONE
        action = decide_csi_node(node, self._csi_nodes.get(name))
        if action is None:
            return DONE
        return Result(actions=(action,), wakes=((OWN_DRIVER, now),))

    def _sync_driver(self) -> Result:
        if self._drivers.get(SIMULATED_DRIVER) is not None:
            return DONE
        return Result(actions=(Create(resource=CSI_DRIVERS, body=driver_manifest()),))

    def _sync_attachment(self, key: str, name: str, now: Instant) -> Result:
        attachment = self._attachments.get(name)
        if attachment is None:
            return DONE
        node = self._nodes.get(attachment.spec.node_name)
        if node is None or not is_simulated(node.metadata.annotations):
            return DONE
        uid = attachment.metadata.uid
        if attachment.status.attached or attachment.metadata.deletion_timestamp:
            self._began.pop(uid, None)
            began = now
        else:
            began = self._began.setdefault(uid, now)
        actions, due = decide_attachment(attachment, self._annotations(attachment), began=began, now=now)
        return Result(actions=actions, wakes=((key, due),) if due is not None else ())

    def _annotations(self, attachment: VolumeAttachment) -> Mapping[str, str]:
        volume = self._volumes.get(attachment.spec.source.persistent_volume_name or "")
        reference = volume.spec.claim_ref if volume is not None else None
        claim = self._claims.get(reference.key) if reference is not None else None
        return claim.metadata.annotations if claim is not None else {}

    def _node_keys(self, change: ObjectChange) -> Iterable[str]:
        node: Node | None = change.new
        old: Node | None = change.old
        if node is None or not self._registers or not is_simulated(node.metadata.annotations):
            return ()
        if old is not None and old.metadata.annotations == node.metadata.annotations:
            return ()
        return (f"node/{node.metadata.name}",) if self._serves_all or _limit_of(node) is not None else ()

    def _csi_node_keys(self, change: ObjectChange) -> Iterable[str]:
        """One that was deleted comes back as long as its node is there."""
        gone: CsiNode = change.newest
        return (f"node/{gone.metadata.name}",) if change.new is None and self._registers else ()

    def _first_keys(self, _change: ObjectChange) -> Iterable[str]:
        if self._serves_all or not self._registers:
            return ()
        self._serves_all = True
        return (ALL_NODES,)

    def _claim_keys(self, change: ObjectChange) -> Iterable[str]:
        old: PersistentVolumeClaim | None = change.old
        claim: PersistentVolumeClaim = change.newest
        first = self._first_keys(change)
        if old is None or change.new is None or old.metadata.annotations == claim.metadata.annotations:
            return first
        attachments = self._attachments.by(BY_ATTACHED_VOLUME, claim.spec.volume_name)
        return (*first, *(f"attachment/{each.metadata.name}" for each in attachments))


def _attachment_keys(change: ObjectChange) -> Iterable[str]:
    attachment: VolumeAttachment | None = change.new
    return (f"attachment/{attachment.metadata.name}",) if attachment is not None else ()


def _limit_of(node: Node) -> int | None:
    """What cannot be read is told by the agent, and says nothing."""
    text = node.metadata.annotations.get(ATTACH_LIMIT)
    return parse_limit(text) if text is not None else None


def _driver_entry(node: Node) -> Document:
    keys = [ZONE_LABEL] if ZONE_LABEL in node.metadata.labels else []
    entry: Document = {"name": SIMULATED_DRIVER, "nodeID": node.metadata.name, "topologyKeys": keys}
    limit = _limit_of(node)
    return entry if limit is None else {**entry, "allocatable": {"count": limit}}


def _report(attachment: VolumeAttachment, status: Document) -> Patch:
    meta = attachment.metadata
    body = {"metadata": {"uid": meta.uid}, "status": status}
    return Patch(resource=ATTACHMENTS, name=meta.name, subresource="status", body=body, type=PatchType.MERGE)
