"""Preemption candidates, remembered by row, and the best of many nodes found without a loop."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import RowArray
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.queue.nominator import Nominator

UNKNOWN: Final = 0
CLEARS: Final = 1
FAILS: Final = 2

WINDOW: Final = 3
"""So many times the rows that are enough are looked at first, and so many times more each time they do not do."""


class PreemptionCandidate(msgspec.Struct, frozen=True):
    """A node that would take the pod once the victims have left, most important first."""

    row: int
    victims: tuple[PodRecord, ...]
    rank_key: tuple[int, int, int, int, float]
    """Of two, the smaller is the better node. All of it is exact as a float."""


class PreemptionCandidates:
    """Of one kind of pod: good as long as neither a row nor its nominations change, and no pod there starts."""

    def __init__(self) -> None:
        self._states: NDArray[np.int8]
        self._rank_keys: NDArray[np.float64]
        self._verdicts: NDArray[np.int64]
        self._found: list[PreemptionCandidate | None]
        self.resize(0)
        self._position = self._nominations = self._starts = -1

    def refresh(self, cluster: ClusterState, nominator: Nominator) -> None:
        """Forget what has changed since."""
        nominated, started = nominator.log.since(self._nominations), cluster.starts.since(self._starts)
        if (
            len(self._states) != cluster.size
            or self._position < cluster.log_start
            or nominated is None
            or started is None
        ):
            self.resize(cluster.size)
        else:
            self._states[[*cluster.touched_since(self._position), *nominated, *started]] = UNKNOWN
        self._position, self._nominations, self._starts = cluster.log_end, nominator.log.end, cluster.starts.end

    def resize(self, size: int) -> None:
        """Room for so many rows, of which nothing is known."""
        self._states = np.zeros(size, dtype=np.int8)
        self._rank_keys = np.zeros((5, size))
        self._verdicts = np.zeros(size, dtype=np.int64)
        self._found = [None] * size

    def look(self, rows: RowArray, enough: int, clear: Callable[[int], PreemptionCandidate | int]) -> RowArray:
        """The first of the rows that clear: enough of them, and on to one without a broken budget.

        Rows not known yet are cleared: a verdict says why that is no use. With fewer than enough, all were looked at.
        """
        wanted = enough = max(enough, 1)
        width = WINDOW * wanted
        while True:
            window = rows[:width]
            hopeful: RowArray = window[self._states[window] != FAILS][:wanted]
            unknown = hopeful[self._states[hopeful] == UNKNOWN]
            if len(unknown):
                for row in unknown.tolist():
                    self._note(row, clear(row))
                continue
            (whole,) = (self._rank_keys[0, hopeful] == 0).nonzero()
            if len(whole) and len(hopeful) >= enough:
                return hopeful[: max(enough, int(whole[0]) + 1)]
            if len(hopeful) == wanted:
                wanted *= WINDOW
            elif width >= len(rows):
                return hopeful
            width *= WINDOW

    def best(self, rows: RowArray) -> PreemptionCandidate | None:
        """The first of the best among rows that clear."""
        if not len(rows):
            return None
        for column in self._rank_keys:
            values = column[rows]
            least = values == values.min()
            if not least.all():
                rows = rows[least]
        return self._found[int(rows[0])]

    def failures(self, rows: RowArray) -> Mapping[int, int]:
        """How many of the rows, as far as they were looked at, failed with which verdict."""
        failed = self._verdicts[rows[self._states[rows] == FAILS]]
        verdicts, counts = np.unique(failed, return_counts=True)
        return dict(zip(verdicts.tolist(), counts.tolist(), strict=True))

    def forget(self, rows: list[int]) -> None:
        self._states[rows] = UNKNOWN

    def _note(self, row: int, preemption_candidate: PreemptionCandidate | int) -> None:
        if isinstance(preemption_candidate, int):
            self._states[row] = FAILS
            self._verdicts[row] = preemption_candidate
        else:
            self._states[row] = CLEARS
            self._rank_keys[:, row] = preemption_candidate.rank_key
            self._found[row] = preemption_candidate
