"""NodePorts: a port of a node is one pod's."""

from typing import Any

import pytest

from support.scheduling import Desk

MESSAGE = "didn't have free ports for the requested pod ports"


def port(number: int, protocol: str = "TCP", address: str = "") -> dict[str, Any]:
    return {"containerPort": 80, "hostPort": number, "protocol": protocol, "hostIP": address}


@pytest.mark.parametrize(
    ("taken", "wanted", "fits"),
    [
        pytest.param(port(80), port(80), False, id="the same"),
        pytest.param(port(80), port(81), True, id="another number"),
        pytest.param(port(80), port(80, "UDP"), True, id="another protocol"),
        pytest.param(port(80, address="10.0.0.1"), port(80, address="10.0.0.2"), True, id="another address"),
        pytest.param(port(80, address="10.0.0.1"), port(80), False, id="any address"),
        pytest.param(port(80, address="0.0.0.0"), port(80, address="10.0.0.2"), False, id="taken of any address"),
        pytest.param({"containerPort": 80}, {"containerPort": 80}, True, id="not of the node"),
    ],
)
def test_port_that_is_taken(taken: dict[str, Any], wanted: dict[str, Any], fits: bool) -> None:
    desk = Desk()
    desk.node("n1")
    desk.pod("first", ports=[taken])
    desk.settle()
    desk.pod("second", ports=[wanted])
    desk.settle()
    assert (desk.where("second") == "n1") is fits
    assert (MESSAGE in desk.messages.get("second", "")) is not fits


def test_port_that_comes_free_brings_the_pod_back() -> None:
    desk = Desk()
    desk.node("n1")
    desk.pod("first", ports=[port(80)])
    desk.pod("second", ports=[port(80)])
    desk.settle()
    desk.remove_pod("first")
    desk.advance(20)
    assert desk.where("second") == "n1"
