"""NodeAffinity: what pods require of nodes' labels, and what they prefer."""

from typing import Any

import pytest

from support.scheduling import Desk

MESSAGE = "2 node(s) didn't match Pod's node affinity/selector"


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": wanted}}


def two_nodes() -> Desk:
    desk = Desk()
    desk.node("a", labels={"disk": "ssd", "cores": "8"})
    desk.node("b", labels={"disk": "hdd", "cores": "16"})
    return desk


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        pytest.param({"nodeSelector": {"disk": "hdd"}}, "b", id="selector"),
        pytest.param({"nodeSelector": {"disk": "tape"}}, "", id="selector that nobody matches"),
        pytest.param(required(term("disk", "In", "ssd", "nvme")), "a", id="In"),
        pytest.param(required(term("disk", "NotIn", "ssd")), "b", id="NotIn"),
        pytest.param(required(term("cores", "Gt", "8")), "b", id="Gt"),
        pytest.param(required(term("cores", "Lt", "16")), "a", id="Lt"),
        pytest.param(required(term("gpu", "Exists")), "", id="Exists"),
        pytest.param(required(term("gpu", "Exists"), term("disk", "In", "hdd")), "b", id="one of several terms"),
        pytest.param(required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}), "b",
                     id="by name"),
    ],
)  # fmt: skip
def test_required(spec: dict[str, Any], where: str) -> None:
    desk = two_nodes()
    desk.pod("p", **spec)
    desk.settle()
    assert desk.where("p") == where
    assert (MESSAGE in desk.messages.get("p", "")) is (where == "")


@pytest.mark.parametrize(("weights", "where"), [((10, 1), "a"), ((1, 10), "b")])
def test_preferred_terms_are_weighed(weights: tuple[int, int], where: str) -> None:
    desk = two_nodes()
    preferred = [
        {"weight": weight, "preference": term("disk", "In", disk)}
        for weight, disk in zip(weights, ("ssd", "hdd"), strict=True)
    ]
    desk.pod("p", affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})
    desk.settle()
    assert desk.where("p") == where


def test_label_that_comes_brings_the_pod_back() -> None:
    desk = two_nodes()
    desk.pod("p", nodeSelector={"gpu": "yes"})
    desk.settle()
    desk.node("a", labels={"gpu": "yes"})
    desk.advance(20)
    assert desk.where("p") == "a"
