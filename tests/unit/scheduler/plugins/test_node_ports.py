"""NodePorts: which ports exclude each other."""

import pytest

from doorman.scheduler.plugins.node_ports import conflict
from doorman.scheduler.requests import HostPort


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(HostPort("TCP", 80), HostPort("TCP", 80), True, id="same"),
        pytest.param(HostPort("TCP", 80), HostPort("UDP", 80), False, id="other-protocol"),
        pytest.param(HostPort("TCP", 80), HostPort("TCP", 81), False, id="other-port"),
        pytest.param(HostPort("TCP", 80, "10.0.0.1"), HostPort("TCP", 80), True, id="any-address-holds-all"),
        pytest.param(HostPort("TCP", 80), HostPort("TCP", 80, "10.0.0.1"), True, id="any-address-wants-all"),
        pytest.param(HostPort("TCP", 80, "10.0.0.1"), HostPort("TCP", 80, "10.0.0.2"), False, id="other-address"),
    ],
)
def test_conflict(one: HostPort, other: HostPort, expected: bool) -> None:
    assert conflict([one], [other]) is expected
