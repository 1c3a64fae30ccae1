"""KubeSchedulerConfiguration: merging of plugin lists, weights, profiles, and what is refused."""

import pytest

from doorman.scheduler.config.config_file import read_config
from doorman.scheduler.config.plugin_args import ConfigError
from doorman.scheduler.config.scheduler_config import DEFAULT_ORDER, Profile, SchedulerConfig

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def profile_of(plugins: str) -> Profile:
    return read_config(f"{HEAD}profiles:\n- plugins: {plugins}\n").profiles[0]


def test_empty_configuration_is_the_default() -> None:
    assert read_config(HEAD).profiles[0].filters == DEFAULT_ORDER
    default = {name: weight for name, weight in read_config(HEAD).profiles[0].scores if name in dict(Profile().scores)}
    assert default == dict(Profile().scores)
    assert read_config(HEAD).pod_max_backoff_seconds == SchedulerConfig().pod_max_backoff_seconds


@pytest.mark.parametrize(
    ("plugins", "filters"),
    [
        pytest.param("{multiPoint: {disabled: [{name: NodePorts}]}}", [n for n in DEFAULT_ORDER if n != "NodePorts"],
                     id="rule-1-disabled"),
        pytest.param("{multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodePorts}, {name: PrioritySort}, "
                     "{name: DefaultBinder}]}}", ["NodePorts", "PrioritySort", "DefaultBinder"], id="rule-1-star"),
        pytest.param("{multiPoint: {enabled: [{name: Mine}]}}", [*DEFAULT_ORDER, "Mine"], id="rule-1-new-comes-last"),
        pytest.param("{multiPoint: {enabled: [{name: NodePorts}]}}", list(DEFAULT_ORDER), id="rule-1-kept-in-place"),
        pytest.param("{filter: {disabled: [{name: NodePorts}]}}", [n for n in DEFAULT_ORDER if n != "NodePorts"],
                     id="rule-2-point-disables"),
        pytest.param("{filter: {disabled: [{name: '*'}], enabled: [{name: NodePorts}, {name: NodeName}]}}",
                     ["NodePorts", "NodeName"], id="rule-2-star"),
        pytest.param("{filter: {enabled: [{name: Mine}, {name: NodePorts}]}}",
                     ["NodePorts", *(n for n in DEFAULT_ORDER if n != "NodePorts"), "Mine"], id="rule-3-order"),
    ],
)  # fmt: skip
def test_plugin_lists_merge(plugins: str, filters: list[str]) -> None:
    assert list(profile_of(plugins).filters) == filters


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        pytest.param("{preFilter: {disabled: [{name: NodePorts}]}}",
                     "profiles[0].plugins.preFilter: Invalid value: NodePorts: it cannot be switched off alone",
                     id="rule-5-pre-filter"),
        pytest.param("{preScore: {disabled: [{name: TaintToleration}]}}",
                     "profiles[0].plugins.preScore: Invalid value: TaintToleration: it cannot be switched off alone",
                     id="rule-5-pre-score"),
        pytest.param("{bind: {disabled: [{name: '*'}]}}",
                     'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
                     id="rule-5-nobody-binds"),
        pytest.param("{queueSort: {disabled: [{name: PrioritySort}]}}",
                     'at least one queue sort plugin is needed for profile with scheduler name "default-scheduler"',
                     id="rule-5-nobody-sorts"),
    ],
)  # fmt: skip
def test_points_that_others_need_stay(plugins: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        profile_of(plugins)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "plugins",
    [
        pytest.param(
            "{preFilter: {disabled: [{name: NodePorts}]}, filter: {disabled: [{name: NodePorts}]}}", id="both"
        ),
        pytest.param("{preFilter: {disabled: [{name: NodeAffinity}]}}", id="filter-that-does-without"),
        pytest.param("{preScore: {disabled: [{name: NodeResourcesFit}]}}", id="score-that-does-without"),
    ],
)
def test_points_that_nobody_needs_may_go(plugins: str) -> None:
    profile = profile_of(plugins)
    assert ("NodeAffinity" in profile.pre_filters) is ("NodeAffinity" not in plugins)


@pytest.mark.parametrize(
    ("plugins", "name", "weight"),
    [
        pytest.param("{score: {enabled: [{name: TaintToleration, weight: 5}]}}", "TaintToleration", 5, id="point"),
        pytest.param("{multiPoint: {enabled: [{name: ImageLocality, weight: 7}]}}", "ImageLocality", 7, id="multi"),
        pytest.param(
            "{multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}, score: {enabled: [{name: NodeAffinity}]}}",
            "NodeAffinity", 7, id="point-without-weight",
        ),
        pytest.param("{}", "NodeAffinity", 2, id="default"),
        pytest.param("{multiPoint: {enabled: [{name: Mine}]}}", "Mine", 1, id="unknown"),
        pytest.param("{score: {disabled: [{name: ImageLocality}]}}", "ImageLocality", None, id="disabled"),
    ],
)  # fmt: skip
def test_weight_rule_4(plugins: str, name: str, weight: int | None) -> None:
    assert dict(profile_of(plugins).scores).get(name) == weight


def test_arguments_are_read() -> None:
    config = read_config(
        HEAD
        + """
percentageOfNodesToScore: 30
podInitialBackoffSeconds: 2
profiles:
- schedulerName: packed
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}]}
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 20}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 9}
  - name: Mine
    args: {colour: red}
- schedulerName: default-scheduler
""",
        unschedulable_duration="90s",
    )
    packed, plain = config.profiles
    assert (packed.name, plain.name) == ("packed", "default-scheduler")
    assert packed.args.scoring_strategy.type == "MostAllocated"
    assert [(each.name, each.weight) for each in packed.args.scoring_strategy.resources] == [("cpu", 3)]
    assert packed.args.min_candidate_nodes_percentage == 20
    assert not packed.args.spread_is_system_default
    assert packed.args.hard_pod_affinity_weight == 9
    assert packed.other_args["Mine"] == {"colour": "red"}
    assert config.pod_max_in_unschedulable_seconds == 90.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("[", "couldn't parse the configuration as YAML", id="no-yaml"),
        pytest.param("42", "must be an object", id="no-object"),
        pytest.param("apiVersion: v1\nkind: Pod", 'no kind "Pod" is registered for version "v1"', id="other-kind"),
        pytest.param(f"{HEAD}colour: red", "unknown field `colour`", id="unknown-field"),
        pytest.param(f"{HEAD}parallelism: 0", "parallelism: Invalid value: 0: should be", id="parallelism"),
        pytest.param(f"{HEAD}percentageOfNodesToScore: 101",
                     "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]", id="percentage"),
        pytest.param(f"{HEAD}podInitialBackoffSeconds: 0", "must be greater than 0", id="backoff"),
        pytest.param(f"{HEAD}podInitialBackoffSeconds: 11", "must be greater than or equal to PodInitialBackoffSeconds",
                     id="backoff-max"),
        pytest.param(f"{HEAD}profiles: []", "profiles: Required value", id="no-profiles"),
        pytest.param(f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: a}}]",
                     'profiles[1].schedulerName: Duplicate value: "a"', id="same-name"),
        pytest.param(f"{HEAD}profiles: [{{}}, {{schedulerName: a}}]", "profiles[0].schedulerName: Required value",
                     id="no-name"),
        pytest.param(
            f"{HEAD}extenders: [{{prioritizeVerb: p}}]",
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
            id="extender-without-weight",
        ),
        pytest.param(f"{HEAD}profiles: [{{plugins: {{queueSort: {{enabled: [{{name: M}}]}}}}}}]", "only PrioritySort",
                     id="queue-sort"),
    ],
)  # fmt: skip
def test_bad_configuration_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(text)
    assert message in str(caught.value)
