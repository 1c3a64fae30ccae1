"""persistentvolumeclaim-protection-controller: a claim that a pod uses is not deleted.

It reads claims and pods, takes the finalizer off claims that are to go and that no pod on a node names, and says of
bound claims whether any pod names them (condition `Unused`). Keys are those of claims, and `pod:` with the uid of a
pod for all claims that were made for it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from doorman.api.views.pod_indexes import BY_CLAIM, claims_of
from doorman.api.views.pods import Pod
from doorman.api.views.storage.persistent_volumes import CLAIMS, PersistentVolumeClaim
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import Action, Patch
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.volumes.protection_finalizers import decide_finalizer, is_concerned

NAME: Final = "persistentvolumeclaim-protection-controller"
FINALIZER: Final = "kubernetes.io/pvc-protection"
UNUSED: Final = "Unused"
OWNED_BY: Final = "pod:"
WORKERS: Final = 10


def claim_keys(change: ObjectChange) -> Iterable[str]:
    claim = change.new
    if claim is None:
        return ()
    is_unsaid = all(condition.type != UNUSED for condition in claim.status.conditions)
    return (claim.metadata.key,) if is_unsaid or is_concerned(claim.metadata, FINALIZER) else ()


def pod_keys(change: ObjectChange) -> Iterable[str]:
    """The claims of a pod that came, went, was placed or ended."""
    old, new = change.old, change.new
    if old is not None and new is not None and old.metadata.uid == new.metadata.uid and _is_same_use(old, new):
        return ()
    return dict.fromkeys(key for pod in (new, old) if pod is not None for key in (*claims_of(pod), *_own_key(pod)))


def _own_key(pod: Pod) -> tuple[str, ...]:
    is_ephemeral = any(volume.ephemeral is not None for volume in pod.spec.volumes)
    return (f"{OWNED_BY}{pod.metadata.uid}",) if is_ephemeral else ()


def _is_same_use(old: Pod, new: Pod) -> bool:
    return (
        old.is_finished is new.is_finished
        and old.spec.node_name == new.spec.node_name
        and _is_shut_down(old) is _is_shut_down(new)
    )


SOURCES: Final = (Source(CLAIMS, claim_keys), Source("pods", pod_keys, only_with=CLAIMS))


def decide_claim(claim: PersistentVolumeClaim, pods: Sequence[Pod], now: Instant) -> list[Action]:
    """`pods`: those that name the claim."""
    actions: list[Action] = []
    users = [pod for pod in pods if _names(pod, claim)]
    if not claim.metadata.deletion_timestamp and claim.status.phase == "Bound":
        report = _decide_report(claim, now, is_used=any(not pod.is_finished for pod in users))
        actions += [report] if report is not None else []
    is_used = any(pod.spec.node_name and not _has_let_go(pod, claim) for pod in users)
    patch = decide_finalizer(CLAIMS, claim.metadata, FINALIZER, is_used=is_used)
    return [*actions, patch] if patch is not None else actions


def _names(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """By name, or the claim was made for one of the pod's volumes."""
    if claim.metadata.key in claims_of(pod):
        return True
    is_ephemeral = any(volume.ephemeral is not None for volume in pod.spec.volumes)
    return is_ephemeral and pod.metadata.uid == _maker_uid(claim)


def _maker_uid(claim: PersistentVolumeClaim) -> str:
    """Of the pod that the claim was made for; empty when it was made for nobody."""
    owners = claim.metadata.owner_references
    return next((owner.uid for owner in owners if owner.controller and owner.kind == "Pod"), "")


def _has_let_go(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """The node is done with the pod; a claim that was made for the pod need not wait for its finalizers."""
    return claim.metadata.key not in claims_of(pod) and _is_shut_down(pod)


def _is_shut_down(pod: Pod) -> bool:
    meta = pod.metadata
    return bool(meta.deletion_timestamp) and meta.deletion_grace_period_seconds == 0


def _decide_report(claim: PersistentVolumeClaim, now: Instant, *, is_used: bool) -> Patch | None:
    status = "False" if is_used else "True"
    said = next((condition.status for condition in claim.status.conditions if condition.type == UNUSED), "")
    if said == status:
        return None
    reason, message = (
        ("PodUsingPVC", "A pod is currently referencing this PVC")
        if is_used
        else ("NoPodsUsingPVC", "No pods are currently referencing this PVC")
    )
    condition = {
        "type": UNUSED, "status": status, "lastTransitionTime": to_time(now), "reason": reason, "message": message,
    }  # fmt: skip
    meta = claim.metadata
    body = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
    return Patch(resource=CLAIMS, namespace=meta.namespace, name=meta.name, subresource="status", body=body)


class PersistentVolumeClaimProtectionController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, claims: ListerOf[PersistentVolumeClaim], pods: ListerOf[Pod]) -> None:
        self._claims = claims
        self._pods = pods

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        if key.startswith(OWNED_BY):
            uid = key.removeprefix(OWNED_BY)
            claims = [claim for claim in self._claims.list() if _maker_uid(claim) == uid]
        else:
            found = self._claims.get(key)
            claims = [found] if found is not None else []
        actions = [action for claim in claims for action in decide_claim(claim, self._users(claim), now)]
        return Result(actions=actions) if actions else DONE

    def _users(self, claim: PersistentVolumeClaim) -> list[Pod]:
        meta = claim.metadata
        makers = (self._pods.get(f"{meta.namespace}/{owner.name}") for owner in meta.owner_references)
        return [*self._pods.by(BY_CLAIM, meta.key), *(pod for pod in makers if pod is not None)]

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change of the claim or of its pods tries again."""
        return
