"""Why a pod fits where it fits, as values: every node, every plugin, by name and amount.

Kubernetes says `3 node(s) had untolerated taint(s)`; an explanation says which taints, on which nodes, and which
toleration is missing. It is made by the plugins that decide (`doorman.scheduler.explain.explainer`).
"""

from collections.abc import Mapping
from typing import Any

import msgspec


class Objection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One plugin's no to one node."""

    plugin: str
    reason: str
    """The words Kubernetes uses."""
    what: str = ""
    topic: str = ""
    remedy: Mapping[str, Any] | None = None  # a fragment of a pod's spec that would cure it
    shortfall: int = 0
    preemptible: bool = False
    """Whether pods of lower priority that leave could cure it."""


class PluginScore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    plugin: str
    raw: int
    score: int
    """From 0 to 100."""
    weight: int


class NodeVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    node: str
    fits: bool
    objections: tuple[Objection, ...] = ()
    """All of them; Kubernetes counts only those of the first plugin."""
    scores: tuple[PluginScore, ...] = ()
    total: int = 0


class Group(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Nodes that refuse the pod for the same things."""

    count: int
    nodes: tuple[str, ...]
    """The nearest misses first, not more than a few."""
    objections: tuple[Objection, ...]
    """Of the first of these nodes."""
    tolerations: tuple[Mapping[str, Any], ...] = ()  # as in a pod's spec
    """Tolerations that alone would let the pod in; empty when they would not be enough."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pod: str
    profile: str
    state: str
    """`Unknown` (another scheduler's), `Gated`, `Bound`, `Schedulable` or `Unschedulable`."""
    message: str = ""
    """What Kubernetes would say of it, without preemption."""
    nodes: tuple[NodeVerdict, ...] = ()
    """In the order in which nodes are looked at."""
    feasible_nodes: int = 0
    best: str = ""
    """The node it would go to now."""
    bound_to: str = ""
    lead: tuple[PluginScore, ...] = ()
    """By how much the best node beats the next one, plugin by plugin: `raw` and `score` are differences."""
    runner_up: str = ""
    groups: tuple[Group, ...] = ()
    """Nodes that refuse the pod, nearest misses first."""


def without_names(explanation: Explanation) -> Explanation:
    """For people who may read the pod but not nodes: reasons and counts, no taints, labels, amounts or scores."""
    groups = tuple(
        msgspec.structs.replace(
            group,
            nodes=(),
            tolerations=(),
            objections=tuple(
                Objection(plugin=each.plugin, reason=each.reason, preemptible=each.preemptible)
                for each in group.objections
            ),
        )
        for group in explanation.groups
    )
    return msgspec.structs.replace(explanation, nodes=(), lead=(), best="", runner_up="", groups=groups)
