"""What a service says of itself when it is written."""

from typing import Any

import pytest

from doorman.registry.kinds.service_strategy import carry_over, complete_service


def test_ports_of_one_number_share_a_node_port() -> None:
    ports = [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 80, "protocol": "UDP"}, {"port": 81}]
    doc: dict[str, Any] = {"spec": {"type": "NodePort", "ports": ports}}
    complete_service(doc)
    assert [port.get("nodePort") for port in doc["spec"]["ports"]] == [30080, 30080, None]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param({"externalIPs": ["1.2.3.4"], "externalTrafficPolicy": "Cluster"}, "Cluster", id="still-reached"),
        pytest.param({"externalTrafficPolicy": "Cluster"}, None, id="no-longer-reached"),
        pytest.param({"externalTrafficPolicy": "Local"}, "Local", id="changed-too"),
    ],
)
def test_traffic_policy_goes_with_the_way_in(after: dict[str, Any], expected: str | None) -> None:
    before = {"type": "ClusterIP", "externalIPs": ["1.2.3.4"], "externalTrafficPolicy": "Cluster"}
    new = {"spec": {"type": "ClusterIP", **after}}
    carry_over(new, {"spec": before})
    assert new["spec"].get("externalTrafficPolicy") == expected


def test_other_address_alone_is_the_list_too() -> None:
    new = {"spec": {"type": "ClusterIP", "clusterIP": "None"}}
    carry_over(new, {"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}})
    assert new["spec"]["clusterIPs"] == ["None"]
