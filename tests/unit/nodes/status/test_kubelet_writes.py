"""What a simulated kubelet says of a node that lacks it."""

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.nodes.status.kubelet_writes import missing_status


@pytest.mark.parametrize(
    ("capacity", "allocatable", "expected"),
    [
        pytest.param({"cpu": "4"}, {}, {"cpu": "4"}, id="nothing-allocatable"),
        pytest.param({"cpu": "4"}, {"cpu": "3"}, None, id="complete"),
        pytest.param({"cpu": "4", "a.b/c": "2"}, {"cpu": "3"}, {"cpu": "3", "a.b/c": "2"}, id="resource-added"),
    ],
)
def test_allocatable(capacity: dict[str, str], allocatable: dict[str, str], expected: dict[str, str] | None) -> None:
    status = {"capacity": capacity, "allocatable": allocatable}
    found = missing_status(msgspec.convert({"metadata": {"name": "n"}, "status": status}, Node))
    assert found.get("allocatable") == expected
