"""Pods without a node at the end of a plan: what the scheduler says, and what they would need."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.plan.plan_result import PendingPod
from doorman.plan.trails.pod_departures import OwnerOf
from doorman.plan.trails.pod_trail import PodTrail
from doorman.scheduler.explain.explanation import Group
from doorman.scheduler.scheduler import Scheduler

EXPLAINED_MAX: Final = 20
"""Workloads whose pods are explained: it takes a look at every node."""
GROUPS_MAX: Final = 2


def pending_pods(
    trails: Iterable[PodTrail], scheduler: Scheduler | None, owner_of: OwnerOf, begun: Instant
) -> Iterator[PendingPod]:
    """In the order of their names."""
    explained: dict[tuple[str, str], tuple[str, ...]] = {}
    found = [trail for trail in trails if is_pending(trail)]
    for trail in sorted(found, key=lambda one: (one.last.metadata.namespace, one.last.metadata.name)):
        pod = trail.last
        owner = owner_of(pod)
        place = (pod.metadata.namespace, owner or pod.metadata.name)
        if place not in explained and scheduler is not None and len(explained) < EXPLAINED_MAX:
            explained[place] = tuple(_needs(scheduler, pod))
        since = trail.created - begun if trail.created is not None else -1.0
        scheduled = pod.status.condition("PodScheduled")
        yield PendingPod(
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            owner=owner,
            since_seconds=round(since, 1),
            message=scheduled.message if scheduled is not None else "",
            needs=explained.get(place, ()),
        )


def is_pending(trail: PodTrail) -> bool:
    pod = trail.last
    return trail.gone is None and not pod.spec.node_name and not pod.metadata.deletion_timestamp and not pod.is_finished


def _needs(scheduler: Scheduler, pod: Pod) -> Iterator[str]:
    for group in scheduler.explain(pod, 0.0).groups[:GROUPS_MAX]:
        yield _need(group)


def _need(group: Group) -> str:
    nodes = f"{group.count} node{'' if group.count == 1 else 's'}"
    if group.nodes:
        nodes += f" ({group.nodes[0]}{', …' if group.count > 1 else ''})"
    if group.tolerations:
        return f"{nodes}: toleration {', '.join(map(_in_yaml, group.tolerations))}"
    texts = [f"{one.reason}: {one.what}" if one.what else one.reason for one in group.objections]
    return f"{nodes}: {'; '.join(texts)}"


def _in_yaml(toleration: Mapping[str, str]) -> str:
    """To be copied into a manifest: a value is a text there, whatever it looks like.

    >>> _in_yaml({"key": "gpu", "operator": "Equal", "value": "true"})
    '{key: gpu, operator: Equal, value: "true"}'
    """
    parts = (f'{name}: "{text}"' if name == "value" else f"{name}: {text}" for name, text in toleration.items())
    return "{" + ", ".join(parts) + "}"
