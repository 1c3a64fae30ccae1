"""Profiles become manifests."""

import msgspec
import pytest

from doorman.api.views.nodes import Node
from doorman.nodes.node_annotations import FAILING_IMAGES, POD_TERMINATION, SCRIPT
from doorman.nodes.profile import NodeProfile, missing_status, node_info, node_ip, pod_ip, simulated_node


def test_plain_node_has_what_a_kubelet_registers() -> None:
    manifest = simulated_node("node-7")
    assert manifest["metadata"]["annotations"] == {"doorman.dev/simulated": "true"}
    assert manifest["metadata"]["labels"]["kubernetes.io/hostname"] == "node-7"
    assert manifest["status"]["allocatable"] == {
        "cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110",
    }  # fmt: skip
    assert manifest["status"]["nodeInfo"]["kubeletVersion"] == "v1.37.0"
    assert {address["type"] for address in manifest["status"]["addresses"]} == {"InternalIP", "Hostname"}
    assert "conditions" not in manifest["status"]


def test_node_made_now_carries_its_first_heartbeat() -> None:
    conditions = simulated_node("node-7", now=0.0)["status"]["conditions"]
    assert [(c["type"], c["status"]) for c in conditions] == [
        ("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False"), ("Ready", "True"),
    ]  # fmt: skip
    assert conditions[-1]["lastHeartbeatTime"] == "1970-01-01T00:00:00Z"


def test_profile_is_read_as_configuration_spells_it() -> None:
    profile = msgspec.convert(
        {
            "capacity": {"cpu": "16", "example.com/gpu": "2"},
            "zone": "a",
            "region": "r",
            "labels": {"tier": "gpu"},
            "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
            "startupDelay": "20s",
            "script": "silent 30s-90s",
            "podTermination": "2s",
            "failingImages": ["example.com/*", "*:old"],
        },
        NodeProfile,
    )
    manifest = simulated_node("n", profile, now=0.0)
    assert manifest["spec"] == {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}
    assert manifest["status"]["capacity"]["example.com/gpu"] == "2"
    assert manifest["metadata"]["labels"]["topology.kubernetes.io/zone"] == "a"
    assert manifest["metadata"]["labels"]["tier"] == "gpu"
    assert manifest["metadata"]["annotations"][SCRIPT] == "Ready=False 0s-20s; silent 30s-90s"
    assert manifest["metadata"]["annotations"][POD_TERMINATION] == "2s"
    assert manifest["metadata"]["annotations"][FAILING_IMAGES] == "example.com/*,*:old"
    assert "conditions" not in manifest["status"]


def test_unknown_field_of_a_profile_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"cpus": "16"}, NodeProfile)


def test_addresses_are_stable_and_distinct() -> None:
    assert len({node_ip(f"node-{number}") for number in range(10_000)}) == 10_000
    assert node_ip("alpha") == node_ip("alpha")
    assert pod_ip("a") != pod_ip("b")
    assert node_info("a") == node_info("a")


@pytest.mark.parametrize(
    ("capacity", "allocatable", "expected"),
    [
        pytest.param({"cpu": "4"}, {}, {"cpu": "4"}, id="nothing-allocatable"),
        pytest.param({"cpu": "4"}, {"cpu": "3"}, None, id="complete"),
        pytest.param({"cpu": "4", "a.b/c": "2"}, {"cpu": "3"}, {"cpu": "3", "a.b/c": "2"}, id="resource-added"),
    ],
)
def test_node_made_by_hand_is_given_what_is_allocatable(
    capacity: dict[str, str], allocatable: dict[str, str], expected: dict[str, str] | None
) -> None:
    status = {"capacity": capacity, "allocatable": allocatable}
    found = missing_status(msgspec.convert({"metadata": {"name": "n"}, "status": status}, Node))
    assert found.get("allocatable") == expected
