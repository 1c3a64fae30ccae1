"""Node selectors over columns: each requirement is evaluated once for each distinct value of its label."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from doorman.api.views.pods import NodeSelectorRequirement, NodeSelectorTerm, PodSpec
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Lookup, Rows
from doorman.semantics.pods.node_selectors import (
    field_matches,
    is_readable,
    required_terms_or_none,
    requirement_matches,
)

RowTest = Callable[[Rows], Column]
"""1 where the rows pass, 0 where they do not."""


class NodeSelection:
    """A pod's nodeSelector and required node affinity."""

    def __init__(self, cluster: ClusterState, spec: PodSpec) -> None:
        self._cluster = cluster
        self._tests = [_label_equals(cluster, key, value) for key, value in spec.node_selector.items()]
        terms = required_terms_or_none(spec.affinity)
        if terms is not None:
            self._tests.append(AnyTerm(cluster, terms).matches)

    @property
    def is_empty(self) -> bool:
        return not self._tests

    def matches(self, rows: Rows) -> Column:
        return _all(self._cluster, self._tests, rows)


class AnyTerm:
    """Terms of which one is enough."""

    def __init__(self, cluster: ClusterState, terms: Sequence[NodeSelectorTerm]) -> None:
        self._cluster = cluster
        self._terms = [term_test(cluster, term) for term in terms if is_readable(term)]

    def matches(self, rows: Rows) -> Column:
        found = _constant(self._cluster, 0, rows)
        for test in self._terms:
            found = found | test(rows)
        return found


def term_test(cluster: ClusterState, term: NodeSelectorTerm) -> RowTest:
    """The test of a term that can be read."""
    tests = [_expression(cluster, expression) for expression in term.match_expressions]
    tests.extend(partial(_field, cluster, field) for field in term.match_fields)
    return partial(_all, cluster, tests)


def _all(cluster: ClusterState, tests: Sequence[RowTest], rows: Rows) -> Column:
    found = _constant(cluster, 1, rows)
    for test in tests:
        found = found & test(rows)
    return found


def _label_equals(cluster: ClusterState, key: str, wanted: str) -> RowTest:
    return Lookup(cluster.labels(key), lambda value: int(value == wanted)).at


def _expression(cluster: ClusterState, expression: NodeSelectorRequirement) -> RowTest:
    return Lookup(cluster.labels(expression.key), lambda value: int(requirement_matches(expression, value))).at


def _field(cluster: ClusterState, field: NodeSelectorRequirement, rows: Rows) -> Column:
    """Names are unique, so at most one row differs from the rest."""
    found = _constant(cluster, int(field_matches(field, "")), cluster.all_rows)
    row = cluster.row_or_none(field.values[0])
    if row is not None:
        found[row] = field_matches(field, field.values[0])
    picked: Column = found[rows]
    return picked


def _constant(cluster: ClusterState, value: int, rows: Rows) -> Column:
    constant: Column = np.full(cluster.size, value, dtype=np.int64)[rows]
    return constant
