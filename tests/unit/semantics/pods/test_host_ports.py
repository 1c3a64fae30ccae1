"""Which ports of its host a pod wants, and which exclude each other."""

import msgspec
import pytest

from doorman.api.views.pods import PodSpec
from doorman.semantics.pods.host_ports import HostPort, do_conflict, host_ports


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(HostPort("TCP", 80), HostPort("TCP", 80), True, id="rule-2-same"),
        pytest.param(HostPort("TCP", 80), HostPort("UDP", 80), False, id="rule-2-other-protocol"),
        pytest.param(HostPort("TCP", 80), HostPort("TCP", 81), False, id="rule-2-other-port"),
        pytest.param(HostPort("TCP", 80, "10.0.0.1"), HostPort("TCP", 80), True, id="rule-2-any-address-holds-all"),
        pytest.param(HostPort("TCP", 80), HostPort("TCP", 80, "10.0.0.1"), True, id="rule-2-any-address-wants-all"),
        pytest.param(
            HostPort("TCP", 80, "10.0.0.1"), HostPort("TCP", 80, "10.0.0.2"), False, id="rule-2-other-address"
        ),
    ],
)
def test_conflict(one: HostPort, other: HostPort, expected: bool) -> None:
    assert do_conflict([one], [other]) is expected


def test_rule_1_ports_of_containers_and_sidecars() -> None:
    ports = {"ports": [{"hostPort": 80}, {"hostPort": 80}, {"containerPort": 81}]}
    init = [{"ports": [{"hostPort": 90}]}, {"ports": [{"hostPort": 91}], "restartPolicy": "Always"}]
    spec = msgspec.convert({"containers": [ports], "initContainers": init}, PodSpec)
    assert host_ports(spec) == (HostPort("TCP", 80), HostPort("TCP", 91))
