"""How pods concern each other: which pods some selector means, and who holds terms about whom, counted by row.

A `PodSet` counts the pods that match (spread constraints, a pod's own affinity terms). A `Term` is an affinity term of
pods that are already placed, with the number of its owners by row: what such terms say about a newcomer is found
without looking at any pod. Both are interned, and because matching is by shape, a pod that is placed or leaves costs a
few additions.

Example: ten pods `app=db` on row 3 hold an anti-affinity term against `app=db`. The term is stored once, with
owners[3] = 10; a new pod with `app=db` matches it, so every row in row 3's domain is closed to it.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from typing import Final, Protocol

import msgspec
import numpy as np

from doorman.api.machinery.label_selectors import Selector, selector_or_nothing
from doorman.api.views.pods import PodAffinity, PodAffinityTerm
from doorman.scheduler.cache.node_columns import Column
from doorman.scheduler.cache.pod_shapes import Shape

POD_SETS_MAX: Final = 512
"""Sets of pods kept counted; the least recently used are dropped and counted anew when needed."""

DEAD_TERMS_MIN: Final = 256
"""The list of terms is rewritten when it holds so many that nobody owns, and more of them than living ones."""


Label = tuple[str, str]


class Labelled(Protocol):
    """A pod or a shape, as far as selectors are concerned."""

    @property
    def namespace(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...


class PodMatcher(msgspec.Struct, frozen=True):
    """An affinity term without its topology: which pods it means."""

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector

    def matches(self, shape: "Labelled", namespace_labels: Mapping[str, Mapping[str, str]]) -> bool:
        if shape.namespace not in self.namespaces and not self.namespace_selector.matches(
            namespace_labels.get(shape.namespace, {})
        ):
            return False
        return self.selector.matches(shape.labels)

    @property
    def reads_namespace_labels(self) -> bool:
        return not self.namespace_selector.nothing and not self.namespace_selector.is_everything


class PodSet:
    """Pods that match all matchers, counted by row. Pods that are leaving count or not, as the set says."""

    __slots__ = ("counts", "counts_leaving", "label", "matchers")

    def __init__(self, matchers: tuple[PodMatcher, ...], capacity: int, *, counts_leaving: bool) -> None:
        self.matchers = matchers
        self.counts_leaving = counts_leaving
        pinned = (matcher.selector.pinned_label_or_none() for matcher in matchers)
        self.label = next((label for label in pinned if label is not None), None)
        """One that all its pods carry, if one is certain."""
        self.counts: Column = np.zeros(capacity, dtype=np.int64)


class TermKind(Enum):
    REQUIRED_AFFINITY = auto()
    REQUIRED_ANTI_AFFINITY = auto()
    PREFERRED_AFFINITY = auto()
    PREFERRED_ANTI_AFFINITY = auto()


class Term:
    """An affinity term and how many placed pods hold it, by row."""

    __slots__ = ("holders", "kind", "matcher", "owners", "topology_key", "total", "weight")

    def __init__(self, kind: TermKind, matcher: PodMatcher, topology_key: str, weight: int, capacity: int) -> None:
        self.kind = kind
        self.matcher = matcher
        self.topology_key = topology_key
        self.weight = weight
        self.owners: Column = np.zeros(capacity, dtype=np.int64)
        self.total = 0
        """Placed pods that hold it."""
        self.holders = 0
        """Shapes that hold it, placed or not."""


class ShapeRelations:
    """What is known of one shape. Hangs on the shape; written by `Relations` only."""

    __slots__ = ("epoch", "matched", "matched_up_to", "owned", "sets")

    def __init__(self, owned: tuple[Term, ...]) -> None:
        self.sets: list[PodSet] = []
        self.owned = owned
        self.matched: list[Term] = []
        """Terms of others that mean this shape, among the first `matched_up_to`."""
        self.matched_up_to = 0
        self.epoch = -1


class Relations:
    """See the module's docstring."""

    def __init__(self, shapes: Callable[[], Sequence[Shape]], capacity: int) -> None:
        self._shapes = shapes
        self._capacity = capacity
        self._sets: OrderedDict[tuple[tuple[PodMatcher, ...], bool], PodSet] = OrderedDict()
        self._sets_by_label: dict[Label | None, dict[int, PodSet]] = {}
        self._shapes_by_label: dict[Label, dict[int, Shape]] = {}
        """A workload's pods are looked for among those with its label, however many others there are."""
        self._terms: dict[tuple[TermKind, PodMatcher, str, int], Term] = {}
        self._term_list: list[Term] = []
        self._epoch = 0
        """Changes when `_term_list` is rewritten or matching has changed."""
        self._namespace_labels: dict[str, Mapping[str, str]] = {}
        self.version = 0
        """Changes when matching does although no pod moved: labels of a namespace."""

    def add_shape(self, shape: Shape) -> None:
        owned = []
        for kind, term, weight in _terms_of(shape):
            key = (kind, matcher_of(term, shape.namespace), term.topology_key, weight)
            found = self._terms.get(key)
            if found is None:
                found = self._terms[key] = Term(*key, self._capacity)
                self._term_list.append(found)
            found.holders += 1
            owned.append(found)
        relations = shape.related = ShapeRelations(tuple(owned))
        for label in shape.labels.items():
            self._shapes_by_label.setdefault(label, {})[shape.id] = shape
        for place in (None, *shape.labels.items()):
            sets = self._sets_by_label.get(place, {}).values()
            relations.sets.extend(found for found in sets if self._matches(found.matchers, shape))

    def remove_shape(self, shape: Shape) -> None:
        for label in shape.labels.items():
            filed = self._shapes_by_label[label]
            del filed[shape.id]
            if not filed:
                del self._shapes_by_label[label]
        for term in relations_of(shape).owned:
            term.holders -= 1
            if not term.holders:
                del self._terms[term.kind, term.matcher, term.topology_key, term.weight]
        if len(self._term_list) > 2 * len(self._terms) + DEAD_TERMS_MIN:
            self._term_list = list(self._terms.values())
            self._epoch += 1

    def moved(self, shape: Shape, row: int, delta: int, *, leaving: bool) -> None:
        """So many pods of a shape came to a row (or left it)."""
        relations = relations_of(shape)
        for found in relations.sets:
            if found.counts_leaving or not leaving:
                found.counts[row] += delta
        for term in relations.owned:
            term.owners[row] += delta
            term.total += delta

    def counts(self, shape: Shape) -> bool:
        """Whether anything is counted when a pod of this shape moves."""
        relations = relations_of(shape)
        return bool(relations.sets or relations.owned)

    def pods_matching(self, matchers: Iterable[PodMatcher], *, counts_leaving: bool) -> PodSet:
        key = (tuple(matchers), counts_leaving)
        found = self._sets.get(key)
        if found is not None:
            self._sets.move_to_end(key)
            return found
        found = self._sets[key] = PodSet(key[0], self._capacity, counts_leaving=counts_leaving)
        self._sets_by_label.setdefault(found.label, {})[id(found)] = found
        for shape in self._shapes_with(found.label):
            if self._matches(found.matchers, shape):
                relations_of(shape).sets.append(found)
                for rows in (shape.rows, shape.leaving_rows) if counts_leaving else (shape.rows,):
                    for row, count in rows.items():
                        found.counts[row] += count
        if len(self._sets) > POD_SETS_MAX:
            self._drop_sets([next(iter(self._sets))])
        return found

    def terms_about(self, shape: Shape) -> Sequence[Term]:
        """Terms of other shapes that mean this one; some may have no owner at the moment."""
        relations = relations_of(shape)
        if relations.epoch != self._epoch:
            relations.epoch = self._epoch
            relations.matched = []
            relations.matched_up_to = 0
        if relations.matched_up_to < len(self._term_list):
            relations.matched.extend(
                term
                for term in self._term_list[relations.matched_up_to :]
                if term.matcher.matches(shape, self._namespace_labels)
            )
            relations.matched_up_to = len(self._term_list)
        return relations.matched

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """The labels of a namespace, or None when it is gone."""
        if self._namespace_labels.get(name) == labels:
            return
        if labels is None:
            self._namespace_labels.pop(name, None)
        else:
            self._namespace_labels[name] = labels
        self.version += 1
        self._epoch += 1
        self._drop_sets([key for key in self._sets if any(matcher.reads_namespace_labels for matcher in key[0])])

    def grow(self, capacity: int) -> None:
        more: Column = np.zeros(capacity - self._capacity, dtype=np.int64)
        self._capacity = capacity
        for found in self._sets.values():
            found.counts = np.concatenate([found.counts, more])
        for term in self._term_list:
            term.owners = np.concatenate([term.owners, more])

    def all_match(self, matchers: Sequence[PodMatcher], pod: Labelled) -> bool:
        """Whether the pod is meant by all of them; by none of none."""
        return bool(matchers) and self._matches(matchers, pod)

    def _matches(self, matchers: Sequence[PodMatcher], pod: Labelled) -> bool:
        return all(matcher.matches(pod, self._namespace_labels) for matcher in matchers)

    def _drop_sets(self, keys: Sequence[tuple[tuple[PodMatcher, ...], bool]]) -> None:
        for dropped in map(self._sets.pop, keys):
            filed = self._sets_by_label[dropped.label]
            del filed[id(dropped)]
            if not filed:
                del self._sets_by_label[dropped.label]
            for shape in self._shapes_with(dropped.label):
                relations = relations_of(shape)
                relations.sets = [found for found in relations.sets if found is not dropped]

    def _shapes_with(self, label: Label | None) -> Iterable[Shape]:
        """All that may carry a label; without one, all."""
        return self._shapes() if label is None else self._shapes_by_label.get(label, {}).values()


def relations_of(shape: Shape) -> ShapeRelations:
    assert isinstance(shape.related, ShapeRelations), "a shape in use has relations"
    return shape.related


def matcher_of(term: PodAffinityTerm, namespace: str) -> PodMatcher:
    """Whom a term of a pod in `namespace` means. A selector that cannot be read means nobody."""
    own = not term.namespaces and term.namespace_selector is None
    return PodMatcher(
        frozenset({namespace}) if own else frozenset(term.namespaces),
        selector_or_nothing(term.namespace_selector),
        selector_or_nothing(term.label_selector),
    )


def required_terms(rules: PodAffinity | None) -> Sequence[PodAffinityTerm]:
    return () if rules is None else rules.required_during_scheduling_ignored_during_execution


def _terms_of(shape: Shape) -> Iterable[tuple[TermKind, PodAffinityTerm, int]]:
    affinity = shape.pod.spec.affinity
    if affinity is None:
        return
    for kind, rules in (
        (TermKind.REQUIRED_AFFINITY, affinity.pod_affinity),
        (TermKind.REQUIRED_ANTI_AFFINITY, affinity.pod_anti_affinity),
    ):
        for term in required_terms(rules):
            yield kind, term, 0
    for kind, rules in (
        (TermKind.PREFERRED_AFFINITY, affinity.pod_affinity),
        (TermKind.PREFERRED_ANTI_AFFINITY, affinity.pod_anti_affinity),
    ):
        preferred = () if rules is None else rules.preferred_during_scheduling_ignored_during_execution
        for weighted in preferred:
            yield kind, weighted.pod_affinity_term, weighted.weight
