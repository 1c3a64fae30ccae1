"""A pod's claims, sorted by how far they are: bound, to be bound when the pod is placed, or waited for."""

import msgspec

from doorman.api.views.pods import Pod
from doorman.api.views.storage.persistent_volumes import PersistentVolumeClaim
from doorman.scheduler.framework import PreFilterReject
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.pod_volumes import ownership_fault, volumes_with_claims
from doorman.semantics.volumes.volume_matching import is_delayed, is_fully_bound


class PodVolumeClaims(msgspec.Struct, frozen=True, kw_only=True):
    bound: tuple[PersistentVolumeClaim, ...] = ()
    delayed: tuple[PersistentVolumeClaim, ...] = ()
    """Their volumes are chosen, or made, when the pod is placed."""


def not_found(name: str) -> str:
    return f'persistentvolumeclaim "{name}" not found'


def pod_volume_claims(pod: Pod, state: VolumeState) -> PodVolumeClaims | PreFilterReject | None:
    """None: the pod has no claims."""
    claims: list[PersistentVolumeClaim] = []
    for volume, name in volumes_with_claims(pod):
        claim = state.claim(f"{pod.metadata.namespace}/{name}")
        fault = claim_fault(pod, claim, name, is_ephemeral=volume.ephemeral is not None)
        if fault or claim is None:
            return PreFilterReject(message=fault)
        claims.append(claim)
    if not claims:
        return None
    bound = tuple(claim for claim in claims if is_fully_bound(claim))
    unbound = tuple(claim for claim in claims if not is_fully_bound(claim))
    delayed = tuple(claim for claim in unbound if not claim.spec.volume_name and is_delayed(claim, state.classes))
    if len(delayed) < len(unbound):
        return PreFilterReject(message="pod has unbound immediate PersistentVolumeClaims")
    return PodVolumeClaims(bound=bound, delayed=delayed)


def claim_fault(pod: Pod, claim: PersistentVolumeClaim | None, name: str, *, is_ephemeral: bool) -> str:
    """Why a claim is of no use to the pod as it is, in Kubernetes' words; empty when it is fine."""
    if claim is None:
        if is_ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return not_found(name)
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if claim.metadata.deletion_timestamp:
        return f'persistentvolumeclaim "{name}" is being deleted'
    return ownership_fault(pod, claim) if is_ephemeral else ""
