"""NodeUnschedulable: cordoned nodes take who tolerates the cordon."""

import pytest

from support.scheduling import Desk

KEY = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "fits"),
    [
        pytest.param("", False, id="none"),
        pytest.param(f"{KEY}:NoSchedule", True, id="of the cordon"),
        pytest.param(f"{KEY}:NoExecute", False, id="of another effect"),
        pytest.param("other:NoSchedule", False, id="of another key"),
    ],
)
def test_cordon(tolerations: str, fits: bool) -> None:
    desk = Desk()
    desk.node("n1", unschedulable=True)
    desk.pod("p", tolerations=tolerations)
    desk.settle()
    assert (desk.where("p") == "n1") is fits
    assert ("1 node(s) were unschedulable" in desk.messages.get("p", "")) is not fits


def test_end_of_a_cordon_brings_pods_back() -> None:
    desk = Desk()
    desk.node("n1", unschedulable=True)
    desk.pod("p")
    desk.settle()
    desk.node("n1")
    desk.advance(20)
    assert desk.where("p") == "n1"
