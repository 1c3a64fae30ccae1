"""Scheduler extenders: services that are asked over HTTP about pods they are interested in.

Asking takes time, and the scheduler never waits. So a decision in which an extender has a say comes in parts: the
scheduler gives out a `AskExtenders` with the nodes that its own filters leave, decides for nobody else meanwhile (as
kube-scheduler, which stands still), and goes on when it is told the `Opinion`.

Rules
-----
1. An extender is interested in every pod, or, if it manages resources, in pods that name one of them.
2. Those that may be ignored are asked last.
3. A node that an extender refuses counts as refused by a plugin `Extender`, with the extender's words; one that it
   merely leaves out is refused for good and without a word.
4. Scores of an extender go from 0 to 10: they count ten times, times its weight.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from doorman.api.views.pods import Pod
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.framework import FINAL, SCORE_MAX, Detail

EXTENDER: Final = "Extender"
"""Stands for all of them where plugins are named."""

EXTENDER_SCORE_MAX: Final = 10
TIMEOUT_SECONDS: Final = 5.0


class ManagedResource(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ignored_by_scheduler: bool = False


class ExtenderTls(msgspec.Struct, frozen=True, kw_only=True):
    """Files are paths; data are PEM."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(msgspec.Struct, frozen=True, kw_only=True):
    url_prefix: str
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 0
    tls: ExtenderTls | None = None
    timeout_seconds: float = TIMEOUT_SECONDS
    node_cache_capable: bool = False
    """It knows the nodes: names will do."""
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    def is_interested(self, pod: Pod) -> bool:
        """Rule 1."""
        managed = {resource.name for resource in self.managed_resources}
        return not managed or any(
            name in managed
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
            for name in amounts
        )

    @property
    def has_a_say(self) -> bool:
        """Whether it takes part in the decision and does not merely bind."""
        return bool(self.filter_verb or self.prioritize_verb or self.preempt_verb)


def in_turn(extenders: Sequence[Extender]) -> tuple[Extender, ...]:
    """Rule 2."""
    return tuple(sorted(extenders, key=lambda extender: extender.ignorable))


class ExtenderRefused(msgspec.Struct, frozen=True):
    reason: str
    is_final: bool
    """No preemption would change it."""


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What all interested extenders together make of some nodes."""

    kept: frozenset[str]
    refused: Mapping[str, ExtenderRefused] = {}
    """By node."""
    scores: Mapping[str, int] = {}
    """By node: rule 4 worked out."""


def weighted_score(score: int, weight: int) -> int:
    """Rule 4.

    >>> weighted_score(7, 2)
    140
    """
    return score * weight * (SCORE_MAX // EXTENDER_SCORE_MAX)


class OpinionFilter:
    """Rule 3, as a filter over rows."""

    def __init__(self, cluster: ClusterState, opinion: Opinion) -> None:
        self._reasons = [""]
        known: dict[ExtenderRefused, int] = {}
        codes: Column = np.full(cluster.size, 1 | FINAL, dtype=np.int64)
        for name in opinion.kept:
            row = cluster.row_or_none(name)
            if row is not None:
                codes[row] = 0
        for name, refused in opinion.refused.items():
            row = cluster.row_or_none(name)
            if row is None:
                continue
            code = known.get(refused)
            if code is None:
                self._reasons.append(refused.reason)
                code = known[refused] = len(self._reasons) | (FINAL if refused.is_final else 0)
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
