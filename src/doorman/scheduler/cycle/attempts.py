"""What is tried in a scheduling cycle, and what comes of it."""

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

import msgspec
import numpy as np

from doorman.api.views.pods import Pod
from doorman.scheduler.cache.node_columns import Column, RowArray
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.cycle.bound_plugins import BoundFilter
from doorman.scheduler.framework import PASS


class Fit(msgspec.Struct, frozen=True):
    row: int
    score: int
    feasible_nodes: int


class FitError(msgspec.Struct, frozen=True, kw_only=True):
    """No node takes the pod: why, for the message, for the queue and for preemption."""

    message: str
    """`0/4 nodes are available: ...`, without what preemption has to add."""
    rejectors: frozenset[str]
    """Plugins that rejected the pod somewhere; empty means it was an error and not a rejection."""
    verdicts: Column
    """By row."""
    counts: Mapping[int, int]
    """Rows by verdict."""
    is_before_devices: bool = False
    """Whether a PreFilter said no before devices were looked at: then PostFilter fails at what was found of them."""


Attempt: TypeAlias = Fit | FitError


class PostFilterResult(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    nominated: str | None
    """What becomes of the pod's nomination: a node, "" for none, None to leave it."""
    victims: tuple[PodRecord, ...] = ()
    broken_budgets: int = 0


class FilterResult(msgspec.Struct, frozen=True):
    """Every node filtered, for a decision in which others have a say."""

    verdicts: Column
    bound_plugins: tuple[BoundFilter, ...]
    by: tuple[str, ...]
    """Plugins that named the only nodes worth a look."""

    @property
    def feasible(self) -> RowArray:
        rows: RowArray = np.flatnonzero(self.verdicts == PASS)
        return rows


class AttemptedPod(msgspec.Struct, frozen=True):
    """The pod that is tried."""

    key: str
    shape: Shape
    priority: int
    pod: Pod


def unavailable(nodes: int, reasons: Counter[str]) -> str:
    """Reasons counted over nodes, sorted as text.

    >>> unavailable(12, Counter({"Too many pods": 2, "node(s) were unschedulable": 10}))
    '0/12 nodes are available: 10 node(s) were unschedulable, 2 Too many pods.'
    """
    listed = sorted(f"{count} {reason}" for reason, count in reasons.items())
    head = f"0/{nodes} nodes are available:"
    return f"{head} {', '.join(listed)}." if listed else head
