"""Stories of allocation: which devices claims get, and what waiting pods are told."""

from typing import Any

import pytest

from doorman.api.raw_members import raw_object
from doorman.api.views.resource.devices import SLICES, TAINT_RULES
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.client.actions import Patch, PatchType
from doorman.registry.caller import Caller
from support.cluster import Story, run_story
from support.devices import DRIVER, DeviceStory, claim_spec, device, request, taint

MIDNIGHT = "2026-01-01T00:00:00Z"
CANNOT = (
    "0/1 nodes are available: 1 cannot allocate all claims. "
    "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)


def test_claim_is_allocated_reserved_and_protected_before_the_pod_runs() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0", "gpu-1")
        await devices.given_claim("c", request(tolerations=[{"key": "a", "operator": "Exists"}]))
        await devices.given_pod("p", claim="c")
        cluster.expect_running("p", on="node-1")
        claim = devices.claim("c")
        assert devices.allocated("c") == ["gpu-0"]
        assert [consumer.uid for consumer in claim.status.reserved_for] == [cluster.pod("p").metadata.uid]
        assert claim.metadata.finalizers == ("resource.kubernetes.io/delete-protection",)
        assert claim.status.allocation.node_selector.node_selector_terms[0].match_fields[0].values == ("node-1",)
        [result] = claim.status.allocation.devices.results
        assert (result.tolerations[0].key, result.tolerations[0].operator) == ("a", "Exists")

    run_story(story, nodes=1)


@pytest.mark.parametrize(
    ("effect", "tolerations", "runs"),
    [
        pytest.param("NoSchedule", [], False, id="NoSchedule keeps away"),
        pytest.param("NoExecute", [], False, id="NoExecute keeps away"),
        pytest.param("None", [], True, id="None does not"),
        pytest.param("NoSchedule", [{"key": "broken", "operator": "Exists"}], True, id="tolerated by key"),
        pytest.param("NoSchedule", [{"operator": "Exists"}], True, id="tolerated whatever it is"),
        pytest.param("NoSchedule", [{"key": "broken", "value": "other"}], False, id="another value"),
        pytest.param("NoSchedule", [{"operator": "Exists", "effect": "NoExecute"}], False, id="another effect"),
    ],
)
def test_row_17_tainted_device_is_given_to_who_tolerates_it(effect: str, tolerations: list[Any], runs: bool) -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", device("gpu-0", taint(effect=effect)))
        await devices.given_claim("c", request(tolerations=tolerations))
        await devices.given_pod("p", claim="c")
        assert (devices.allocated("c"), devices.message("p")) == ((["gpu-0"], "") if runs else ([], CANNOT))

    run_story(story, nodes=1)


def test_row_17_sub_requests_are_held_against_their_own_tolerations() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", device("gpu-0", taint(effect="NoSchedule")))
        tolerant = {"name": "b", "deviceClassName": "gpu", "tolerations": [{"operator": "Exists"}]}
        alternatives = {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}, tolerant]}
        await devices.given_claim("c", alternatives)
        await devices.given_pod("p", claim="c")
        [result] = devices.claim("c").status.allocation.devices.results
        assert (result.request, result.device) == ("r/b", "gpu-0")
        assert [one.operator for one in result.tolerations] == ["Exists"]

    run_story(story, nodes=1)


def test_all_devices_are_not_to_be_had_when_one_is_tainted() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0", device("gpu-1", taint(effect="NoSchedule")))
        await devices.given_claim("c", request(allocationMode="All"))
        await devices.given_pod("p", claim="c")
        assert devices.message("p") == CANNOT
        await devices.replace_slice("node-1", "gpu-0", "gpu-1")
        await cluster.advance(10)
        assert devices.allocated("c") == ["gpu-0", "gpu-1"]

    run_story(story, nodes=1)


@pytest.mark.parametrize(
    ("selector", "is_tainted"),
    [
        pytest.param({"driver": DRIVER}, True, id="driver"),
        pytest.param({"pool": "node-1"}, True, id="pool"),
        pytest.param({"device": "gpu-0"}, True, id="device"),
        pytest.param({"driver": DRIVER, "pool": "node-1", "device": "gpu-0"}, True, id="all three"),
        pytest.param({"driver": DRIVER, "pool": "node-2"}, False, id="another pool"),
        pytest.param({}, True, id="empty means all"),
        pytest.param(None, True, id="missing means all to the scheduler"),
    ],
)
def test_rule_taints_the_devices_it_names(selector: dict[str, str] | None, is_tainted: bool) -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        await devices.given_rule("rule", taint(effect="NoSchedule"), selector)
        await devices.given_claim("c")
        await devices.given_pod("p", claim="c")
        assert devices.allocated("c") == ([] if is_tainted else ["gpu-0"])
        await devices.delete(TAINT_RULES, "rule")
        await cluster.advance(10)
        assert devices.allocated("c") == ["gpu-0"]

    run_story(story, nodes=1)


def test_pods_wait_for_claims_classes_and_slices_and_are_woken_by_them() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_pod("p", claim="c")
        assert devices.message("p") == ""
        await devices.given_claim("c")
        assert devices.message("p").startswith("0/1 nodes are available: request r: device class gpu does not exist.")
        await devices.given_class()
        await cluster.advance(2)
        assert devices.message("p") == CANNOT
        await devices.given_slice("node-1", "gpu-0")
        await cluster.advance(5)
        cluster.expect_running("p", on="node-1")

    run_story(story, nodes=1)


def test_device_of_a_pod_that_is_gone_is_given_to_the_next() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        await devices.given_template("t")
        await devices.given_pod("one", template="t")
        await devices.given_pod("two", template="t")
        cluster.expect_running("one", on="node-1")
        assert devices.message("two") == CANNOT
        await cluster.delete_pod("one")
        await cluster.advance(60)
        cluster.expect_running("two", on="node-1")
        assert [claim.metadata.owner_references[0].name for claim in devices.claims()] == ["two"]

    run_story(story, nodes=1)


def test_two_pods_share_a_named_claim_and_it_outlives_neither() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        await devices.given_slice("node-2", "gpu-0")
        await devices.given_claim("c")
        await devices.given_pod("one", claim="c")
        await devices.given_pod("two", claim="c")
        assert cluster.pod("one").spec.node_name == cluster.pod("two").spec.node_name
        assert len(devices.claim("c").status.reserved_for) == 2
        await cluster.delete_pod("one")
        await cluster.advance(60)
        assert [consumer.name for consumer in devices.claim("c").status.reserved_for] == ["two"]
        await devices.delete(CLAIMS, "c", "default")
        assert devices.claim("c").metadata.deletion_timestamp
        await cluster.delete_pod("two")
        await cluster.advance(60)
        assert devices.claim("c") is None

    run_story(story, nodes=2)


def test_incomplete_pool_and_withdrawn_generation_are_not_used() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0", pool={"resourceSliceCount": 2})
        await devices.given_claim("c")
        await devices.given_pod("p", claim="c")
        assert devices.message("p") == CANNOT
        await devices.given_slice("node-1", "gpu-9", generation=2, name="newer")
        await cluster.advance(10)
        assert devices.allocated("c") == ["gpu-9"]

    run_story(story, nodes=1)


def test_selector_that_fails_on_a_device_is_told_as_an_error() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        selector = {"cel": {"expression": f"device.attributes['{DRIVER}'].model == 'a100'"}}
        await devices.given_claim("c", request(selectors=[selector]))
        await devices.given_pod("p", claim="c")
        condition = cluster.pod("p").status.condition("PodScheduled")
        assert condition.reason == "SchedulerError"
        assert condition.message.startswith(
            'running "DynamicResources" filter plugin: claim default/c: selector #0 on device '
            f"{DRIVER}/node-1/gpu-0: CEL runtime error: no such key: model. "
            "consider using CEL optional chaining (.? followed by orValue()) or "
            "guarding the check with has() for optional fields"
        )

    run_story(story, nodes=1)


def test_failure_on_a_node_that_has_gone_is_forgotten() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        selector = {"cel": {"expression": f"device.attributes['{DRIVER}'].model == 'a100'"}}
        await devices.given_claim("c", request(selectors=[selector]))
        await devices.given_pod("p", claim="c")
        assert cluster.pod("p").status.condition("PodScheduled").reason == "SchedulerError"
        await devices.delete("nodes", "node-1")
        await devices.given_slice("node-2", {"name": "gpu-0", "attributes": {"model": {"string": "a100"}}})
        await cluster.advance(seconds=120)
        assert cluster.pod("p").spec.node_name == "node-2"

    run_story(story, nodes=2)


def test_claim_that_keeps_its_pod_from_every_node_is_given_up() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        await devices.given_claim("c")
        await devices.given_pod("first", claim="c")
        await cluster.delete_pod("first")
        await cluster.advance(60)
        assert devices.allocated("c") == []
        await devices.given_pod("p", claim="c")
        cluster.expect_running("p", on="node-1")

    run_story(story, nodes=2)


def test_extended_resource_that_a_class_stands_for_is_given_as_devices() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class(extendedResourceName="example.com/gpu")
        await devices.given_slice("node-1", "gpu-0", "gpu-1", "gpu-2")
        resources = {"requests": {"example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}}
        await cluster.given_pod("p", containers=[{"name": "c", "image": "app", "resources": resources}])
        cluster.expect_running("p", on="node-1")
        [claim] = devices.claims()
        assert cluster.pod("p").status.extended_resource_claim_status.resource_claim_name == claim.metadata.name
        assert claim.metadata.name.startswith("p-extended-resources-")
        assert [result.device for result in claim.status.allocation.devices.results] == ["gpu-0", "gpu-1"]
        await cluster.given_pod("q", containers=[{"name": "c", "image": "app", "resources": resources}])
        assert devices.message("q") == CANNOT
        await cluster.delete_pod("p")
        await cluster.advance(60)
        cluster.expect_running("q", on="node-1")

    run_story(story, nodes=1)


def test_resource_that_names_a_class_is_given_as_devices_and_the_kubelet_takes_the_pod() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        amount = {"deviceclass.resource.kubernetes.io/gpu": "1"}
        resources = {"requests": amount, "limits": amount}
        await cluster.given_pod("p", containers=[{"name": "c", "image": "app", "resources": resources}])
        await cluster.advance(10)
        cluster.expect_running("p", on="node-1")
        [claim] = devices.claims()
        assert [result.device for result in claim.status.allocation.devices.results] == ["gpu-0"]

    run_story(story, nodes=1)


def test_slices_that_contradict_each_other_are_told() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0", pool={"resourceSliceCount": 2})
        await devices.given_slice("node-1", "gpu-0", pool={"resourceSliceCount": 2}, name="again")
        await devices.given_claim("c")
        await devices.given_pod("p", claim="c")
        assert "1 invalid resource pools were encountered" in devices.message("p")
        await devices.delete(SLICES, "again")
        assert devices.allocated("c") == []

    run_story(story, nodes=1)


def reported(condition: str) -> Patch:
    """What a driver says of the device of claim c."""
    said = {"type": condition, "status": "True", "reason": "Done", "message": "x", "lastTransitionTime": MIDNIGHT}
    own = {"driver": DRIVER, "pool": "node-1", "device": "slow", "conditions": [said]}
    body = {"status": {"devices": [own]}}
    return Patch(resource=CLAIMS, namespace="default", name="c", subresource="status", body=body, type=PatchType.MERGE)


@pytest.mark.parametrize(
    ("condition", "node"), [pytest.param("Attached", "node-1", id="ready"), pytest.param("Failed", "", id="failed")]
)
def test_pod_is_bound_when_its_device_has_been_got_ready_and_not_before(condition: str, node: str) -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        slow = device("slow", bindingConditions=["Attached"], bindingFailureConditions=["Failed"], bindsToNode=True)
        await devices.given_slice("node-1", slow)
        await devices.given_claim("c")
        await devices.given_pod("p", claim="c")
        await cluster.advance(30)
        assert (devices.allocated("c"), cluster.pod("p").spec.node_name) == (["slow"], "")
        await cluster.client.patch(reported(condition))
        await cluster.advance(6)
        assert cluster.pod("p").spec.node_name == node
        if not node:
            text = 'running PreBind plugin "DynamicResources": device binding failed: claim=c, reason=Done, message="x"'
            assert devices.message("p") == text

    run_story(story, nodes=1)


def test_texts_that_were_sent_with_white_space_hold_up_no_component() -> None:
    """A patch of such a claim is refused; who speaks protobuf upstream is not."""

    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        spaced = raw_object({"b": 1, "a": "<"}, b'{ "b": 1, "a": "<" }')
        config = [{"opaque": {"driver": DRIVER, "parameters": spaced}}]
        await devices.given_class(config=config)
        await devices.given_slice("node-1", "gpu-0")
        plane = cluster.cluster
        kind = plane.registry.kinds.named(CLAIMS)
        body = {"metadata": {"name": "c"}, "spec": claim_spec(config=config)}
        await plane.registry.create(kind, "default", body, Caller(user=cluster.client.user))
        await devices.given_pod("p", claim="c")
        cluster.expect_running("p", on="node-1")
        await cluster.delete_pod("p")
        await cluster.advance(60)
        claim = devices.claim("c")
        assert (claim.status.allocation, claim.metadata.finalizers) == (None, ())
        stored = plane.registry.reader.get(kind, "default", "c")
        assert spaced.text in stored.value

    run_story(story, nodes=1)
