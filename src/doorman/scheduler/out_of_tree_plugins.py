"""Other people's plugins: found by entry point, run per node or over whole columns.

A package offers plugins under the entry point group `doorman.scheduler.plugins`; the entry's name is the plugin's name,
its object a function that takes the plugin's arguments (a mapping, from `pluginConfig`) and gives the plugin. A profile
runs a plugin when its configuration lists it.

The simple kind of plugin looks at one pod on one node:

    class Quiet:
        name = "Quiet"
        def filter(self, pod, node): return "node is noisy" if noisy(node) else None
        def score(self, pod, node): return 100 - noise(node)

`filter` gives None, a reason, or a `Refusal`; `score` a whole number from 0 to 100 (or anything, with `normalise`).
Both are optional. It may also have

    signature(pod)   everything it reads of the pod, as something that can be encoded as JSON. Pods that agree share its
                     answers. Without it every pod is asked about on its own, which is slow.
    reads_pods       False if it reads only the node itself and never the pods there: it is then asked less often
    normalise(raw)   from a list of raw scores of the feasible nodes to scores from 0 to 100
    hints()          which events are worth another try (see `framework.Hint`); without it every event is

The fast kind has `filter_for` or `scorer_for` (see `framework`) and answers for all nodes at once; it too needs
`signature`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any, Final

import msgspec
import numpy as np

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.pod_shapes import PodSignature, Shape
from doorman.scheduler.config.scheduler_config import Profile
from doorman.scheduler.framework import (
    FINAL,
    SCORE_MAX,
    ActionType,
    ClusterEvent,
    Detail,
    EventResource,
    Hint,
    NodeFilter,
    NodeScorer,
    Plugin,
    PreFilterReject,
    Scope,
    always,
)

ENTRY_POINT_GROUP: Final = "doorman.scheduler.plugins"

Factory = Callable[[Mapping[str, Any]], Any]
"""Makes a plugin from its arguments."""


class PluginError(Exception):
    """A plugin broke: the attempt is an error and not a rejection."""


class Refusal(msgspec.Struct, frozen=True):
    """A filter's no."""

    reason: str
    final: bool = False
    """Whether it would stand even if other pods left the node."""


class NodeState:
    """A node as a plugin sees it."""

    def __init__(self, cluster: ClusterState, row: int) -> None:
        self._cluster = cluster
        self._row = row

    @property
    def node(self) -> Node:
        return self._cluster.node(self._row)

    @cached_property
    def pods(self) -> Sequence[Pod]:
        """Pods on the node, bound or about to be."""
        return [record.pod for record in self._cluster.records_on(self._row)]

    @cached_property
    def allocatable(self) -> Mapping[str, int]:
        """By resource: thousandths of cpu, units of everything else."""
        return self._amounts(self._cluster.allocatable)

    @cached_property
    def requested(self) -> Mapping[str, int]:
        return self._amounts(self._cluster.requested)

    def _amounts(self, columns: Sequence[Column]) -> Mapping[str, int]:
        names = self._cluster.resources
        return {names.name(index): int(column[self._row]) for index, column in enumerate(columns)}


def find_plugins() -> dict[str, Factory]:
    """All installed plugins by name. They are imported only here."""
    return {entry.name: entry.load() for entry in entry_points(group=ENTRY_POINT_GROUP)}


def adapted(plugin: Any) -> Plugin:  # whatever a factory gave
    """The plugin in the shape that the framework asks for, its failures turned into PluginError."""
    has_filter = hasattr(plugin, "filter") or hasattr(plugin, "filter_for")
    has_score = hasattr(plugin, "score") or hasattr(plugin, "scorer_for")
    if has_filter and has_score:
        return _Both(plugin)
    if has_filter:
        return _Filters(plugin)
    if has_score:
        return _Scores(plugin)
    raise ValueError(f"plugin {getattr(plugin, 'name', plugin)!r} has neither filter nor score")


ANY_CHANGE: Final = ActionType(sum(ActionType))


def any_event_hints() -> Sequence[Hint]:
    """For plugins that do not say what could change their mind."""
    return (
        Hint(EventResource.NODE, ANY_CHANGE, always),
        Hint(EventResource.ASSIGNED_POD, ANY_CHANGE, always),
        Hint(EventResource.TARGET_POD, ANY_CHANGE, _is_more_than_status),
    )


def _is_more_than_status(_shape: Shape, event: ClusterEvent) -> bool:
    """A failed attempt changes the pod's own status; that must not be a reason for the next one."""
    old: Pod = event.old
    new: Pod = event.new
    return (
        old.spec != new.spec
        or old.metadata.labels != new.metadata.labels
        or old.metadata.annotations != new.metadata.annotations
    )


class _Adapter:
    """What all adapted plugins have in common."""

    def __init__(self, plugin: Any) -> None:
        self.plugin = plugin
        self.name: str = plugin.name
        self._scope = Scope.ROW if getattr(plugin, "reads_pods", True) else Scope.NODE

    def signature(self, pod: Pod) -> object:
        own = getattr(self.plugin, "signature", None)
        return pod.metadata.uid if own is None else own(pod)

    def hints(self) -> Sequence[Hint]:
        own = getattr(self.plugin, "hints", None)
        return any_event_hints() if own is None else own()


class _Filters(_Adapter):
    @property
    def filter_scope(self) -> Scope:
        return getattr(self.plugin, "filter_scope", self._scope)

    def filter_for(self, shape: Shape, cluster: ClusterState) -> NodeFilter | PreFilterReject | None:
        if not hasattr(self.plugin, "filter_for"):
            return _PerNodeFilter(self.plugin, shape.pod, cluster)
        with _Blame(f'running PreFilter plugin "{self.name}"'):
            bound_plugin = self.plugin.filter_for(shape, cluster)
        if bound_plugin is None or isinstance(bound_plugin, PreFilterReject):
            return bound_plugin
        return _GuardedFilter(self.name, bound_plugin)


class _Scores(_Adapter):
    @property
    def score_scope(self) -> Scope:
        return getattr(self.plugin, "score_scope", self._scope)

    def scorer_for(self, shape: Shape, cluster: ClusterState) -> NodeScorer | None:
        if not hasattr(self.plugin, "scorer_for"):
            if hasattr(self.plugin, "normalise"):
                return _NormalisedPerNodeScorer(self.plugin, shape.pod, cluster)
            return _PerNodeScorer(self.plugin, shape.pod, cluster)
        with _Blame(f'running PreScore plugin "{self.name}"'):
            scorer: NodeScorer | None = self.plugin.scorer_for(shape, cluster)
        return scorer


class _Both(_Filters, _Scores):
    pass


class _Blame:
    """Turns whatever goes wrong inside into a PluginError that names the plugin."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, PluginError):
            raise PluginError(f"{self._doing}: {error}") from error


class _GuardedFilter:
    """A filter over columns whose failures are told apart."""

    def __init__(self, name: str, bound_plugin: NodeFilter) -> None:
        self._doing = f'running "{name}" filter plugin'
        self._filter = bound_plugin

    def codes(self, rows: Rows) -> Column:
        with _Blame(self._doing):
            return self._filter.codes(rows)

    def reasons(self, code: int) -> Sequence[str]:
        return self._filter.reasons(code)

    def details(self, row: int) -> Sequence[Detail]:
        return self._filter.details(row)


class _PerNodeFilter:
    """Reasons become codes in the order they first come up."""

    def __init__(self, plugin: Any, pod: Pod, cluster: ClusterState) -> None:
        self._plugin = plugin
        self._pod = pod
        self._cluster = cluster
        self._doing = f'running "{plugin.name}" filter plugin'
        self._reasons: dict[Refusal, int] = {}

    def codes(self, rows: Rows) -> Column:
        if isinstance(rows, int):
            one: Column = np.array(self._code(rows), dtype=np.int64)
            return one
        found = [self._code(row) for row in _row_numbers(rows, self._cluster.size)]
        return np.array(found, dtype=np.int64)

    def reasons(self, code: int) -> Sequence[str]:
        return [refusal.reason for refusal, known in self._reasons.items() if known == code]

    def details(self, row: int) -> Sequence[Detail]:
        refusal = self._refusal(row)
        return () if refusal is None else (Detail(reason=refusal.reason),)

    def _code(self, row: int) -> int:
        refusal = self._refusal(row)
        if refusal is None:
            return 0
        return self._reasons.setdefault(refusal, len(self._reasons) + 1 | (FINAL if refusal.final else 0))

    def _refusal(self, row: int) -> Refusal | None:
        if not self._cluster.present[row]:
            return None
        with _Blame(self._doing):
            answer = self._plugin.filter(self._pod, NodeState(self._cluster, row))
        return Refusal(answer) if isinstance(answer, str) else answer


class _PerNodeScorer:
    def __init__(self, plugin: Any, pod: Pod, cluster: ClusterState) -> None:
        self._plugin = plugin
        self._pod = pod
        self._cluster = cluster
        self._doing = f'running Score plugins: plugin "{plugin.name}" failed with'

    def raw(self, rows: Rows) -> Column:
        if isinstance(rows, int):
            one: Column = np.array(self._score(rows), dtype=np.int64)
            return one
        return np.array([self._score(row) for row in _row_numbers(rows, self._cluster.size)], dtype=np.int64)

    def _score(self, row: int) -> int:
        if not self._cluster.present[row]:
            return 0
        with _Blame(self._doing):
            score = int(self._plugin.score(self._pod, NodeState(self._cluster, row)))
        return self._checked(score)

    def _checked(self, score: int) -> int:
        if not 0 <= score <= SCORE_MAX:
            raise PluginError(
                f'plugin "{self._plugin.name}" returns an invalid score {score}, '
                f"it should in the range of [0, {SCORE_MAX}] after normalizing"
            )
        return score


class _NormalisedPerNodeScorer(_PerNodeScorer):
    """What a plugin's `normalise` does is unknown, so it is asked again whenever any raw score has changed."""

    def summary(self, raw: Column) -> tuple[int, ...]:
        return tuple(sorted(set(raw.tolist())))

    def normalised(self, raw: Column, summary: tuple[int, ...]) -> Column:
        with _Blame(self._doing):
            known = dict(zip(summary, map(int, self._plugin.normalise(list(summary))), strict=True))
        return np.array([self._normal(known, value) for value in raw.tolist()], dtype=np.int64)

    def _normal(self, known: Mapping[int, int], value: int) -> int:
        """Rows that are not feasible have no normal score; nobody reads theirs."""
        return _PerNodeScorer._checked(self, known[value]) if value in known else 0

    def _checked(self, score: int) -> int:
        return score


def _row_numbers(rows: slice | Any, size: int) -> Iterable[int]:
    return range(*rows.indices(size)) if isinstance(rows, slice) else rows.tolist()


def listed_plugins(profile: Profile, plugins: Mapping[str, Factory]) -> dict[str, Plugin]:
    """Other people's plugins that the profile lists, made with its arguments."""
    listed = {*profile.filters, *profile.pre_enqueue, *profile.post_filters, *dict(profile.scores)}
    return {
        name: adapted(factory(profile.other_args.get(name, {}))) for name, factory in plugins.items() if name in listed
    }


def signatures_of(others: Mapping[str, Mapping[str, Plugin]]) -> list[PodSignature]:
    found = (getattr(plugin, "signature", None) for by_name in others.values() for plugin in by_name.values())
    return [signature for signature in found if signature is not None]
