"""What a Deployment writes: its ReplicaSets, their sizes and annotations, their end."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from doorman.api.views.apps import Deployment, ReplicaSet
from doorman.api.views.meta import ObjectMeta
from doorman.api.well_known import APPS_V1, LAST_APPLIED, POD_TEMPLATE_HASH_LABEL
from doorman.client.actions import Action, Delete, Patch, PatchType, RecordEvent
from doorman.controllers.deployment.deployment_sizes import (
    DESIRED,
    HISTORY,
    MAX,
    REVISION,
    Resize,
    max_replicas,
    revision_of,
)
from doorman.controllers.pods.controller_refs import Claimant
from doorman.controllers.pods.status_reports import reference_to

NAME: Final = "deployment-controller"
KIND: Final = "Deployment"
REPLICA_SETS: Final = "replicasets.apps"
NOT_COPIED: Final = frozenset(
    {
        LAST_APPLIED,
        REVISION,
        HISTORY,
        DESIRED,
        MAX,
        "deprecated.deployment.rollback.to",
    }
)


def wanted_annotations(deployment: Deployment, found: ReplicaSet | None, revision: int) -> dict[str, str]:
    """What the new ReplicaSet's annotations lack. One that was new before keeps a list of the numbers it has had."""
    before = found.metadata.annotations if found is not None else {}
    wanted = {key: value for key, value in deployment.metadata.annotations.items() if key not in NOT_COPIED}
    if found is None or revision_of(found) < revision:
        wanted[REVISION] = str(revision)
        if REVISION in before:
            wanted[HISTORY] = ",".join(filter(None, (before.get(HISTORY, ""), before[REVISION])))
    return {key: value for key, value in wanted.items() if before.get(key) != value}


def replica_set_body(
    deployment: Deployment, claimant: Claimant, name: str, hash_: str, size: int, revision: int
) -> dict[str, Any]:
    template = deployment.spec.template
    labels = {**((template.get("metadata") or {}).get("labels") or {}), POD_TEMPLATE_HASH_LABEL: hash_}
    annotations = wanted_annotations(deployment, None, revision) | _sizes(deployment)
    selector = deployment.spec.selector
    assert selector is not None, "a Deployment has a selector"
    chosen: dict[str, Any] = {"matchLabels": {**selector.match_labels, POD_TEMPLATE_HASH_LABEL: hash_}}  # JSON
    if selector.match_expressions:
        chosen["matchExpressions"] = [
            {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
            for one in selector.match_expressions
        ]
    return {
        "apiVersion": APPS_V1,
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": deployment.metadata.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [claimant.reference()],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": deployment.spec.min_ready_seconds,
            "selector": chosen,
            "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
        },
    }


def _sizes(deployment: Deployment) -> dict[str, str]:
    return {DESIRED: str(deployment.spec.replicas), MAX: str(max_replicas(deployment))}


def resizes(deployment: Deployment, steps: Iterable[Resize]) -> list[Action]:
    actions: list[Action] = []
    for step in steps:
        found, size = step.replica_set, step.replicas
        annotations = found.metadata.annotations
        known = {key: value for key, value in _sizes(deployment).items() if annotations.get(key) != value}
        if size == found.spec.replicas and not known:
            continue
        body: dict[str, Any] = {"spec": {"replicas": size}}  # JSON
        if known:
            body["metadata"] = {"annotations": known}
        actions.append(replica_set_patch(found, body))
        if size != found.spec.replicas:
            way = "up" if size > found.spec.replicas else "down"
            text = f"Scaled {way} replica set {found.metadata.name} from {found.spec.replicas} to {size}"
            actions.append(deployment_event(deployment.metadata, "ScalingReplicaSet", text))
    return actions


def replica_set_patch(found: ReplicaSet, body: dict[str, Any]) -> Patch:  # JSON
    meta = found.metadata
    metadata = {**body.get("metadata", {}), "uid": meta.uid}
    return Patch(
        resource=REPLICA_SETS,
        namespace=meta.namespace,
        name=meta.name,
        body={**body, "metadata": metadata},
        type=PatchType.MERGE,
    )


def cleanup(deployment: Deployment, old: Sequence[ReplicaSet]) -> list[Action]:
    limit = deployment.spec.revision_history_limit
    if limit is None or limit < 0:
        return []
    alive = sorted((one for one in old if not one.metadata.deletion_timestamp), key=revision_of)
    excess = alive[: max(len(alive) - limit, 0)]
    return [
        Delete(resource=REPLICA_SETS, namespace=one.metadata.namespace, name=one.metadata.name, uid=one.metadata.uid)
        for one in excess
        if one.spec.replicas == 0
        and one.status.replicas == 0
        and one.metadata.generation <= one.status.observed_generation
    ]


def deployment_event(meta: ObjectMeta, reason: str, message: str, *, kind: str = "Normal") -> RecordEvent:
    regarding = reference_to(meta, api_version=APPS_V1, kind=KIND)
    return RecordEvent(regarding=regarding, type=kind, reason=reason, message=message, component=NAME)
