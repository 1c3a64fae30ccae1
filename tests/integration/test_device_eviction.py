"""Stories of device taint eviction: the rows of the list of tests in the specification of device taints."""

from typing import Any

import pytest

from doorman.api.views.resource.devices import SLICES, TAINT_RULES
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.base.instants import to_time
from doorman.client.actions import Patch, PatchType
from support.cluster import Story, run_story
from support.devices import DRIVER, DeviceStory, device, request, taint


async def running(cluster: Story, *tolerations: Any, name: str = "p", claim: str = "c") -> DeviceStory:
    """A pod that runs with a device of its own."""
    devices = DeviceStory(cluster)
    if devices.claim("c") is None and claim == "c":
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0", "gpu-1")
    await devices.given_claim(claim, request(tolerations=list(tolerations)))
    await devices.given_pod(name, claim=claim)
    cluster.expect_running(name, on="node-1")
    await cluster.advance(1)  # events of one pod at one instant would have one name
    return devices


def tolerates(seconds: int | None = None, effect: str = "NoExecute", **more: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"key": "broken", "operator": "Exists", **more}
    if effect:
        own["effect"] = effect
    if seconds is not None:
        own["tolerationSeconds"] = seconds
    return own


def test_row_1_taint_in_the_slice_evicts_at_once_and_says_so() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster)
        held = {"metadata": {"finalizers": ["example.com/held"]}}
        await cluster.client.patch(Patch(resource="pods", namespace="default", name="p", body=held))
        uid = cluster.pod("p").metadata.uid
        await devices.replace_slice("node-1", device("gpu-0", taint()), "gpu-1")
        leaving = cluster.pod("p")
        assert leaving.metadata.uid == uid
        assert leaving.metadata.deletion_timestamp
        condition = leaving.status.condition("DisruptionTarget")
        assert (condition.status, condition.reason, condition.message, condition.observed_generation) == (
            "True", "DeletionByDeviceTaintManager", "Device Taint manager: deleting due to NoExecute taint", 0,
        )  # fmt: skip
        assert await devices.events("p") == ["Marking for deletion"]
        assert devices.allocated("c") == []

    run_story(story, nodes=1)


@pytest.mark.parametrize("effect", ["NoSchedule", "None"])
def test_row_2_other_effects_never_evict(effect: str) -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster)
        await devices.replace_slice("node-1", device("gpu-0", taint(effect=effect)), "gpu-1")
        await devices.given_rule("rule", taint(effect=effect), {})
        await cluster.advance(600)
        cluster.expect_running("p")
        assert await devices.events("p") == []

    run_story(story, nodes=1)


@pytest.mark.parametrize(
    ("selector", "is_evicted"),
    [
        pytest.param({"driver": DRIVER}, True, id="driver"),
        pytest.param({"driver": "other.example.com"}, False, id="another driver"),
        pytest.param({"pool": "node-1"}, True, id="pool"),
        pytest.param({"device": "gpu-0"}, True, id="device"),
        pytest.param({"device": "gpu-1"}, False, id="another device"),
        pytest.param({"driver": DRIVER, "pool": "node-1", "device": "gpu-0"}, True, id="all three"),
        pytest.param({}, True, id="empty means all"),
        pytest.param(None, False, id="missing means none to the eviction controller"),
    ],
)
def test_row_3_rule_evicts_from_the_devices_it_names(selector: dict[str, str] | None, is_evicted: bool) -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster)
        await devices.given_rule("rule", taint(), selector)
        assert (cluster.pod("p") is None) is is_evicted

    run_story(story, nodes=1)


def test_row_4_seconds_count_from_the_time_the_taint_was_added() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster, tolerates(60))
        added = to_time(cluster.clock.now() - 20)
        await devices.given_rule("rule", taint(timeAdded=added), {"driver": DRIVER})
        await cluster.advance(39)
        cluster.expect_running("p")
        await cluster.advance(1)
        assert await devices.events("p") == ["Marking for deletion"]

    run_story(story, nodes=1)


def test_row_4_restart_does_not_give_more_time() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster, tolerates(60))
        await devices.given_rule("rule", taint(), {"driver": DRIVER})
        await cluster.advance(30)
        await cluster.restart()
        await cluster.advance(29)
        cluster.expect_running("p")
        await cluster.advance(2)
        assert await DeviceStory(cluster).events("p") == ["Marking for deletion"]

    run_story(story, nodes=1)


def test_row_4_taint_of_long_ago_evicts_at_once() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster, tolerates(60))
        long_ago = to_time(cluster.clock.now() - 3600)
        await devices.given_rule("rule", taint(timeAdded=long_ago), {"driver": DRIVER})
        assert await devices.events("p") == ["Marking for deletion"]

    run_story(story, nodes=1)


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        pytest.param([tolerates(5), tolerates()], None, id="row 5: for ever among several"),
        pytest.param([tolerates(90), tolerates(30), tolerates(60)], 30, id="row 6: the smallest of several"),
        pytest.param([tolerates(-7)], 0, id="less than nothing is nothing"),
        pytest.param([tolerates(effect="")], 0, id="row 7: without effect it does not protect"),
        pytest.param([tolerates(effect="NoSchedule")], 0, id="row 7: another effect does not protect"),
    ],
)
def test_rows_5_to_7_tolerations(tolerations: list[Any], seconds: int | None) -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster, *tolerations)
        await devices.given_rule("rule", taint(), {"driver": DRIVER})
        if seconds:
            await cluster.advance(seconds - 1)
            cluster.expect_running("p")
            await cluster.advance(1)
        if seconds is None:
            await cluster.advance(3600)
            cluster.expect_running("p")
        else:
            assert await devices.events("p") == ["Marking for deletion"]

    run_story(story, nodes=1)


def test_row_8_two_claims_the_earliest_counts_and_both_rules_count_the_pod() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0", "gpu-1")
        await devices.given_claim("long", request(tolerations=[tolerates(100)]))
        await devices.given_claim("short", request(tolerations=[tolerates(50)]))
        entries = [{"name": name, "resourceClaimName": name} for name in ("long", "short")]
        await cluster.given_pod("p", resourceClaims=entries)
        await devices.given_rule("one", taint(), {"device": devices.allocated("long")[0]})
        await devices.given_rule("two", taint(), {"device": devices.allocated("short")[0]})
        await cluster.advance(20)
        pending = ("True", "PodsPendingEviction", "1 pod needs to be evicted in 1 namespace.")
        assert (devices.condition("one"), devices.condition("two")) == (pending, pending)
        await cluster.advance(29)
        cluster.expect_running("p")
        await cluster.advance(1)
        assert await devices.events("p") == ["Marking for deletion"]

    run_story(story, nodes=1)


@pytest.mark.parametrize("how", ["taint", "slice", "generation"])
def test_row_9_without_the_taint_the_eviction_is_cancelled(how: str) -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster, tolerates(60))
        await devices.replace_slice("node-1", device("gpu-0", taint()), "gpu-1")
        await cluster.advance(30)
        match how:
            case "taint":
                await devices.replace_slice("node-1", "gpu-0", "gpu-1")
            case "slice":
                await devices.delete(SLICES, "node-1-gpus")
            case _:
                await devices.given_slice("node-1", "gpu-0", "gpu-1", generation=2, name="newer")
        await cluster.advance(120)
        cluster.expect_running("p")
        assert await devices.events("p") == ["Cancelling deletion"]

    run_story(story, nodes=1)


def test_row_10_pod_without_a_node_is_left_alone_until_it_has_one() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", device("gpu-0", taint()))
        await devices.given_claim("c", request(tolerations=[tolerates(effect="")]))
        await cluster.taint("node-1", "away:NoSchedule")
        await devices.given_pod("p", claim="c")
        await cluster.advance(60)
        assert (cluster.pod("p").spec.node_name, await devices.events("p")) == ("", [])
        await cluster.taint("node-1", "away:NoSchedule-")
        await cluster.advance(10)
        cluster.expect_gone("p")

    run_story(story, nodes=1)


def test_row_11_namesake_of_an_evicted_pod_is_another() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster, tolerates(60))
        await devices.given_rule("rule", taint(), {"driver": DRIVER})
        await cluster.delete_pod("p")
        await cluster.advance(40)
        await cluster.given_pod("p")
        await cluster.advance(600)
        cluster.expect_running("p")
        assert await devices.events("p") == []

    run_story(story, nodes=1)


@pytest.mark.parametrize("how", ["deallocated", "deleted"])
def test_row_12_claim_without_its_allocation_evicts_nobody(how: str) -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster, tolerates(60))
        await devices.given_rule("rule", taint(), {"driver": DRIVER})
        await cluster.advance(1)
        nothing = {"status": {"allocation": None, "reservedFor": None}}
        patch = Patch(
            resource=CLAIMS, namespace="default", name="c", subresource="status", body=nothing, type=PatchType.MERGE
        )
        await cluster.client.patch(patch)
        if how == "deleted":
            without = {"metadata": {"finalizers": None}}
            await cluster.client.patch(
                Patch(resource=CLAIMS, namespace="default", name="c", body=without, type=PatchType.MERGE)
            )
            await devices.delete(CLAIMS, "c", "default")
            assert devices.claim("c") is None
        await cluster.settle()
        assert await devices.events("p") == ["Cancelling deletion"]
        await cluster.advance(600)
        cluster.expect_running("p")

    run_story(story, nodes=1)


def test_row_13_effect_none_counts_what_would_happen_once() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster)
        await devices.given_rule("rule", taint(effect="None"), {"driver": DRIVER})
        said = (
            "2 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace "
            "if the effect was NoExecute. This information will not be updated again. "
            "Recreate the DeviceTaintRule to trigger an update."
        )
        assert devices.condition("rule") == ("False", "NoEffect", said)
        await cluster.delete_pod("p")
        await cluster.advance(120)
        assert devices.condition("rule") == ("False", "NoEffect", said)

    run_story(story, nodes=1)


def test_row_14_from_none_to_no_execute_the_time_begins_anew() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster, tolerates(60))
        await devices.given_rule("rule", taint(effect="None"), {"driver": DRIVER})
        await cluster.advance(300)
        body = {"spec": {"taint": {"effect": "NoExecute"}}}
        await cluster.client.patch(Patch(resource=TAINT_RULES, name="rule", body=body, type=PatchType.MERGE))
        await cluster.advance(58)
        cluster.expect_running("p")
        await cluster.advance(2)
        assert await devices.events("p") == ["Marking for deletion"]

    run_story(story, nodes=1)


def test_row_15_status_tells_how_many_and_how_far() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster, tolerates(60))
        await running(cluster, tolerates(60), name="q", claim="other")
        await devices.given_rule("rule", taint(), {"driver": DRIVER})
        waiting = "2 pods need to be evicted in 1 namespace."
        assert devices.condition("rule") == ("True", "PodsPendingEviction", waiting)
        await cluster.advance(75)
        said = "2 pods evicted since starting the controller."
        assert devices.condition("rule") == ("False", "Completed", said)
        assert devices.rule("rule").status.conditions[0].observed_generation == 1

    run_story(story, nodes=1)


@pytest.mark.parametrize(
    ("effect", "condition"),
    [
        ("NoExecute", ("False", "NotStarted", "")),
        ("NoSchedule", ("False", "OtherEffect", "Eviction only happens for the NoExecute effect.")),
    ],
)
def test_row_15_status_of_a_rule_with_nothing_to_do(effect: str, condition: tuple[str, str, str]) -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_rule("rule", taint(effect=effect), {"driver": DRIVER})
        assert devices.condition("rule") == condition

    run_story(story, nodes=1)


def test_row_16_generated_claim_counts_only_when_the_pod_was_told_of_it() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        await devices.given_template("t", request(tolerations=[tolerates(60)]))
        await devices.given_pod("p", template="t")
        await devices.given_rule("rule", taint(), {"driver": DRIVER})
        assert devices.condition("rule")[1] == "PodsPendingEviction"
        await cluster.advance(60)
        assert await devices.events("p") == ["Marking for deletion"]

    run_story(story, nodes=1)


def test_row_18_only_the_reserved_pod_is_deleted_and_a_deployment_makes_another() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster)
        await running(cluster, name="q", claim="other")
        assert devices.allocated("c") == ["gpu-0"]
        await devices.given_rule("rule", taint(), {"device": "gpu-0"})
        await cluster.advance(60)
        cluster.expect_gone("p")
        cluster.expect_running("q")
        assert devices.allocated("other") == ["gpu-1"]

    run_story(story, nodes=1)


def test_extended_resources_are_never_evicted() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class(extendedResourceName="example.com/gpu")
        await devices.given_slice("node-1", "gpu-0")
        resources = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
        await cluster.given_pod("p", containers=[{"name": "c", "image": "app", "resources": resources}])
        await devices.given_rule("rule", taint(), {"driver": DRIVER})
        await cluster.advance(600)
        cluster.expect_running("p")

    run_story(story, nodes=1)


def test_controller_that_is_switched_off_evicts_nobody() -> None:
    async def story(cluster: Story) -> None:
        devices = await running(cluster)
        await devices.given_rule("rule", taint(), {"driver": DRIVER})
        await cluster.advance(60)
        cluster.expect_running("p")

    run_story(story, nodes=1, controllers=("*", "-device-taint-eviction-controller"))
