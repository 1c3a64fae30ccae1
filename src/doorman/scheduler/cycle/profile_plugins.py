"""The plugins of one profile at their extension points, bound to a shape."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.config.scheduler_config import Profile
from doorman.scheduler.cycle.attempts import AttemptedPod
from doorman.scheduler.cycle.bound_plugins import BoundFilter, BoundPlugins, BoundScorer
from doorman.scheduler.cycle.stage_timing import SKIP, SUCCESS, StageTiming
from doorman.scheduler.extenders.extender_result import EXTENDER
from doorman.scheduler.framework import (
    FilterPlugin,
    Hint,
    HintPlugin,
    NamesPlugin,
    NodeFilter,
    NodeScorer,
    Plugin,
    PodFilterPlugin,
    PodScorePlugin,
    PreEnqueuePlugin,
    PreFilterReject,
    Scope,
    ScorePlugin,
    VolumePlugin,
)
from doorman.scheduler.out_of_tree_plugins import any_event_hints
from doorman.scheduler.plugin_registry import INERT

_DEVICES: Final = "DynamicResources"
FilterBinder = Callable[[AttemptedPod, ClusterState], NodeFilter | PreFilterReject | None]
"""Asks a plugin for a filter, by the pod's shape or by the pod."""
ScoreBinder = Callable[[AttemptedPod, ClusterState], NodeScorer | None]


class PluginReject(Exception):
    """A plugin's PreFilter said no: the shape fits nowhere."""

    def __init__(self, plugin: str, reject: PreFilterReject) -> None:
        super().__init__(reject.message)
        self.plugin = plugin
        self.reject = reject


class ProfilePlugins:
    """Built once from a profile and the plugins by name; a name that nobody has is an error of configuration."""

    def __init__(self, profile: Profile, plugins: Mapping[str, Plugin]) -> None:
        self.profile = profile
        self.by_name = plugins
        unknown = [
            name
            for name in (
                *profile.pre_filters,
                *profile.filters,
                *profile.pre_enqueue,
                *profile.post_filters,
                *dict(profile.scores),
            )
            if name not in plugins and name not in INERT
        ]
        if unknown:
            raise ValueError(f"{unknown[0]} does not exist")
        self.filters: list[FilterPlugin | PodFilterPlugin] = [
            plugin for plugin in map(plugins.get, profile.filters) if isinstance(plugin, FilterPlugin | PodFilterPlugin)
        ]
        self.scores: list[tuple[ScorePlugin | PodScorePlugin, int]] = [
            (plugin, weight)
            for plugin, weight in ((plugins.get(name), weight) for name, weight in profile.scores)
            if isinstance(plugin, ScorePlugin | PodScorePlugin)
        ]
        self.pre_enqueue: list[PreEnqueuePlugin] = [
            plugin for plugin in map(plugins.get, profile.pre_enqueue) if isinstance(plugin, PreEnqueuePlugin)
        ]
        self._names = [plugin for plugin in map(plugins.get, profile.pre_filters) if isinstance(plugin, NamesPlugin)]
        self._cluster_filters = [
            (index, plugin, _filter_binder(plugin))
            for index, plugin in enumerate(self.filters)
            if isinstance(plugin, PodFilterPlugin) or plugin.filter_scope is Scope.CLUSTER
        ]
        self._without_volumes = [each for each in self._cluster_filters if not isinstance(each[1], VolumePlugin)]
        """The same for pods of which volume plugins have nothing to say."""
        in_every_cycle = [
            (index, plugin, weight)
            for index, (plugin, weight) in enumerate(self.scores)
            if isinstance(plugin, PodScorePlugin) or plugin.score_scope is Scope.CLUSTER
        ]
        self._cluster_scores = [(index, _score_binder(plugin), weight) for index, plugin, weight in in_every_cycle]
        self._scores_without_volumes = [
            (index, _score_binder(plugin), weight)
            for index, plugin, weight in in_every_cycle
            if not isinstance(plugin, VolumePlugin)
        ]

    def hints(self) -> dict[str, Sequence[Hint]]:
        """Of every plugin that may reject a pod, by its name."""
        rejecting: list[Plugin] = [*self.filters, *self.pre_enqueue]
        hints = {
            plugin.name: plugin.hints() if isinstance(plugin, HintPlugin) else any_event_hints() for plugin in rejecting
        }
        return {**hints, EXTENDER: any_event_hints()}

    def is_before_devices(self, plugin: str) -> bool:
        """Whether a plugin is asked before the one that allocates devices, which is asked too."""
        names = [one.name for one in self.filters]
        order = [names.index(name) for name in (plugin, _DEVICES) if name in names]
        return len(order) == 2 and order[0] < order[1]

    def bound_plugins(self, shape: Shape, cluster: ClusterState) -> BoundPlugins:
        """Filters and scorers by node and by row. Raises PluginReject."""
        filters = []
        for index, plugin in enumerate(self.filters):
            if not isinstance(plugin, PodFilterPlugin) and plugin.filter_scope is not Scope.CLUSTER:
                bound_plugin = plugin.filter_for(shape, cluster)
                if isinstance(bound_plugin, PreFilterReject):
                    raise PluginReject(plugin.name, bound_plugin)
                if bound_plugin is not None:
                    filters.append(BoundFilter(index, plugin.filter_scope, bound_plugin))
        scorers = []
        for index, (score_plugin, weight) in enumerate(self.scores):
            if not isinstance(score_plugin, PodScorePlugin) and score_plugin.score_scope is not Scope.CLUSTER:
                scorer = score_plugin.scorer_for(shape, cluster)
                if scorer is not None:
                    scorers.append(BoundScorer(index, score_plugin.score_scope, weight, scorer))
        return BoundPlugins(filters, scorers)

    def cluster_filters(
        self, pod: AttemptedPod, cluster: ClusterState, timing: StageTiming | None = None
    ) -> list[BoundFilter]:
        """What must be asked in every cycle. Raises PluginReject."""
        found = []
        plugins = self._cluster_filters if pod.shape.demand.uses_volumes else self._without_volumes
        for index, plugin, filter_for in plugins:
            began = timing.now() if timing is not None else 0.0
            bound_plugin = filter_for(pod, cluster)
            if timing is not None:
                timing.plugin(plugin.name, "PreFilter", SKIP if bound_plugin is None else SUCCESS, since=began)
            if isinstance(bound_plugin, PreFilterReject):
                raise PluginReject(plugin.name, bound_plugin)
            if bound_plugin is not None:
                found.append(BoundFilter(index, Scope.CLUSTER, bound_plugin))
        return found

    def cluster_scorers(self, pod: AttemptedPod, cluster: ClusterState) -> list[BoundScorer]:
        found = []
        plugins = self._cluster_scores if pod.shape.demand.uses_volumes else self._scores_without_volumes
        for index, scorer_for, weight in plugins:
            scorer = scorer_for(pod, cluster)
            if scorer is not None:
                found.append(BoundScorer(index, Scope.CLUSTER, weight, scorer))
        return found

    def node_names(self, shape: Shape) -> tuple[frozenset[str] | None, tuple[str, ...]]:
        """The only nodes worth a look (None: all), and the plugins that said so, sorted."""
        names: frozenset[str] | None = None
        by: list[str] = []
        for plugin in self._names:
            found = plugin.node_names_or_none(shape)
            if found is not None:
                names = found if names is None else names & found
                by.append(plugin.name)
        return names, tuple(sorted(by))


def _filter_binder(plugin: FilterPlugin | PodFilterPlugin) -> FilterBinder:
    if isinstance(plugin, PodFilterPlugin):
        for_pod = plugin.filter_for_pod
        return lambda pod, cluster: for_pod(pod.pod, cluster)
    for_shape = plugin.filter_for
    return lambda pod, cluster: for_shape(pod.shape, cluster)


def _score_binder(plugin: ScorePlugin | PodScorePlugin) -> ScoreBinder:
    if isinstance(plugin, PodScorePlugin):
        for_pod = plugin.scorer_for_pod
        return lambda pod, cluster: for_pod(pod.pod, cluster)
    for_shape = plugin.scorer_for
    return lambda pod, cluster: for_shape(pod.shape, cluster)
