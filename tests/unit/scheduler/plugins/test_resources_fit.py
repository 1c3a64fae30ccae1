"""NodeResourcesFit: strategies and resources that are left out of account."""

import pytest

from doorman.scheduler.config.config_file import read_config
from support.scheduling import Desk

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- pluginConfig:\n"


def desk_with(args: str) -> Desk:
    return Desk(read_config(f"{HEAD}  - {{name: NodeResourcesFit, args: {args}}}\n"))


def fit_scores(desk: Desk) -> list[int]:
    found = desk.scheduler.explain(desk.pods["p"], desk.now)
    return [next(s.score for s in node.scores if s.plugin == "NodeResourcesFit") for node in found.nodes]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param("{}", [62, 96], id="least"),
        pytest.param("{scoringStrategy: {type: MostAllocated}}", [37, 3], id="most"),
        pytest.param(
            "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: "
            "{shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}", [37, 3], id="ratio",
        ),
        pytest.param("{scoringStrategy: {resources: [{name: cpu, weight: 1}]}}", [62, 97], id="cpu-only"),
    ],
)  # fmt: skip
def test_strategy(args: str, expected: list[int]) -> None:
    desk = desk_with(args)
    desk.node("used", cpu="4", memory="4Gi")
    desk.node("empty", cpu="4", memory="4Gi")
    desk.pod("there", node="used", requests={"cpu": "1400m", "memory": "1336Mi"})
    desk.pod("p")
    assert fit_scores(desk) == expected


@pytest.mark.parametrize(
    ("args", "fits"),
    [
        pytest.param("{}", False, id="counted"),
        pytest.param("{ignoredResources: [example.com/card]}", True, id="by-name"),
        pytest.param("{ignoredResourceGroups: [example.com]}", True, id="by-group"),
        pytest.param("{ignoredResourceGroups: [other.com]}", False, id="other-group"),
    ],
)
def test_ignored_resources(args: str, fits: bool) -> None:
    desk = desk_with(args)
    desk.node("n1")
    desk.pod("p", requests={"example.com/card": "1"})
    desk.settle()
    assert bool(desk.where("p")) is fits
