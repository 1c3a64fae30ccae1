"""persistentvolume-binder-controller: gives volumes to claims, says how far both are, and reclaims what is released.

A claim gets the volume that it names, the one that is kept for it, or the smallest that satisfies it. One of a class
that waits for its first consumer gets a volume only when the scheduler has chosen the node. For a claim that no volume
satisfies the provisioner of its class is asked. A volume whose claim is gone is released, and kept or deleted as its
policy says.

Keys: `claim/<namespace>/<name>`, `volume/<name>` and `class/<name>`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from doorman.api.views.pod_indexes import BY_CLAIM
from doorman.api.views.pods import Pod
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES, PersistentVolume, PersistentVolumeClaim
from doorman.api.views.storage.volume_classes import DEFAULT_CLASS, STORAGE_CLASSES, StorageClass
from doorman.api.volume_annotations import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)
from doorman.base.clock import Instant
from doorman.client.actions import Action
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.volumes.volume_indexes import (
    ANY_CLASS,
    BY_CLAIM_REFERENCE,
    BY_VOLUME_NAME,
    FREE_BY_CLASS,
    UNBOUND_BY_CLASS,
)
from doorman.controllers.volumes.volume_reclaim import decide_reclaim
from doorman.controllers.volumes.volume_writes import (
    bind_writes,
    claim_event,
    patch_claim,
    patch_volume,
    set_claim_phase,
    set_phase,
    volume_event,
)
from doorman.semantics.volumes.volume_matching import (
    class_of_claim,
    class_of_volume,
    is_bound_to,
    is_delayed,
    is_same_mode,
    matching_volume,
    mismatch,
)

NAME: Final = "persistentvolume-binder-controller"
WORKERS: Final = 1
"""Two claims must not be given one volume."""

NO_CLASS: Final = "no persistent volumes available for this claim and no storage class is set"
FIRST_CONSUMER: Final = "waiting for first consumer to be created before binding"


def claim_keys(change: ObjectChange) -> Iterable[str]:
    claim: PersistentVolumeClaim = change.newest
    return (f"claim/{claim.metadata.key}",)


def volume_keys(change: ObjectChange) -> Iterable[str]:
    volume: PersistentVolume = change.newest
    return (f"volume/{volume.metadata.name}",)


def class_keys(change: ObjectChange) -> Iterable[str]:
    return (f"class/{change.new.metadata.name}",) if change.new is not None else ()


SOURCES: Final = (Source(VOLUMES, volume_keys), Source(CLAIMS, claim_keys), Source(STORAGE_CLASSES, class_keys))


class KnownVolumes(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision about a claim looks at."""

    volumes: Sequence[PersistentVolume]
    classes: dict[str, StorageClass]
    waiting_pods: Sequence[str] = ()
    """Names of pods that use the claim and have no node."""

    def volume(self, name: str) -> PersistentVolume | None:
        return next((volume for volume in self.volumes if volume.metadata.name == name), None)


def decide_claim(claim: PersistentVolumeClaim, around: KnownVolumes) -> list[Action]:
    if BIND_COMPLETED in claim.metadata.annotations:
        return decide_bound_claim(claim, around)
    if claim.spec.volume_name:
        return decide_named_volume(claim, around.volume(claim.spec.volume_name))
    delayed = is_delayed(claim, around.classes)
    volume = best_match(claim, around.volumes, delayed=delayed)
    if volume is not None:
        return bind_writes(volume, claim)
    if claim.spec.storage_class_name is None and not class_of_claim(claim):
        default = default_class(around.classes.values())
        if default is not None:
            return [patch_claim(claim, {"spec": {"storageClassName": default.metadata.name}})]
    pending = set_claim_phase(claim, "Pending")
    if delayed and SELECTED_NODE not in claim.metadata.annotations:
        return [_waiting_event(claim, around.waiting_pods), *pending]
    if class_of_claim(claim):
        return decide_provisioning(claim, around.classes)
    return [claim_event(claim, "FailedBinding", NO_CLASS), *pending]


def best_match(
    claim: PersistentVolumeClaim, volumes: Sequence[PersistentVolume], *, delayed: bool
) -> PersistentVolume | None:
    """Volumes with fewer access modes come first."""
    wanted = set(claim.spec.access_modes)
    by_modes: dict[tuple[str, ...], list[PersistentVolume]] = {}
    for volume in volumes:
        if wanted <= set(volume.spec.access_modes):
            by_modes.setdefault(tuple(sorted(volume.spec.access_modes)), []).append(volume)
    for modes in sorted(by_modes, key=lambda modes: (len(modes), modes)):
        found = matching_volume(claim, by_modes[modes], delayed=delayed)
        if found is not None:
            return found
    return None


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The newest of those that say so."""
    found = [one for one in classes if one.metadata.annotations.get(DEFAULT_CLASS) == "true"]
    found.sort(key=lambda one: one.metadata.name)
    return max(found, key=lambda one: one.metadata.creation_timestamp, default=None)


def _waiting_event(claim: PersistentVolumeClaim, pods: Sequence[str]) -> Action:
    if not pods:
        return claim_event(claim, "WaitForFirstConsumer", FIRST_CONSUMER)
    who = f"pod {pods[0]}" if len(pods) == 1 else f"pods {','.join(pods)}"
    return claim_event(claim, "WaitForPodScheduled", f"waiting for {who} to be scheduled")


def decide_provisioning(claim: PersistentVolumeClaim, classes: dict[str, StorageClass]) -> list[Action]:
    """Ask the provisioner of the class: what it is told is an annotation."""
    name = class_of_claim(claim)
    storage_class = classes.get(name)
    if storage_class is None:
        text = f'storageclass.storage.k8s.io "{name}" not found'
        return [claim_event(claim, "ProvisioningFailed", text, warns=True)]
    provisioner = storage_class.provisioner
    if provisioner == NO_PROVISIONER:
        return set_claim_phase(claim, "Pending")
    actions: list[Action] = []
    told = dict.fromkeys((BETA_STORAGE_PROVISIONER, STORAGE_PROVISIONER), provisioner)
    if any(claim.metadata.annotations.get(key) != provisioner for key in told):
        actions.append(patch_claim(claim, {"metadata": {"annotations": told}}))
    text = (
        f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
        "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
        "correctly registered."
    )
    return [*actions, claim_event(claim, "ExternalProvisioning", text)]


def decide_named_volume(claim: PersistentVolumeClaim, volume: PersistentVolume | None) -> list[Action]:
    """Of a claim that asks for one volume by name."""
    pending = set_claim_phase(claim, "Pending")
    if volume is None:
        return pending
    if volume.spec.claim_ref is None:
        fault = mismatch(claim, volume)
        if fault:
            text = f'Cannot bind to requested volume "{volume.metadata.name}": {fault}'
            return [claim_event(claim, "VolumeMismatch", text, warns=True), *pending]
        return bind_writes(volume, claim)
    if is_bound_to(volume, claim):
        return bind_writes(volume, claim)
    text = f'volume "{volume.metadata.name}" already bound to a different claim.'
    return [claim_event(claim, "FailedBinding", text, warns=True), *pending]


def decide_bound_claim(claim: PersistentVolumeClaim, around: KnownVolumes) -> list[Action]:
    volume = around.volume(claim.spec.volume_name)
    if not claim.spec.volume_name:
        return _lost(
            claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
        )
    if volume is None:
        return _lost(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
    if volume.spec.claim_ref is None or volume.spec.claim_ref.uid == claim.metadata.uid:
        return bind_writes(volume, claim)
    text = "Two claims are bound to the same volume, this one is bound incorrectly"
    return _lost(claim, "ClaimMisbound", text)


def _lost(claim: PersistentVolumeClaim, reason: str, text: str) -> list[Action]:
    if claim.status.phase == "Lost":
        return []
    return [*set_claim_phase(claim, "Lost"), claim_event(claim, reason, text, warns=True)]


def decide_volume(volume: PersistentVolume, claim: PersistentVolumeClaim | None) -> list[Action]:
    """`claim`: the one that `claimRef` names, if it is there and the same."""
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return set_phase(volume, "Available")
    if claim is None:
        return decide_reclaim(volume)
    if not claim.spec.volume_name:
        if is_same_mode(claim, volume):
            return []
        told = f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim.metadata.name}" '
        text = f'Cannot bind PersistentVolume "{volume.metadata.name}" to requested PersistentVolumeClaim '
        due = "due to incompatible volumeMode."
        return [
            volume_event(volume, "VolumeMismatch", told + due, warns=True),
            claim_event(claim, "VolumeMismatch", text + due, warns=True),
        ]
    if claim.spec.volume_name == volume.metadata.name:
        return set_phase(volume, "Bound")
    if PROVISIONED_BY in volume.metadata.annotations and volume.spec.persistent_volume_reclaim_policy == "Delete":
        return decide_reclaim(volume)
    return decide_unbinding(volume)


def decide_unbinding(volume: PersistentVolume) -> list[Action]:
    """Its claim has another volume. One that somebody kept for a claim by name stays kept for that name."""
    if BOUND_BY_CONTROLLER in volume.metadata.annotations:
        body = {"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}, "spec": {"claimRef": None}}
    else:
        body = {"spec": {"claimRef": {"uid": None, "resourceVersion": None}}}
    return [patch_volume(volume, body), *set_phase(volume, "Available")]


class PersistentVolumeBinderController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(
        self,
        claims: ListerOf[PersistentVolumeClaim],
        volumes: ListerOf[PersistentVolume],
        classes: ListerOf[StorageClass],
        pods: ListerOf[Pod],
    ) -> None:
        self._claims = claims
        self._volumes = volumes
        self._classes = classes
        self._pods = pods

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change tries again."""

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, name = key.partition("/")
        match kind:
            case "claim":
                return self._sync_claim(name, now)
            case "volume":
                return self._sync_volume(name, now)
            case _:
                assert kind == "class", f"unknown key {key}"
                return Result(wakes=[(f"claim/{claim}", now) for claim in self._unbound(name)])

    def _sync_claim(self, key: str, now: Instant) -> Result:
        claim = self._claims.get(key)
        if claim is None:
            # What was its own is released, or free for others.
            return Result(wakes=[(f"volume/{name}", now) for name in self._volumes_for(key)])
        waiting = [pod.metadata.name for pod in self._pods.by(BY_CLAIM, key) if not pod.spec.node_name]
        classes = {one.metadata.name: one for one in self._classes.list()}
        around = KnownVolumes(volumes=self._candidates(claim), classes=classes, waiting_pods=sorted(waiting))
        actions = decide_claim(claim, around)
        others = [(f"volume/{name}", now) for name in self._volumes_for(key) if name != claim.spec.volume_name]
        return Result(actions=actions, wakes=others if claim.spec.volume_name else ())

    def _sync_volume(self, name: str, now: Instant) -> Result:
        volume = self._volumes.get(name)
        if volume is None:
            lost = self._claims.by(BY_VOLUME_NAME, name)
            return Result(wakes=[(f"claim/{claim.metadata.key}", now) for claim in lost])
        reference = volume.spec.claim_ref
        found = self._claims.get(reference.key) if reference is not None else None
        claim = found if found is not None and reference is not None and reference.uid == found.metadata.uid else None
        actions = decide_volume(volume, claim)
        if found is not None and is_bound_to(volume, found) and BIND_COMPLETED not in found.metadata.annotations:
            return Result(actions=actions, wakes=((f"claim/{found.metadata.key}", now),))
        if volume.status.phase == "Available" and reference is None:
            named = [each.metadata.key for each in self._claims.by(BY_VOLUME_NAME, name)]
            keys = dict.fromkeys((*named, *self._unbound(class_of_volume(volume))))
            return Result(actions=actions, wakes=[(f"claim/{key}", now) for key in keys])
        return Result(actions=actions)

    def _candidates(self, claim: PersistentVolumeClaim) -> Sequence[PersistentVolume]:
        """The volume that it names; or else those that are kept for it, and those that anybody may have."""
        if claim.spec.volume_name:
            named = self._volumes.get(claim.spec.volume_name)
            return () if named is None else (named,)
        kept = self._volumes.by(BY_CLAIM_REFERENCE, claim.metadata.key)
        return sorted(
            (*kept, *self._volumes.by(FREE_BY_CLASS, class_of_claim(claim))), key=lambda volume: volume.metadata.name
        )

    def _volumes_for(self, claim_key: str) -> list[str]:
        return [volume.metadata.name for volume in self._volumes.by(BY_CLAIM_REFERENCE, claim_key)]

    def _unbound(self, class_name: str) -> list[str]:
        """Claims that wait for volumes of a class; those that name none may get the default one."""
        found = (*self._claims.by(UNBOUND_BY_CLASS, class_name), *self._claims.by(UNBOUND_BY_CLASS, ANY_CLASS))
        return sorted({claim.metadata.key for claim in found})
