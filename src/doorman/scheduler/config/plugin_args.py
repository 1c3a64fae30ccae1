"""Reads the arguments of plugins from a KubeSchedulerConfiguration, and checks them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from doorman.api.views.pods import NodeAffinity, TopologySpreadConstraint
from doorman.base.durations import format_duration, parse_duration
from doorman.scheduler.config.scheduler_config import (
    BINDING_TIMEOUT_SECONDS,
    STORAGE_SHAPE,
    SYSTEM_SPREAD,
    PluginArgs,
    ResourceWeight,
    ScoringStrategy,
    ShapePoint,
)

_T = TypeVar("_T")

STRATEGIES: Final = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")


class ConfigError(ValueError):
    """The configuration cannot be used; the message lists every reason."""


class PluginConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str = ""
    args: dict[str, Any] = {}  # each plugin reads its own


def read_args(
    configs: Sequence[PluginConfig], path: str, errors: list[str]
) -> tuple[PluginArgs, dict[str, Mapping[str, Any]]]:
    """The arguments of our plugins, and those of others' as written. What is wrong is added to `errors`."""
    args = PluginArgs()
    others: dict[str, Mapping[str, Any]] = {}
    seen: set[str] = set()
    for at, config in enumerate(configs):
        if config.name in seen:
            errors.append(f'{path}[{at}]: Duplicate value: "{config.name}"')
        seen.add(config.name)
        given = {key: value for key, value in config.args.items() if key not in ("apiVersion", "kind")}
        read = _READERS.get(config.name)
        if read is None:
            others[config.name] = given
            continue
        problems: list[str] = []
        try:
            args = read(args, given, problems)
        except ConfigError as error:
            problems.append(str(error))
        errors.extend(f"{path}[{at}].args.{problem}" for problem in problems)
    return args, others


def decoded(given: Mapping[str, Any], kind: type[_T]) -> _T:
    """Raises ConfigError."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"strict decoding error: {error}") from None


def check_percentage(value: int | None, path: str, errors: list[str]) -> None:
    if value is not None and not 0 <= value <= 100:
        errors.append(f"{path}: Invalid value: {value}: not in valid range [0-100]")


class _FitArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: "_Strategy | None" = None


class _Strategy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    type: str = "LeastAllocated"
    resources: tuple[ResourceWeight, ...] = ()
    requested_to_capacity_ratio: "_Ratio | None" = None


class _Ratio(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    shape: tuple[ShapePoint, ...] = ()


class _BalancedArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    resources: tuple[ResourceWeight, ...] = ()


class _AffinityArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    added_affinity: NodeAffinity | None = None


class _SpreadArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = "System"


class _PodAffinityArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class _PreemptionArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class _VolumeArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    bind_timeout_seconds: int = BINDING_TIMEOUT_SECONDS
    shape: tuple[ShapePoint, ...] = ()


class _DeviceArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    filter_timeout: str | None = None
    """Read and checked, but a search is limited by its steps, not by time."""
    binding_timeout: str | None = None


def _read_fit(args: PluginArgs, given: Mapping[str, Any], errors: list[str]) -> PluginArgs:
    found = decoded(given, _FitArgs)
    strategy = found.scoring_strategy or _Strategy()
    if strategy.type not in STRATEGIES:
        supported = ", ".join(f'"{name}"' for name in STRATEGIES)
        errors.append(f'scoringStrategy.type: Unsupported value: "{strategy.type}": supported values: {supported}')
    resources = _weights(strategy.resources, "scoringStrategy.resources", errors)
    shape = () if strategy.requested_to_capacity_ratio is None else strategy.requested_to_capacity_ratio.shape
    if strategy.type == "RequestedToCapacityRatio":
        _check_shape(shape, "scoringStrategy.requestedToCapacityRatio.shape", errors)
    return msgspec.structs.replace(
        args,
        ignored_resources=found.ignored_resources,
        ignored_resource_groups=found.ignored_resource_groups,
        scoring_strategy=ScoringStrategy(type=strategy.type, resources=resources, shape=shape),
    )


def _read_balanced(args: PluginArgs, given: Mapping[str, Any], errors: list[str]) -> PluginArgs:
    found = decoded(given, _BalancedArgs)
    return msgspec.structs.replace(args, balanced_resources=_weights(found.resources, "resources", errors))


def _read_affinity(args: PluginArgs, given: Mapping[str, Any], _errors: list[str]) -> PluginArgs:
    return msgspec.structs.replace(args, added_affinity=decoded(given, _AffinityArgs).added_affinity)


def _read_spread(args: PluginArgs, given: Mapping[str, Any], errors: list[str]) -> PluginArgs:
    found = decoded(given, _SpreadArgs)
    if found.defaulting_type not in ("System", "List"):
        value = f'Unsupported value: "{found.defaulting_type}": supported values: "System", "List"'
        errors.append(f"defaultingType: {value}")
    if found.defaulting_type == "System" and found.default_constraints:
        value = f'Invalid value: "{found.defaulting_type}"'
        errors.append(f"defaultingType: {value}: when .defaultConstraints are not empty")
    for at, rule in enumerate(found.default_constraints):
        if rule.label_selector is not None:
            why = "constraint must not define a selector, as they deduced for each pod"
            errors.append(f"defaultConstraints[{at}].labelSelector: Forbidden: {why}")
        if rule.max_skew <= 0:
            why = f"Invalid value: {rule.max_skew}: not in valid range (0, inf)"
            errors.append(f"defaultConstraints[{at}].maxSkew: {why}")
        if not rule.topology_key:
            errors.append(f"defaultConstraints[{at}].topologyKey: Required value: can not be empty")
    is_system = found.defaulting_type == "System"
    constraints = SYSTEM_SPREAD if is_system else found.default_constraints
    return msgspec.structs.replace(args, spread_constraints=constraints, spread_is_system_default=is_system)


def _read_pod_affinity(args: PluginArgs, given: Mapping[str, Any], errors: list[str]) -> PluginArgs:
    found = decoded(given, _PodAffinityArgs)
    check_percentage(found.hard_pod_affinity_weight, "hardPodAffinityWeight", errors)
    return msgspec.structs.replace(
        args,
        hard_pod_affinity_weight=found.hard_pod_affinity_weight,
        ignore_preferred_terms_of_existing_pods=found.ignore_preferred_terms_of_existing_pods,
    )


def _read_preemption(args: PluginArgs, given: Mapping[str, Any], errors: list[str]) -> PluginArgs:
    found = decoded(given, _PreemptionArgs)
    percentage, absolute = found.min_candidate_nodes_percentage, found.min_candidate_nodes_absolute
    if not 0 <= percentage <= 100:
        errors.append(f"minCandidateNodesPercentage: Invalid value: {percentage}: not in valid range [0, 100]")
    if absolute < 0:
        errors.append(f"minCandidateNodesAbsolute: Invalid value: {absolute}: not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        errors.append("minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
                      "minCandidateNodesAbsolute")  # fmt: skip
    return msgspec.structs.replace(
        args, min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute
    )


def _read_volumes(args: PluginArgs, given: Mapping[str, Any], errors: list[str]) -> PluginArgs:
    found = decoded(given, _VolumeArgs)
    seconds = found.bind_timeout_seconds
    if seconds < 0:
        why = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(f"bindTimeoutSeconds: Invalid value: {seconds}: {why}")
    shape = found.shape or STORAGE_SHAPE
    _check_shape(shape, "shape", errors)
    return msgspec.structs.replace(args, storage_shape=shape, binding_timeout_seconds=seconds)


def _read_devices(args: PluginArgs, given: Mapping[str, Any], errors: list[str]) -> PluginArgs:
    found = decoded(given, _DeviceArgs)
    _checked_seconds(found.filter_timeout, "filterTimeout", errors, least_seconds=0.0, why="must be zero or positive")
    seconds = _checked_seconds(
        found.binding_timeout, "bindingTimeout", errors, least_seconds=1.0, why="must be at least 1 second"
    )
    return args if seconds is None else msgspec.structs.replace(args, device_binding_timeout_seconds=seconds)


def _checked_seconds(text: str | None, path: str, errors: list[str], *, least_seconds: float, why: str) -> float | None:
    """None when nothing usable is given."""
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise ConfigError(f"strict decoding error: {error}") from None
    if seconds < least_seconds:
        errors.append(f'{path}: Invalid value: "{format_duration(seconds)}": {why}')
    return seconds


def _weights(given: Sequence[ResourceWeight], path: str, errors: list[str]) -> tuple[ResourceWeight, ...]:
    for at, resource in enumerate(given):
        if not 1 <= resource.weight <= 100:
            why = f"resource weight of {resource.name} not in valid range [1, 100]"
            errors.append(f"{path}[{at}].weight: Invalid value: {resource.weight}: {why}")
    return tuple(given) or PluginArgs().balanced_resources


def _check_shape(shape: Sequence[ShapePoint], path: str, errors: list[str]) -> None:
    if not shape:
        errors.append(f"{path}: Required value: at least one point must be specified")
    before = -1
    for at, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            errors.append(f"{path}[{at}].utilization: Invalid value: {point.utilization}: not in valid range [0-100]")
        if point.utilization <= before:
            why = f"values must be sorted in increasing order, {before} >= {point.utilization}"
            errors.append(f"{path}[{at}].utilization: Invalid value: {point.utilization}: utilization {why}")
        if not 0 <= point.score <= 10:
            errors.append(f"{path}[{at}].score: Invalid value: {point.score}: not in valid range [0-10]")
        before = point.utilization


_READERS: Final[Mapping[str, Callable[[PluginArgs, Mapping[str, Any], list[str]], PluginArgs]]] = {
    "NodeResourcesFit": _read_fit,
    "NodeResourcesBalancedAllocation": _read_balanced,
    "NodeAffinity": _read_affinity,
    "PodTopologySpread": _read_spread,
    "InterPodAffinity": _read_pod_affinity,
    "DefaultPreemption": _read_preemption,
    "VolumeBinding": _read_volumes,
    "DynamicResources": _read_devices,
}
