"""The pods of a StatefulSet: who comes, who goes, in which order, and how one is made.

Rules
-----
1. Each ordinal has one pod of a fixed name. A missing one is made; one that has ended is deleted and made anew later.
   A pod that is being deleted blocks its ordinal until it is gone.
2. In order (OrderedReady), one at a time: the next ordinal waits until the one before is running, ready and available;
   going down, the highest goes first and the next waits until it is gone. Parallel does not wait.
3. A new template (RollingUpdate) goes from the highest ordinal down to the partition: a pod of another revision is
   deleted, as many at a time as leave no more than maxUnavailable (one; a share is rounded down, but not to zero)
   unwell in the whole set. With Parallel those that are unwell already go first, and freely. Below the partition, and
   where the rollout has not come yet, pods are made of the current revision. OnDelete replaces nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.apps import ControllerRevision, StatefulSet, StatefulSetStatus, Template
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.controllers.pods.controller_revisions import HASH_LABEL
from doorman.controllers.pods.int_or_percent import scaled
from doorman.controllers.pods.pod_control import pod_body
from doorman.controllers.pods.pod_state import is_available, is_ready
from doorman.controllers.statefulset.statefulset_claims import claim_name

NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"

Ordinals = Mapping[int, Pod]


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """The revision most pods have, and the one they shall have, by name and template."""

    current: str
    current_template: Template
    update: str
    update_template: Template


class StatefulPodPlan(msgspec.Struct, frozen=True, kw_only=True):
    create: tuple[int, ...] = ()
    delete: tuple[Pod, ...] = ()


def ordinal_of(stateful_set: StatefulSet, pod_name: str) -> int | None:
    """
    >>> from doorman.api.views.meta import ObjectMeta
    >>> web = StatefulSet(metadata=ObjectMeta(name="web"))
    >>> ordinal_of(web, "web-12"), ordinal_of(web, "web-x"), ordinal_of(web, "other-1")
    (12, None, None)
    """
    parent, dash, number = pod_name.rpartition("-")
    if not dash or parent != stateful_set.metadata.name or not number.isdecimal():
        return None
    return int(number)


def decide_pods(stateful_set: StatefulSet, pods: Ordinals, versions: Versions, now: Instant) -> StatefulPodPlan:
    """Rules 1 to 3."""
    in_order = stateful_set.spec.pod_management_policy != "Parallel"
    wanted = wanted_ordinals(stateful_set)
    create: list[int] = []
    delete: list[Pod] = []
    for ordinal in wanted:
        pod = pods.get(ordinal)
        if pod is None:
            create.append(ordinal)
        elif pod.is_finished and not pod.metadata.deletion_timestamp:
            delete.append(pod)
        elif not in_order or _is_well(stateful_set, pod, now):
            continue
        if in_order:
            return StatefulPodPlan(create=tuple(create), delete=tuple(delete))
    for ordinal in sorted((one for one in pods if one not in wanted), reverse=True):
        pod = pods[ordinal]
        if not pod.metadata.deletion_timestamp:
            delete.append(pod)
        if in_order:
            return StatefulPodPlan(create=tuple(create), delete=tuple(delete))
    if create or delete or stateful_set.spec.update_strategy.type == "OnDelete":
        return StatefulPodPlan(create=tuple(create), delete=tuple(delete))
    return _decide_update(stateful_set, pods, versions, now)


def decide_status(
    stateful_set: StatefulSet, pods: Sequence[Pod], versions: Versions, now: Instant
) -> StatefulSetStatus:
    ready = [pod for pod in pods if pod.status.phase == "Running" and is_ready(pod)]
    available = sum(is_available(pod, stateful_set.spec.min_ready_seconds, now) for pod in ready)
    updated = count_of_revision(pods, versions.update)
    current = count_of_revision(pods, versions.current)
    is_complete = (
        stateful_set.spec.update_strategy.type != "OnDelete"
        and updated == len(pods) == len(ready) == stateful_set.spec.replicas
    )
    return StatefulSetStatus(
        observed_generation=stateful_set.metadata.generation,
        replicas=len(pods),
        ready_replicas=len(ready),
        current_replicas=updated if is_complete else current,
        updated_replicas=updated,
        available_replicas=available,
        current_revision=versions.update if is_complete else versions.current,
        update_revision=versions.update,
        collision_count=stateful_set.status.collision_count,
    )


def count_of_revision(pods: Sequence[Pod], revision: str) -> int:
    return sum(
        1 for pod in pods if not pod.metadata.deletion_timestamp and pod.metadata.labels.get(HASH_LABEL) == revision
    )


def stateful_pod(
    stateful_set: StatefulSet,
    ordinal: int,
    versions: Versions,
    *,
    current_count: int,
    owner: Mapping[str, Any],  # an owner reference as JSON
) -> Document:
    """Its identity: name, labels, host name, and claims of its own. `current_count` pods have the current revision."""
    revision, template = _version_for(stateful_set, ordinal, versions, current_count)
    name = f"{stateful_set.metadata.name}-{ordinal}"
    labels = {HASH_LABEL: revision, NAME_LABEL: name, INDEX_LABEL: str(ordinal)}
    spec: Document = {"hostname": name}
    if stateful_set.spec.service_name:
        spec["subdomain"] = stateful_set.spec.service_name
    claims = [(one.get("metadata") or {}).get("name", "") for one in stateful_set.spec.volume_claim_templates]
    if claims:
        others = [one for one in (template.get("spec") or {}).get("volumes") or [] if one.get("name") not in claims]
        own = [{"name": one, "persistentVolumeClaim": {"claimName": f"{one}-{name}"}} for one in claims]
        spec["volumes"] = [*own, *others]
    return pod_body(template, owner=owner, name=name, labels=labels, spec=spec)


def claim_bodies(stateful_set: StatefulSet, ordinal: int) -> list[Document]:
    """The volume claims of one pod."""
    meta = stateful_set.metadata
    selector = stateful_set.spec.selector
    labels = selector.match_labels if selector is not None else {}
    bodies = []
    for template in stateful_set.spec.volume_claim_templates:
        of_template = template.get("metadata") or {}
        metadata = {
            **{key: of_template[key] for key in ("annotations",) if key in of_template},
            "name": claim_name(template, meta.name, ordinal),
            "namespace": meta.namespace,
            "labels": {**(of_template.get("labels") or {}), **labels},
        }
        spec = template.get("spec") or {}
        bodies.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    return bodies


def template_of_revision(revision: ControllerRevision) -> Template:
    template: Template = dict(((revision.data or {}).get("spec") or {}).get("template") or {})
    template.pop("$patch", None)
    return template


def wanted_ordinals(stateful_set: StatefulSet) -> range:
    start = stateful_set.spec.ordinals.start
    return range(start, start + stateful_set.spec.replicas)


def _decide_update(stateful_set: StatefulSet, pods: Ordinals, versions: Versions, now: Instant) -> StatefulPodPlan:
    wanted = wanted_ordinals(stateful_set)
    rolling = stateful_set.spec.update_strategy.rolling_update
    given = rolling.max_unavailable if rolling is not None else None
    allowed = max(scaled(given, len(wanted), default=1, round_up=False), 1)
    unwell = {ordinal for ordinal in wanted if not _is_well(stateful_set, pods[ordinal], now)}
    highest_first = range(wanted.stop - 1, _partition_end(stateful_set) - 1, -1)
    old = [ordinal for ordinal in highest_first if _is_outdated(pods[ordinal], versions)]
    free: list[int] = []
    if stateful_set.spec.pod_management_policy == "Parallel":
        free = [ordinal for ordinal in old if ordinal in unwell]
        old = [ordinal for ordinal in old if ordinal not in unwell]
    going = [*free, *old[: max(allowed - len(unwell), 0)]]
    return StatefulPodPlan(delete=tuple(pods[ordinal] for ordinal in going))


def _is_outdated(pod: Pod, versions: Versions) -> bool:
    return pod.metadata.labels.get(HASH_LABEL) != versions.update and not pod.metadata.deletion_timestamp


def _version_for(
    stateful_set: StatefulSet, ordinal: int, versions: Versions, current_count: int
) -> tuple[str, Template]:
    if stateful_set.spec.update_strategy.type != "OnDelete":
        start = stateful_set.spec.ordinals.start
        rolling = stateful_set.spec.update_strategy.rolling_update
        bound = rolling.partition if rolling is not None and rolling.partition else current_count
        if ordinal < start + bound:
            return versions.current, versions.current_template
    return versions.update, versions.update_template


def _partition_end(stateful_set: StatefulSet) -> int:
    rolling = stateful_set.spec.update_strategy.rolling_update
    return stateful_set.spec.ordinals.start + (rolling.partition if rolling is not None else 0)


def _is_well(stateful_set: StatefulSet, pod: Pod, now: Instant) -> bool:
    return (
        pod.status.phase == "Running"
        and not pod.metadata.deletion_timestamp
        and is_available(pod, stateful_set.spec.min_ready_seconds, now)
    )
