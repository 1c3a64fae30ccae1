"""Arguments of plugins: what is refused, with the path and the words."""

from typing import Any

import pytest

from doorman.scheduler.config.plugin_args import PluginConfig, read_args


@pytest.mark.parametrize(
    ("name", "args", "complaint"),
    [
        pytest.param("NodeResourcesFit", {"scoringStrategy": {"type": "Random"}},
                     'x[0].args.scoringStrategy.type: Unsupported value: "Random": supported values: '
                     '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"', id="strategy"),
        pytest.param("NodeResourcesFit", {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}},
                     "x[0].args.scoringStrategy.resources[0].weight: Invalid value: 101: "
                     "resource weight of cpu not in valid range [1, 100]", id="weight"),
        pytest.param("NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
                     "x[0].args.scoringStrategy.requestedToCapacityRatio.shape: Required value: "
                     "at least one point must be specified", id="no-shape"),
        pytest.param("DefaultPreemption", {"minCandidateNodesPercentage": 101},
                     "x[0].args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
                     id="preemption-percentage"),
        pytest.param("DefaultPreemption", {"minCandidateNodesAbsolute": -1},
                     "x[0].args.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
                     id="preemption-absolute"),
        pytest.param("VolumeBinding", {"bindTimeoutSeconds": -1},
                     "x[0].args.bindTimeoutSeconds: Invalid value: -1: "
                     "invalid BindTimeoutSeconds, should not be a negative value", id="bind-timeout"),
        pytest.param("VolumeBinding", {"shape": [{"utilization": 0, "score": 11}]},
                     "x[0].args.shape[0].score: Invalid value: 11: not in valid range [0-10]", id="storage-shape"),
        pytest.param("DynamicResources", {"bindingTimeout": "500ms"},
                     'x[0].args.bindingTimeout: Invalid value: "500ms": must be at least 1 second',
                     id="device-binding-timeout"),
        pytest.param("DynamicResources", {"filterTimeout": "-1s"},
                     'x[0].args.filterTimeout: Invalid value: "-1s": must be zero or positive', id="filter-timeout"),
        pytest.param("DynamicResources", {"bindingTimeout": "soon"},
                     'x[0].args.strict decoding error: time: invalid duration "soon"', id="no-duration"),
        pytest.param("InterPodAffinity", {"hardPodAffinityWeight": 101},
                     "x[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0-100]", id="hard"),
        pytest.param("PodTopologySpread", {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "z"}]},
                     'x[0].args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
                     id="system-with-list"),
        pytest.param("PodTopologySpread",
                     {"defaultingType": "List",
                      "defaultConstraints": [{"maxSkew": 1, "topologyKey": "z", "labelSelector": {}}]},
                     "x[0].args.defaultConstraints[0].labelSelector: Forbidden: "
                     "constraint must not define a selector, as they deduced for each pod", id="selector"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(name: str, args: dict[str, Any], complaint: str) -> None:
    errors: list[str] = []
    read_args([PluginConfig(name, args)], "x", errors)
    assert errors == [complaint]


def test_arguments_of_dynamic_resources_are_read() -> None:
    errors: list[str] = []
    args, others = read_args([PluginConfig("DynamicResources", {"bindingTimeout": "1m30s"})], "x", errors)
    assert (args.device_binding_timeout_seconds, others, errors) == (90.0, {}, [])


def test_shape_must_rise_and_stay_in_range() -> None:
    errors: list[str] = []
    shape = [{"utilization": 50, "score": 11}, {"utilization": 50, "score": 0}, {"utilization": 101, "score": 1}]
    strategy = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}
    read_args([PluginConfig("NodeResourcesFit", {"scoringStrategy": strategy})], "x", errors)
    assert len(errors) == 3


def test_wrong_type_and_duplicate_are_named() -> None:
    errors: list[str] = []
    configs = [PluginConfig("InterPodAffinity", {"hardPodAffinityWeight": "much"}), PluginConfig("InterPodAffinity")]
    read_args(configs, "x", errors)
    assert "strict decoding error" in errors[0]
    assert errors[1] == 'x[1]: Duplicate value: "InterPodAffinity"'
