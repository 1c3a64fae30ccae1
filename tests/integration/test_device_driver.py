"""Stories of simulated devices: what the driver publishes, and what becomes of pods when it does."""

from doorman.api.views.resource.devices import CLASSES, SLICES
from doorman.nodes.devices.device_commands import fail_device, recover_device, taint_device, untaint_device
from doorman.nodes.fleet import Fleet, FleetEntry
from doorman.nodes.node_commands import cut_off, recover
from doorman.nodes.profile import NodeProfile
from support.cluster import Story, run_story
from support.devices import DeviceStory, request

DEVICES = Fleet(profiles={"gpu": NodeProfile(devices="gpu=2,model=a100")}, nodes=(FleetEntry(profile="gpu"),))
GPU = {"deviceClassName": "gpu.doorman.dev"}


def published(cluster: Story) -> list[str]:
    [found] = cluster.cluster.informers.lister(SLICES).list()
    return [device.name for device in found.spec.devices]


async def order(cluster: Story, make: object, device: str, *more: str) -> None:
    node = cluster.node("node-1")
    await cluster.order("node-1", make(node.metadata.annotations, device, *more))  # type: ignore[operator]


def test_devices_of_a_profile_are_published_with_a_class_and_given_to_pods() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        assert published(cluster) == ["gpu-0", "gpu-1"]
        assert [one.metadata.name for one in cluster.cluster.informers.lister(CLASSES).list()] == ["gpu.doorman.dev"]
        selector = {"cel": {"expression": 'device.attributes["gpu.doorman.dev"].model == "a100"'}}
        await devices.given_claim("c", request(selectors=[selector], **GPU))
        await devices.given_pod("p", claim="c")
        cluster.expect_running("p", on="node-1")

    run_story(story, fleet=DEVICES)


def test_tainted_device_evicts_and_time_runs_on_when_the_driver_publishes_anew() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
        await devices.given_claim("c", request(tolerations=[toleration], **GPU))
        await devices.given_pod("p", claim="c")
        await order(cluster, taint_device, "gpu-0", "broken:NoExecute")
        await cluster.advance(30)
        await order(cluster, taint_device, "gpu-1", "hot:NoSchedule")
        await cluster.advance(29)
        cluster.expect_running("p")
        await cluster.advance(2)
        cluster.expect_gone("p")

    run_story(story, fleet=DEVICES)


def test_untainted_device_keeps_its_pod() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
        await devices.given_claim("c", request(tolerations=[toleration], **GPU))
        await devices.given_pod("p", claim="c")
        await cluster.advance(1)
        await order(cluster, taint_device, "gpu-0", "broken:NoExecute")
        await cluster.advance(1)
        await order(cluster, untaint_device, "gpu-0", "broken")
        await cluster.advance(100)
        cluster.expect_running("p")
        assert await devices.events("p") == ["Cancelling deletion"]

    run_story(story, fleet=DEVICES)


def test_withdrawn_device_stays_with_its_claim_and_is_given_to_nobody_else() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_claim("c", request(**GPU))
        await devices.given_pod("p", claim="c")
        await order(cluster, fail_device, "gpu-0")
        assert published(cluster) == ["gpu-1"]
        cluster.expect_running("p")
        assert devices.allocated("c") == ["gpu-0"]
        await cluster.delete_pod("p")
        await cluster.advance(60)
        await devices.given_claim("other", request(count=2, **GPU))
        await devices.given_pod("q", claim="other")
        assert devices.allocated("other") == []
        await order(cluster, recover_device, "gpu-0")
        await cluster.advance(10)
        assert devices.allocated("other") == ["gpu-0", "gpu-1"]

    run_story(story, fleet=DEVICES)


def test_driver_of_a_node_that_is_cut_off_publishes_later() -> None:
    async def story(cluster: Story) -> None:
        await cluster.order("node-1", cut_off())
        await order(cluster, fail_device, "gpu-0")
        assert published(cluster) == ["gpu-0", "gpu-1"]
        await cluster.order("node-1", recover())
        assert published(cluster) == ["gpu-1"]

    run_story(story, fleet=DEVICES)


def test_slice_goes_with_its_node() -> None:
    async def story(cluster: Story) -> None:
        await DeviceStory(cluster).delete("nodes", "node-1")
        await cluster.advance(5)
        assert list(cluster.cluster.informers.lister(SLICES).list()) == []

    run_story(story, fleet=DEVICES)
