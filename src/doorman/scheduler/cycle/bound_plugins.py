"""Filters and scorers bound to a demand, with what their plugins weigh and in which order they come."""

from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from doorman.scheduler.cache.node_columns import Column, RowArray, Rows
from doorman.scheduler.framework import CODE_BITS, PASS, NodeFilter, NodeScorer, Normaliser, Scope
from doorman.scheduler.out_of_tree_plugins import PluginError

CODE_MASK: Final = 2**CODE_BITS - 1


class BoundFilter:
    """A filter bound to a demand or shape, with its plugin's place in the order."""

    __slots__ = ("filter", "index", "scope", "tag")

    def __init__(self, index: int, scope: Scope, bound_plugin: NodeFilter) -> None:
        self.index = index
        self.scope = scope
        self.filter = bound_plugin
        self.tag = index << CODE_BITS

    def verdicts(self, rows: Rows) -> Column:
        codes = self.filter.codes(rows)
        return np.where(codes == 0, np.int64(PASS), codes | self.tag)


class BoundScorer:
    """A scorer bound to a demand or shape, with its weight."""

    __slots__ = ("index", "normaliser", "scope", "scorer", "weight")

    def __init__(self, index: int, scope: Scope, weight: int, scorer: NodeScorer) -> None:
        self.index = index
        self.scope = scope
        self.weight = weight
        self.scorer = scorer
        # Asking a protocol costs as much as scoring, so only one of its names is looked for.
        self.normaliser = cast(Normaliser, scorer) if hasattr(scorer, "normalised") else None

    def scores(self, raw: Column) -> Column:
        """From raw scores of all feasible rows to scores from 0 to 100."""
        if self.normaliser is None:
            return raw
        return self.normaliser.normalised(raw, self.normaliser.summary(raw))

    @property
    def version(self) -> object:
        """Changes when all raw scores may have, whatever rows were touched."""
        return getattr(self.scorer, "version", None)


class BoundPlugins:
    """Everything that evaluates one demand by node and by row."""

    def __init__(self, filters: Sequence[BoundFilter], scorers: Sequence[BoundScorer]) -> None:
        self.filters = tuple(filters)
        self.scorers = tuple(scorers)
        self.node_filters = tuple(bound_plugin for bound_plugin in filters if bound_plugin.scope is Scope.NODE)
        self.row_filters = tuple(bound_plugin for bound_plugin in filters if bound_plugin.scope is Scope.ROW)
        self.row_scorers = tuple(
            bound_plugin
            for bound_plugin in scorers
            if bound_plugin.scope is Scope.ROW and bound_plugin.normaliser is None
        )

    def verdict(self, row: int) -> int:
        """The first objection to one row, asked afresh."""
        for bound_plugin in self.filters:
            code = int(bound_plugin.filter.codes(row))
            if code:
                return bound_plugin.tag | code
        return PASS


def feasible_rows(verdicts: Column, filters: Sequence[BoundFilter]) -> RowArray:
    """Rows that every filter lets the pod into. Raises PluginError when one of `filters` failed on a row that no
    earlier plugin had rejected: kube-scheduler gives such a pod up, whatever other nodes there are.
    """
    for bound_plugin in filters:
        failures = getattr(bound_plugin.filter, "failures", {})
        for code in failures:
            if np.any(verdicts == bound_plugin.tag | code):
                raise PluginError(failures[code])
    rows: RowArray = np.flatnonzero(verdicts == PASS)
    return rows
