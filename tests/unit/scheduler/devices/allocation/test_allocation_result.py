"""An allocation as it is written."""

from typing import Any

from doorman.scheduler.devices.allocation.allocated_devices import AllocatedDevices
from doorman.scheduler.devices.allocation.allocation_result import allocated_devices, allocation_document
from doorman.scheduler.devices.allocation.allocator import Allocator
from support.claims import a_claim, a_class, a_node, a_slice, pools_of
from support.devices import DRIVER, device, request


def written(claim: Any, *slices: Any, **class_spec: Any) -> dict[str, Any]:
    node = a_node()
    allocator = Allocator({"gpu": a_class(**class_spec)}, AllocatedDevices())
    found = allocator.allocate([claim], node, pools_of(*slices).reached_by(node))
    assert found is not None
    return allocation_document(found[0], node)


def opaque(text: str) -> dict[str, Any]:
    return {"opaque": {"driver": DRIVER, "parameters": {"mode": text}}}


def test_results_carry_tolerations_admin_access_and_the_node() -> None:
    toleration = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    claim = a_claim(request(tolerations=[toleration], adminAccess=True))
    assert written(claim, a_slice("node-1", "x")) == {
        "devices": {
            "results": [
                {
                    "request": "r", "driver": DRIVER, "pool": "node-1", "device": "x", "adminAccess": True,
                    "tolerations": [toleration],
                }
            ]
        },
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
            ]
        },
    }  # fmt: skip


def test_devices_for_all_nodes_bind_the_claim_to_none() -> None:
    assert "nodeSelector" not in written(a_claim(), a_slice("pool", "x", allNodes=True))


def test_config_of_classes_comes_once_and_names_only_some_requests() -> None:
    claim = a_claim(request("r"), request("s"), config=[{"requests": ["s"], **opaque("claim")}])
    found = written(claim, a_slice("node-1", "x", "y"), config=[opaque("class")])["devices"]["config"]
    assert found == [
        {"source": "FromClass", **opaque("class")},
        {"source": "FromClaim", "requests": ["s"], **opaque("claim")},
    ]


def test_shares_have_an_id_and_what_they_consume() -> None:
    capacity = {"memory": {"value": "8Gi"}}
    claim = a_claim(request(capacity={"requests": {"memory": "2Gi"}}))
    document = written(claim, a_slice("node-1", device("x", allowMultipleAllocations=True, capacity=capacity)))
    [result] = allocated_devices(document)
    assert result.consumed_capacity == {"memory": "2Gi"}
    assert len(result.share_id) == 36


def test_conditions_of_binding_go_with_the_device() -> None:
    slow = device("x", bindingConditions=["Attached"], bindingFailureConditions=["Failed"], bindsToNode=True)
    [result] = allocated_devices(written(a_claim(), a_slice("node-1", slow)))
    assert (result.binding_conditions, result.binding_failure_conditions) == (("Attached",), ("Failed",))
