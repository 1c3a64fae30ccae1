"""The provisioner of simulated volumes, `doorman.dev/simulated`: makes, resizes and deletes them.

A volume is made for a claim whose class names this provisioner: at once, or for the node that the scheduler has chosen.
It can be used from the zone of that node, or from everywhere when the node is in none. Annotations on the claim:

- `doorman.dev/provision-delay: 30s`: how long it takes;
- `doorman.dev/provision-failure: quota exceeded`: it fails with this message, and another node may be chosen.

Keys: `claim/<namespace>/<name>` and `volume/<name>`.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.storage.csi import ATTACHMENTS, BY_ATTACHED_VOLUME, VolumeAttachment, attached_volume_of
from doorman.api.views.storage.persistent_volumes import (
    CLAIMS,
    STORAGE,
    VOLUMES,
    PersistentVolume,
    PersistentVolumeClaim,
)
from doorman.api.views.storage.volume_classes import WAIT_FOR_FIRST_CONSUMER, StorageClass
from doorman.api.volume_annotations import NO_PROVISIONER, PROVISIONED_BY, SELECTED_NODE, STORAGE_PROVISIONER
from doorman.api.well_known import ZONE_LABEL
from doorman.base.clock import Instant
from doorman.base.durations import parse_duration
from doorman.base.json_types import Document
from doorman.client.actions import Action, Create, Delete
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.volumes.volume_writes import claim_event, patch_claim, patch_volume, volume_event
from doorman.semantics.volumes.volume_drivers import SIMULATED_DRIVER, SIMULATED_PROVISIONER, driver_of
from doorman.semantics.volumes.volume_matching import (
    capacity_of,
    class_of_claim,
    is_fully_bound,
    requested_storage,
    topology_matches,
)

NAME: Final = "simulated-provisioner"
WORKERS: Final = 4

PROVISION_DELAY: Final = "doorman.dev/provision-delay"
PROVISION_FAILURE: Final = "doorman.dev/provision-failure"
RETRY_SECONDS: Final = 15.0
"""After a failure of a claim that no pod waits for."""


def claim_keys(change: ObjectChange) -> Iterable[str]:
    claim: PersistentVolumeClaim | None = change.new
    is_asked = claim is not None and STORAGE_PROVISIONER in claim.metadata.annotations
    return (f"claim/{claim.metadata.key}",) if claim is not None and is_asked else ()


def volume_keys(change: ObjectChange) -> Iterable[str]:
    volume: PersistentVolume | None = change.new
    is_made = volume is not None and PROVISIONED_BY in volume.metadata.annotations
    return (f"volume/{volume.metadata.name}",) if volume is not None and is_made else ()


def attachment_keys(change: ObjectChange) -> Iterable[str]:
    """A volume that was detached may go."""
    gone: VolumeAttachment = change.newest
    return [f"volume/{name}" for name in attached_volume_of(gone)] if change.new is None else ()


SOURCES: Final = (
    Source(CLAIMS, claim_keys), Source(VOLUMES, volume_keys), Source(ATTACHMENTS, attachment_keys),
)  # fmt: skip


def volume_name(claim: PersistentVolumeClaim) -> str:
    return f"pvc-{claim.metadata.uid}"


def decide_zone(claim: PersistentVolumeClaim, storage_class: StorageClass, nodes: Sequence[Node]) -> str:
    """For a claim that is bound before anybody uses it: one of the zones that have nodes, by the claim's name."""
    zones = sorted(
        {
            node.metadata.labels[ZONE_LABEL]
            for node in nodes
            if node.metadata.labels.get(ZONE_LABEL)
            and topology_matches(storage_class.allowed_topologies, node.metadata.labels)
        }
    )
    return zones[zlib.crc32(claim.metadata.key.encode()) % len(zones)] if zones else ""


def volume_manifest(claim: PersistentVolumeClaim, storage_class: StorageClass, zone: str) -> Document:
    meta = claim.metadata
    name = volume_name(claim)
    spec: Document = {
        "capacity": {STORAGE: claim.spec.resources.requests.get(STORAGE, "1Gi")},
        "accessModes": list(claim.spec.access_modes),
        "claimRef": {
            "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta.namespace, "name": meta.name,
            "uid": meta.uid, "resourceVersion": meta.resource_version,
        },
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy or "Delete",
        "storageClassName": class_of_claim(claim),
        "csi": {"driver": _driver_of(storage_class.provisioner), "volumeHandle": name},
    }  # fmt: skip
    if claim.spec.volume_mode is not None:
        spec["volumeMode"] = claim.spec.volume_mode
    if storage_class.mount_options:
        spec["mountOptions"] = list(storage_class.mount_options)
    if claim.spec.volume_attributes_class_name:
        spec["volumeAttributesClassName"] = claim.spec.volume_attributes_class_name
    if zone:
        term = {"matchExpressions": [{"key": ZONE_LABEL, "operator": "In", "values": [zone]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return {"metadata": {"name": name, "annotations": {PROVISIONED_BY: storage_class.provisioner}}, "spec": spec}


def _driver_of(provisioner: str) -> str:
    """Not every provisioner is called as a driver may be: one that has no driver is played by ours.

    >>> _driver_of("ebs.csi.aws.com"), _driver_of("k8s.io/minikube-hostpath")
    ('ebs.csi.aws.com', 'simulated.doorman.dev')
    """
    driver = driver_of(provisioner)
    return driver if "/" not in driver else SIMULATED_DRIVER


def delay_of(annotations: Mapping[str, str]) -> float:
    """
    >>> delay_of({"doorman.dev/provision-delay": "1m30s"}), delay_of({"doorman.dev/provision-delay": "soon"})
    (90.0, 0.0)
    """
    try:
        return max(0.0, parse_duration(annotations.get(PROVISION_DELAY, "0s")))
    except ValueError:
        return 0.0


def decide_resize(claim: PersistentVolumeClaim, volume: PersistentVolume, *, allowed: bool) -> list[Action]:
    """A claim that asks for more than its volume has gets it, if its class allows that."""
    wanted = claim.spec.resources.requests.get(STORAGE, "")
    if claim.status.phase != "Bound" or not allowed or not wanted:
        return []
    actions: list[Action] = []
    if capacity_of(volume) < requested_storage(claim):
        text = f"External resizer is resizing volume {volume.metadata.name}"
        actions.append(claim_event(claim, "Resizing", text, component=_RESIZER))
        actions.append(patch_volume(volume, {"spec": {"capacity": {STORAGE: wanted}}}))
    if claim.status.capacity.get(STORAGE) != wanted and (actions or capacity_of(volume) == requested_storage(claim)):
        actions.append(patch_claim(claim, {"status": {"capacity": {STORAGE: wanted}}}, subresource="status"))
        actions.append(claim_event(claim, "VolumeResizeSuccessful", "Resize volume succeeded", component=_RESIZER))
    return actions


_RESIZER: Final = f"external-resizer {SIMULATED_DRIVER}"


class SimulatedProvisioner:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(
        self,
        claims: ListerOf[PersistentVolumeClaim],
        volumes: ListerOf[PersistentVolume],
        classes: ListerOf[StorageClass],
        nodes: ListerOf[Node],
        attachments: ListerOf[VolumeAttachment],
        *,
        stands_in: bool = False,
    ) -> None:
        """`stands_in`: it plays every other provisioner too, where those of a copied cluster do not run."""
        self._stands_in = stands_in
        self._claims = claims
        self._volumes = volumes
        self._classes = classes
        self._nodes = nodes
        self._attachments = attachments
        self._began: dict[str, tuple[str, Instant]] = {}
        """By the uid of a claim whose volume is being made: for which node, and since when."""

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change tries again."""

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, name = key.partition("/")
        return self._sync_claim(name, now) if kind == "claim" else self._sync_volume(name)

    def _sync_volume(self, name: str) -> Result:
        """What was released is deleted, if its policy says so, when no node has it any more."""
        volume = self._volumes.get(name)
        if volume is None or volume.status.phase != "Released" or volume.metadata.deletion_timestamp:
            return DONE
        if not self._is_ours(volume.metadata.annotations.get(PROVISIONED_BY, "")):
            return DONE
        if volume.spec.persistent_volume_reclaim_policy != "Delete":
            return DONE
        attached = self._attachments.by(BY_ATTACHED_VOLUME, name)
        if attached:
            text = f"persistentvolume {name} is still attached to node {attached[0].spec.node_name}"
            event = volume_event(volume, "VolumeFailedDelete", text, warns=True, component=SIMULATED_PROVISIONER)
            return Result(actions=(event,))
        return Result(actions=(Delete(resource=VOLUMES, name=name, uid=volume.metadata.uid),))

    def _sync_claim(self, key: str, now: Instant) -> Result:
        claim = self._claims.get(key)
        if claim is None or not self._is_ours(claim.metadata.annotations.get(STORAGE_PROVISIONER, "")):
            return DONE
        storage_class = self._classes.get(class_of_claim(claim))
        if claim.spec.volume_name:
            self._began.pop(claim.metadata.uid, None)
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None or not is_fully_bound(claim) or storage_class is None:
                return DONE
            return Result(actions=decide_resize(claim, volume, allowed=bool(storage_class.allow_volume_expansion)))
        if storage_class is None or not self._is_ours(storage_class.provisioner) or claim.metadata.deletion_timestamp:
            return DONE
        selected = claim.metadata.annotations.get(SELECTED_NODE, "")
        if not selected and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            self._began.pop(claim.metadata.uid, None)
            return DONE
        if self._volumes.get(volume_name(claim)) is not None:
            return DONE
        return self._provision(claim, storage_class, selected, now)

    def _is_ours(self, provisioner: str) -> bool:
        return provisioner == SIMULATED_PROVISIONER or (self._stands_in and provisioner not in ("", NO_PROVISIONER))

    def _provision(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass, selected: str, now: Instant
    ) -> Result:
        meta = claim.metadata
        actions: list[Action] = []
        node, began = self._began.get(meta.uid, ("", None))
        if began is None or node != selected:
            began = now
            self._began[meta.uid] = (selected, now)
            text = f'External provisioner is provisioning volume for claim "{meta.key}"'
            actions.append(self._event(claim, "Provisioning", text))
        due = began + delay_of(meta.annotations)
        if now < due:
            return Result(actions=actions, wakes=((f"claim/{meta.key}", due),))
        failure = meta.annotations.get(PROVISION_FAILURE, "")
        chosen = self._nodes.get(selected) if selected else None
        if not failure and selected and chosen is None:
            failure = f'error generating accessibility requirements: node "{selected}" not found'
        if failure:
            return self._fail(claim, storage_class, failure, actions, now)
        if chosen is not None:
            zone = chosen.metadata.labels.get(ZONE_LABEL, "")
        else:
            zone = decide_zone(claim, storage_class, list(self._nodes.list()))
        actions.append(Create(resource=VOLUMES, body=volume_manifest(claim, storage_class, zone)))
        text = f"Successfully provisioned volume {volume_name(claim)}"
        actions.append(self._event(claim, "ProvisioningSucceeded", text))
        return Result(actions=actions)

    def _fail(
        self,
        claim: PersistentVolumeClaim,
        storage_class: StorageClass,
        failure: str,
        actions: Sequence[Action],
        now: Instant,
    ) -> Result:
        """The scheduler is told by the annotation that goes; without one it is tried again after a while."""
        self._began.pop(claim.metadata.uid, None)
        text = f'failed to provision volume with StorageClass "{storage_class.metadata.name}": {failure}'
        event = self._event(claim, "ProvisioningFailed", text, warns=True)
        if SELECTED_NODE in claim.metadata.annotations:
            change = patch_claim(claim, {"metadata": {"annotations": {SELECTED_NODE: None}}})
            return Result(actions=(*actions, event, change))
        return Result(actions=(*actions, event), wakes=((f"claim/{claim.metadata.key}", now + RETRY_SECONDS),))

    @staticmethod
    def _event(claim: PersistentVolumeClaim, reason: str, text: str, *, warns: bool = False) -> Action:
        return claim_event(claim, reason, text, warns=warns, component=SIMULATED_PROVISIONER)
