"""Orders to nodes are annotations."""

import pytest

from doorman.base.json_types import Document
from doorman.nodes.node_commands import conditions, cut_off, not_ready, pressure, recover
from doorman.nodes.status.simulated_health import ScriptError, health_at


@pytest.mark.parametrize(
    ("order", "silent", "reported"),
    [
        pytest.param(cut_off(), True, {}, id="cut-off"),
        pytest.param(not_ready(), False, {"Ready": "False"}, id="not-ready"),
        pytest.param(
            not_ready({"doorman.dev/conditions": "PIDPressure=True"}),
            False,
            {"PIDPressure": "True", "Ready": "False"},
            id="not-ready-besides-what-it-says-already",
        ),
        pytest.param(
            pressure(["memory", "disk"]), False, {"MemoryPressure": "True", "DiskPressure": "True"}, id="pressure"
        ),
        pytest.param(
            pressure(["memory"], {"doorman.dev/conditions": "Ready=False,PIDPressure=True"}),
            False,
            {"Ready": "False", "MemoryPressure": "True"},
            id="pressure-leaves-readiness",
        ),
        pytest.param(pressure([], {"doorman.dev/conditions": "DiskPressure=True"}), False, {}, id="relief"),
        pytest.param(
            pressure(["pid"], {"doorman.dev/conditions": "nonsense"}), False, {"PIDPressure": "True"}, id="mends"
        ),
        pytest.param(conditions("NetworkUnavailable=True"), False, {"NetworkUnavailable": "True"}, id="any"),
        pytest.param(recover(), False, {}, id="recover"),
    ],
)
def test_order_is_obeyed(order: Document, silent: bool, reported: dict[str, str]) -> None:
    annotations = {key: value for key, value in order["metadata"]["annotations"].items() if value is not None}
    health = health_at(annotations, 0.0, 1.0)
    assert (health.silent, health.conditions, health.error) == (silent, reported, "")


def test_orders_that_make_no_sense() -> None:
    with pytest.raises(KeyError):
        pressure(["noise"])
    with pytest.raises(ScriptError):
        conditions("Happy=True")
