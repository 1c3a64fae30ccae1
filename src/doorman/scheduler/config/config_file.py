"""Reads a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) into a `SchedulerConfig`.

Rules for plugin lists
----------------------
1. `multiPoint` starts from the default plugins. Disabling removes one, `*` all; listing a default plugin again replaces
   it in place; new ones come last.
2. At one extension point the plugins of `multiPoint` run, without those the point disables (`*`: all of them).
3. Plugins that the point itself lists beat `multiPoint`: those known there come first, in the point's order; the rest
   of `multiPoint` follows, then what only the point lists.
4. The weight of a score is the point's, else multiPoint's, else the plugin's default, else 1.
5. Some filters and scores work upon what their own PreFilter or PreScore found: switched off alone, that would fail
   every pod, and so it is refused. A profile needs something that sorts the queue and something that binds.

Everything that is wrong is said at once, in the words of kube-scheduler where it has some.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import yaml

from doorman.base.durations import parse_duration
from doorman.scheduler.config.extender_config import ExtenderEntry, ignored_resources, read_extenders
from doorman.scheduler.config.plugin_args import ConfigError, PluginConfig, check_percentage, decoded, read_args
from doorman.scheduler.config.scheduler_config import (
    DEFAULT_ORDER,
    DEFAULT_SCHEDULER_NAME,
    DEFAULT_WEIGHTS,
    Profile,
    SchedulerConfig,
)

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"


NEEDS_PRE_FILTER: Final = ("NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity")
NEEDS_PRE_SCORE: Final = ("TaintToleration", "PodTopologySpread", "InterPodAffinity")
"""Rule 5."""


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str = ""
    weight: int = 0


class _Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: tuple[_Entry, ...] = ()
    disabled: tuple[_Entry, ...] = ()


class _Plugins(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    multi_point: _Point = _Point()
    pre_enqueue: _Point = _Point()
    queue_sort: _Point = _Point()
    pre_filter: _Point = _Point()
    filter: _Point = _Point()
    post_filter: _Point = _Point()
    pre_score: _Point = _Point()
    score: _Point = _Point()
    reserve: _Point = _Point()
    permit: _Point = _Point()
    pre_bind: _Point = _Point()
    bind: _Point = _Point()
    post_bind: _Point = _Point()


class _Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    scheduler_name: str = ""
    percentage_of_nodes_to_score: int | None = None
    plugins: _Plugins = _Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    api_version: str = ""
    kind: str = ""
    parallelism: int = 16
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: tuple[_Profile, ...] = (_Profile(),)
    extenders: tuple[ExtenderEntry, ...] = ()
    leader_election: Any = None  # these concern the process and not decisions
    client_connection: Any = None
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    delay_cache_until_active: bool = False
    health_probe_bind_address: str = ""
    metrics_bind_address: str = ""


def read_config(text: str, *, unschedulable_duration: str = "5m") -> SchedulerConfig:
    """From YAML or JSON. `unschedulable_duration` is `--pod-max-in-unschedulable-pods-duration`. Raises ConfigError."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"couldn't parse the configuration as YAML: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"the configuration must be an object of kind {KIND}")
    file = decoded(document, _File)
    errors: list[str] = []
    _check_head(file, errors)
    profiles = []
    for at, profile in enumerate(file.profiles):
        profiles.append(_profile(profile, f"profiles[{at}]", len(file.profiles), errors))
    _check_names(profiles, errors)
    extenders = read_extenders(file.extenders, errors)
    if ignored := ignored_resources(extenders):
        profiles = [_ignoring(profile, ignored) for profile in profiles]
    if errors:
        raise ConfigError("; ".join(errors))
    return SchedulerConfig(
        profiles=tuple(profiles),
        pod_initial_backoff_seconds=file.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=file.pod_max_backoff_seconds,
        pod_max_in_unschedulable_seconds=parse_duration(unschedulable_duration),
        percentage_of_nodes_to_score=file.percentage_of_nodes_to_score or 0,
        parallelism=file.parallelism,
        extenders=extenders,
    )


def _ignoring(profile: Profile, resources: Sequence[str]) -> Profile:
    """Resources that extenders look after alone are none of NodeResourcesFit's business."""
    ignored = (*profile.args.ignored_resources, *resources)
    return msgspec.structs.replace(profile, args=msgspec.structs.replace(profile.args, ignored_resources=ignored))


def _check_head(file: _File, errors: list[str]) -> None:
    if file.api_version != API_VERSION or file.kind != KIND:
        found = f'no kind "{file.kind}" is registered for version "{file.api_version}"'
        errors.append(f"{found}, expected {KIND} of {API_VERSION}")
    if file.parallelism <= 0:
        errors.append(f"parallelism: Invalid value: {file.parallelism}: should be an integer value greater than zero")
    if file.pod_initial_backoff_seconds <= 0:
        found = f"podInitialBackoffSeconds: Invalid value: {file.pod_initial_backoff_seconds}"
        errors.append(f"{found}: must be greater than 0")
    if file.pod_max_backoff_seconds < file.pod_initial_backoff_seconds and file.pod_max_backoff_seconds:
        found = f"podMaxBackoffSeconds: Invalid value: {file.pod_max_backoff_seconds}"
        errors.append(f"{found}: must be greater than or equal to PodInitialBackoffSeconds")
    check_percentage(file.percentage_of_nodes_to_score, "percentageOfNodesToScore", errors)
    if not file.profiles:
        errors.append("profiles: Required value")


def _check_names(profiles: Sequence[Profile], errors: list[str]) -> None:
    seen: set[str] = set()
    for at, profile in enumerate(profiles):
        if profile.name in seen:
            errors.append(f'profiles[{at}].schedulerName: Duplicate value: "{profile.name}"')
        seen.add(profile.name)


def _profile(profile: _Profile, path: str, profile_count: int, errors: list[str]) -> Profile:
    name = profile.scheduler_name
    if not name:
        if profile_count > 1:
            errors.append(f"{path}.schedulerName: Required value")
        name = DEFAULT_SCHEDULER_NAME
    check_percentage(profile.percentage_of_nodes_to_score, f"{path}.percentageOfNodesToScore", errors)
    plugins = profile.plugins
    errors.extend(
        f"{path}.plugins.queueSort: Invalid value: {sort.name}: only PrioritySort orders the queue"
        for sort in plugins.queue_sort.enabled
        if sort.name != "PrioritySort"
    )
    multi_point = _multi_point(plugins.multi_point)
    filters, scores = _at_point(multi_point, plugins.filter), _at_point(multi_point, plugins.score)
    pre_filters, pre_scores = _at_point(multi_point, plugins.pre_filter), _at_point(multi_point, plugins.pre_score)
    _check_needed(path, "preFilter", [one for one in NEEDS_PRE_FILTER if one in filters], pre_filters, errors)
    _check_needed(path, "preScore", [one for one in NEEDS_PRE_SCORE if one in scores], pre_scores, errors)
    for what, point, plugin in (
        ("queue sort", plugins.queue_sort, "PrioritySort"),
        ("bind", plugins.bind, "DefaultBinder"),
    ):
        if plugin not in _at_point(multi_point, point):
            found = f"at least one {what} plugin is needed for profile with scheduler name"
            errors.append(f'{path}.plugins: {found} "{name}"')
    args, others = read_args(profile.plugin_config, f"{path}.pluginConfig", errors)
    return Profile(
        name=name,
        pre_enqueue=tuple(_at_point(multi_point, plugins.pre_enqueue)),
        pre_filters=tuple(pre_filters),
        filters=tuple(filters),
        post_filters=tuple(_at_point(multi_point, plugins.post_filter)),
        scores=tuple(scores.items()),
        args=args,
        other_args=others,
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score or 0,
    )


def _check_needed(path: str, point: str, needed: Sequence[str], found: Mapping[str, int], errors: list[str]) -> None:
    """Rule 5."""
    errors.extend(
        f"{path}.plugins.{point}: Invalid value: {name}: it cannot be switched off alone"
        for name in needed
        if name not in found
    )


def _multi_point(custom: _Point) -> dict[str, int]:
    """Rule 1: names and weights, in order."""
    disabled = {entry.name for entry in custom.disabled}
    listed = {entry.name: entry.weight for entry in custom.enabled}
    kept: dict[str, int] = {}
    if "*" not in disabled:
        for name in DEFAULT_ORDER:
            if name not in disabled:
                kept[name] = listed.pop(name, 0)
    return kept | listed


def _at_point(multi_point: Mapping[str, int], point: _Point) -> dict[str, int]:
    """Rules 2 to 4: names and weights, in order."""
    disabled = {entry.name for entry in point.disabled}
    listed = {entry.name: entry.weight for entry in point.enabled}
    if "*" in disabled:
        expanded: dict[str, int] = {}
    else:
        expanded = {name: weight for name, weight in multi_point.items() if name not in disabled}
    first = {name: weight for name, weight in listed.items() if name in expanded}
    rest = {name: weight for name, weight in expanded.items() if name not in first}
    last = {name: weight for name, weight in listed.items() if name not in first}
    ordered = first | rest | last
    return {
        name: weight or multi_point.get(name, 0) or DEFAULT_WEIGHTS.get(name, 1) for name, weight in ordered.items()
    }
