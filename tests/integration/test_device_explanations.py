"""What `doorman why` says of pods and their devices."""

from typing import Any

from doorman.api.identity import MASTERS, User
from doorman.cli.why import lines
from support.cluster import Story, run_story
from support.devices import DRIVER, DeviceStory, device, request, taint


def why(cluster: Story, pod: str) -> list[str]:
    user = User(name="admin", groups=(MASTERS,))
    found: dict[str, Any] = cluster.cluster.explainer().explain("default", pod, user)
    return lines(found)


def test_every_device_that_could_not_be_had_is_told_with_the_reason() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        attributes = {"model": {"string": "old"}}
        await devices.given_slice(
            "node-1",
            "gpu-0",
            device("gpu-1", taint(effect="NoSchedule")),
            device("gpu-2", attributes=attributes),
            "gpu-3",
        )
        await devices.given_rule("drain", taint("drain", effect="NoSchedule"), {"device": "gpu-3"})
        await devices.given_claim("held")
        await devices.given_pod("one", claim="held")
        fresh = {"cel": {"expression": f"device.attributes['{DRIVER}'].?model.orValue('new') != 'old'"}}
        await devices.given_claim("c", request(selectors=[fresh]))
        await devices.given_pod("p", claim="c")
        text = "\n".join(why(cluster, "p"))
        assert "device gpu-0 is allocated to claim default/held" in text
        assert "device gpu-1 has taint broken:NoSchedule (slice node-1-gpus), which the request does not" in text
        assert "device gpu-2 is not selected" in text
        assert "device gpu-3 has taint drain:NoSchedule (DeviceTaintRule drain)" in text

    run_story(story, nodes=1)


def test_rule_without_selector_is_named_and_told() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        await devices.given_rule("everything", taint(effect="NoSchedule"))
        await devices.given_claim("c")
        await devices.given_pod("p", claim="c")
        text = "\n".join(why(cluster, "p"))
        assert "(DeviceTaintRule everything, which names no devices and so taints all)" in text
        events = [one.document() for one in cluster.cluster.cache.collection("events").objects.values()]
        [told] = [one for one in events if one["reason"] == "MissingDeviceSelector"]
        assert (told["type"], told["involvedObject"]["name"]) == ("Warning", "everything")

    run_story(story, nodes=1)


def test_coming_and_past_evictions_name_the_rule() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
        await devices.given_claim("c", request(tolerations=[toleration]))
        await devices.given_pod("p", claim="c")
        await cluster.advance(1)
        await devices.given_rule("drain", taint(), {"driver": DRIVER})
        assert any("because of its devices: DeviceTaintRule drain." in line for line in why(cluster, "p"))
        await cluster.advance(70)
        told = why(cluster, "p")
        assert told[0] == "default/p is gone."
        assert any(
            "Evicted from node node-1: its devices are tainted by DeviceTaintRule drain" in line for line in told
        )

    run_story(story, nodes=1)


def test_pod_whose_claim_is_missing_says_so() -> None:
    async def story(cluster: Story) -> None:
        await DeviceStory(cluster).given_pod("p", claim="c")
        assert 'resourceclaim.resource.k8s.io "c" not found' in "\n".join(why(cluster, "p"))

    run_story(story, nodes=1)


def test_selector_that_fails_is_told_as_it_is() -> None:
    async def story(cluster: Story) -> None:
        devices = DeviceStory(cluster)
        await devices.given_class()
        await devices.given_slice("node-1", "gpu-0")
        selector = {"cel": {"expression": f"device.attributes['{DRIVER}'].model == 'a100'"}}
        await devices.given_claim("c", request(selectors=[selector]))
        await devices.given_pod("p", claim="c")
        assert "CEL runtime error: no such key: model" in "\n".join(why(cluster, "p"))

    run_story(story, nodes=1)
