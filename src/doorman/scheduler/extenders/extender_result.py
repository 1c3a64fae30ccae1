"""What extenders answer, and what it means for rows.

Rules
-----
1. A node that an extender refuses counts as rejected by a plugin `Extender`, with the extender's words; one that it
   merely leaves out is rejected for good and without a word.
2. Scores of an extender go from 0 to 10: they count ten times, times its weight.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.framework import FINAL, SCORE_MAX, Detail

EXTENDER: Final = "Extender"
"""Stands for all of them where plugins are named."""

EXTENDER_SCORE_MAX: Final = 10


class ExtenderRejection(msgspec.Struct, frozen=True):
    reason: str
    is_final: bool
    """No preemption would change it."""


class ExtenderResult(msgspec.Struct, frozen=True, kw_only=True):
    """What all interested extenders together make of some nodes."""

    kept: frozenset[str]
    rejected: Mapping[str, ExtenderRejection] = {}
    """By node."""
    scores: Mapping[str, int] = {}
    """By node: rule 2 worked out."""


def weighted_score(score: int, weight: int) -> int:
    """Rule 2.

    >>> weighted_score(7, 2)
    140
    """
    return score * weight * (SCORE_MAX // EXTENDER_SCORE_MAX)


class ExtenderResultFilter:
    """Rule 1, as a filter over rows."""

    def __init__(self, cluster: ClusterState, result: ExtenderResult) -> None:
        self._reasons = [""]
        known: dict[ExtenderRejection, int] = {}
        codes: Column = np.full(cluster.size, 1 | FINAL, dtype=np.int64)
        for name in result.kept:
            row = cluster.row_or_none(name)
            if row is not None:
                codes[row] = 0
        for name, rejected in result.rejected.items():
            row = cluster.row_or_none(name)
            if row is None:
                continue
            code = known.get(rejected)
            if code is None:
                self._reasons.append(rejected.reason)
                code = known[rejected] = len(self._reasons) | (FINAL if rejected.is_final else 0)
            codes[row] = code
        self._codes = codes

    def codes(self, rows: Rows) -> Column:
        picked: Column = self._codes[rows]
        return picked

    def reasons(self, code: int) -> Sequence[str]:
        reason = self._reasons[(code & ~FINAL) - 1]
        return (reason,) if reason else ()

    def details(self, row: int) -> Sequence[Detail]:
        code = int(self._codes[row])
        return [Detail(reason=reason) for reason in self.reasons(code)] if code else ()
