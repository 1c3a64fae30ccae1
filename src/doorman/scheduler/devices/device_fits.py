"""Where claims can be allocated: the answer for every node, kept and brought up to date.

Pods of a workload ask for the same: their claims have the same spec. So what a search on a node came to is kept by that
spec, and only nodes whose devices have changed since are searched again. After a placement that is one node.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np

from doorman.api.views.nodes import Node
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column
from doorman.scheduler.devices.allocation.allocation_search import SearchSteps
from doorman.scheduler.devices.allocation.allocator import Allocator
from doorman.scheduler.devices.device_requests import (
    AllocationError,
    AllocationTimeout,
    ContradictoryPool,
    NodeAllocation,
)
from doorman.scheduler.devices.device_state import DeviceState
from doorman.scheduler.framework import FINAL

CANNOT_ALLOCATE: Final = 1 | FINAL
CONTRADICTORY_POOL: Final = 2 | FINAL
NO_RESOURCE: Final = 3 | FINAL
NOT_AVAILABLE: Final = 4 | FINAL
STALE_CLAIM: Final = 5 | FINAL
FIRST_FAILURE: Final = 16 | FINAL
"""Codes from here on are errors; each has a message of its own."""

REASONS: Final = {
    CANNOT_ALLOCATE: "cannot allocate all claims",
    CONTRADICTORY_POOL: "invalid resource pools were encountered",
    NO_RESOURCE: "cannot fit resource",
    NOT_AVAILABLE: "resourceclaim not available on the node",
    STALE_CLAIM: "cannot schedule extended resource claim",
}

SUBREQUESTS_MAX: Final = 8
KEPT_MAX: Final = 64
FAILURES_MAX: Final = 1000

ClaimsOnNode = Callable[[int], "Sequence[ResourceClaim] | int"]
"""The claims to allocate on the node in a row; or the code that says why it cannot be."""


class DeviceFits:
    """For claims of one spec. `codes` and `scores` are by row."""

    def __init__(self, state: DeviceState, cluster: ClusterState, claims_on: ClaimsOnNode) -> None:
        self._state = state
        self._cluster = cluster
        self.claims_on = claims_on
        """Of the pod that is looked at; those of its likes have other names, and ask for the same."""
        self.codes: Column = np.zeros(0, dtype=np.int64)
        self.scores: Column = np.zeros(0, dtype=np.int64)
        self.failures: dict[int, str] = {}
        """By code, in words about the claims of whoever was looked at first."""
        self._timeouts: set[int] = set()
        """Codes of those that are said in the same words of every pod."""
        self._position = -1
        self._epoch = -1
        self._log_position = -1
        self._layout_version = -1

    def refresh(self) -> None:
        """Take in what happened since the last time."""
        state, cluster = self._state, self._cluster
        now = (state.epoch, cluster.layout_version, state.rows.end, cluster.log_end)
        if now == (self._epoch, self._layout_version, self._position, self._log_position):
            return
        touched = state.rows.since(self._position)
        if (
            self._epoch != state.epoch
            or self._layout_version != cluster.layout_version
            or touched is None
            or self._log_position < cluster.log_start
        ):
            self.codes = np.zeros(cluster.size, dtype=np.int64)
            self.scores = np.zeros(cluster.size, dtype=np.int64)
            self.failures = {}
            self._timeouts = set()
            rows = [row for row in range(cluster.size) if cluster.nodes[row] is not None]
        else:
            changed = cluster.touched_since(self._log_position)
            nodes = [row for row, is_node in changed.items() if is_node and cluster.nodes[row] is not None]
            rows = [*dict.fromkeys((*touched, *nodes))]
        self._epoch, self._layout_version = state.epoch, cluster.layout_version
        self._position, self._log_position = state.rows.end, cluster.log_end
        steps = SearchSteps()
        for row in rows:
            node = cluster.nodes[row]
            if node is not None:
                self.codes[row], self.scores[row] = self._evaluated(node, row, steps)

    def allocate(self, row: int) -> list[NodeAllocation] | None:
        """The allocation on a row, as it was found. Raises AllocationError, ContradictoryPool."""
        node = self._cluster.node(row)
        claims = self.claims_on(row)
        if isinstance(claims, int):
            return None
        allocator = Allocator(self._state.classes.by_name, self._state.taken)
        return allocator.allocate(claims, node, self._state.reached_by(node))

    def failure_on(self, row: int) -> str:
        """What goes wrong on a row, said of the claims of the pod that is looked at."""
        if (code := int(self.codes[row])) in self._timeouts:
            return self.failures[code]
        try:
            self.allocate(row)
        except AllocationError as error:
            return _failure_text(str(error))
        return self.failures.get(code, "")

    def _evaluated(self, node: Node, row: int, steps: SearchSteps) -> tuple[int, int]:
        claims = self.claims_on(row)
        if isinstance(claims, int):
            return claims, 0
        if not claims:
            return 0, 0
        allocator = Allocator(self._state.classes.by_name, self._state.taken)
        try:
            found = allocator.allocate(claims, node, self._state.reached_by(node), steps)
        except ContradictoryPool:
            return CONTRADICTORY_POOL, 0
        except AllocationTimeout as error:
            code = self._failure(str(error))
            self._timeouts.add(code)
            return code, 0
        except AllocationError as error:
            return self._failure(str(error)), 0
        return (CANNOT_ALLOCATE, 0) if found is None else (0, score_of(found))

    def _failure(self, message: str) -> int:
        text = _failure_text(message)
        for code, known in self.failures.items():
            if known == text:
                return code
        code = FIRST_FAILURE + min(len(self.failures), FAILURES_MAX)
        self.failures[code] = text
        return code


def _failure_text(message: str) -> str:
    return f'running "DynamicResources" filter plugin: {message}'


class KeptFits:
    """What was worked out for the most recent specs."""

    def __init__(self, state: DeviceState, cluster: ClusterState) -> None:
        self._state = state
        self._cluster = cluster
        self._kept: OrderedDict[bytes, DeviceFits] = OrderedDict()

    def get(self, key: bytes, claims_on: ClaimsOnNode) -> DeviceFits:
        """Up to date."""
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = DeviceFits(self._state, self._cluster, claims_on)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
            found.claims_on = claims_on
        found.refresh()
        return found


def spec_key(claims: Sequence[ResourceClaim]) -> bytes:
    """The same for claims that ask for the same."""
    return msgspec.json.encode([claim.spec for claim in claims])


def score_of(allocations: Sequence[NodeAllocation]) -> int:
    """The earlier the alternatives that could be taken, the better."""
    score = 0
    for allocation in allocations:
        for request, taken in zip(allocation.claim.spec.devices.requests, allocation.alternatives, strict=True):
            if taken.alternative:
                names = [each.name for each in request.first_available]
                score += SUBREQUESTS_MAX - names.index(taken.alternative)
    return score
