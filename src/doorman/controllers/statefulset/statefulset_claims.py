"""Who owns the volume claims of a StatefulSet's pods, and with whom they go: persistentVolumeClaimRetentionPolicy.

Rules
-----
1. `whenDeleted: Delete`: the claims of pods that the set wants belong to the set, and go with it.
2. `whenScaled: Delete`: the claims of a pod beyond the number of replicas belong to that pod, and go with it.
3. Otherwise neither owns them, and they stay.
4. A claim that somebody else manages is left to him.
5. A claim that belongs to an earlier pod of the same name is about to go: the pod is not made before it has gone.
"""

from collections.abc import Iterable
from typing import Any

from doorman.api.views.apps import StatefulSet
from doorman.api.views.meta import Object, ObjectMeta
from doorman.api.views.pods import Pod
from doorman.api.well_known import PERSISTENT_VOLUME_CLAIMS
from doorman.client.actions import Patch
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.pod_state import owner_reference


def claim_name(template: dict[str, Any], set_name: str, ordinal: int) -> str:  # a PersistentVolumeClaim as JSON
    return f"{(template.get('metadata') or {}).get('name', '')}-{set_name}-{ordinal}"


def claims_of(stateful_set: StatefulSet, ordinal: int, claims: ListerOf[Object]) -> Iterable[Object]:
    """The claims of one ordinal that there are."""
    meta = stateful_set.metadata
    for template in stateful_set.spec.volume_claim_templates:
        found = claims.get(f"{meta.namespace}/{claim_name(template, meta.name, ordinal)}")
        if found is not None:
            yield found


def is_about_to_go(stateful_set: StatefulSet, ordinal: int, claims: ListerOf[Object]) -> bool:
    """Rule 5, for an ordinal that has no pod."""
    pod_name = f"{stateful_set.metadata.name}-{ordinal}"
    return any(
        reference.kind == "Pod" and reference.name == pod_name
        for claim in claims_of(stateful_set, ordinal, claims)
        for reference in claim.metadata.owner_references
    )


def decide_claim_owners(
    stateful_set: StatefulSet, pod: Pod, ordinal: int, claims: ListerOf[Object], *, is_wanted: bool
) -> Iterable[Patch]:
    """Rules 1 to 4: what makes the owners of a pod's claims right. `is_wanted`: its ordinal is one of the replicas."""
    policy = stateful_set.spec.persistent_volume_claim_retention_policy
    wanted: dict[str, dict[str, Any]] = {}  # owner references as JSON, by uid
    if is_wanted and policy.when_deleted == "Delete":
        wanted = _reference("apps/v1", "StatefulSet", stateful_set.metadata)
    elif not is_wanted and policy.when_scaled == "Delete":
        wanted = _reference("v1", "Pod", pod.metadata)
    elif not is_wanted and policy.when_deleted == "Delete":
        wanted = _reference("apps/v1", "StatefulSet", stateful_set.metadata)
    ours = (stateful_set.metadata.uid, pod.metadata.uid)
    for claim in claims_of(stateful_set, ordinal, claims):
        references = claim.metadata.owner_references
        is_others = any(reference.controller and reference.uid not in ours for reference in references)
        target = {} if is_others else wanted
        present = {reference.uid for reference in references}
        managing = {reference.uid for reference in references if reference.controller}
        added = [reference for uid, reference in target.items() if uid not in managing]
        removed = [{"$patch": "delete", "uid": uid} for uid in ours if uid in present and uid not in target]
        if added or removed:
            meta = claim.metadata
            order = [{"uid": one.uid} for one in references if one.uid not in ours or one.uid in target]
            order += [{"uid": one["uid"]} for one in added if one["uid"] not in present]  # who comes last stands last
            owners = {"ownerReferences": [*removed, *added], "$setElementOrder/ownerReferences": order}
            body = {"metadata": {"uid": meta.uid, **owners}}
            yield Patch(resource=PERSISTENT_VOLUME_CLAIMS, namespace=meta.namespace, name=meta.name, body=body)


def _reference(api_version: str, kind: str, meta: ObjectMeta) -> dict[str, dict[str, Any]]:  # JSON, by uid
    return {meta.uid: owner_reference(api_version, kind, meta)}
