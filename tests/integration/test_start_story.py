"""Pods that wait for what they need to start: config maps, secrets and claims."""

from typing import Any

import pytest

from doorman.client.actions import Create
from support.cluster import Story, run_story
from support.volumes import VolumeStory, uses

CONFIG = [{"name": "settings", "configMap": {"name": "app"}}]
SECRET = [{"name": "keys", "secret": {"secretName": "app"}}]


def waiting_reason(story: Story, name: str) -> str:
    status = story.pod(name).status
    assert status.phase == "Pending"
    return str(status.container_statuses[0].state.waiting.reason)


@pytest.mark.parametrize(
    ("volumes", "resource", "text"),
    [
        pytest.param(
            CONFIG, "configmaps", 'MountVolume.SetUp failed for volume "settings" : configmap "app" not found', id="map"
        ),
        pytest.param(
            SECRET, "secrets", 'MountVolume.SetUp failed for volume "keys" : secret "app" not found', id="secret"
        ),
    ],
)
def test_pod_is_being_created_until_what_it_mounts_is_there(volumes: list[Any], resource: str, text: str) -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", volumes=volumes)
        await cluster.advance(20)
        assert waiting_reason(cluster, "p") == "ContainerCreating"
        assert ("FailedMount", text) in VolumeStory(cluster).events("p")
        body = {"metadata": {"name": "app"}}
        await cluster.client.create(Create(resource=resource, namespace="default", body=body))
        await cluster.advance(60)
        cluster.expect_running("p")

    run_story(story, nodes=1)


PROJECTED = [{"name": "all", "projected": {"sources": [{"configMap": {"name": "app"}}]}}]


def test_projected_volume_is_waited_for_like_any_other() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", volumes=PROJECTED)
        await cluster.advance(20)
        assert waiting_reason(cluster, "p") == "ContainerCreating"
        text = 'MountVolume.SetUp failed for volume "all" : configmap "app" not found'
        assert ("FailedMount", text) in VolumeStory(cluster).events("p")
        body = {"metadata": {"name": "app"}}
        await cluster.client.create(Create(resource="configmaps", namespace="default", body=body))
        await cluster.advance(60)
        cluster.expect_running("p")

    run_story(story, nodes=1)


@pytest.mark.parametrize(
    ("container", "resource", "text"),
    [
        pytest.param(
            {"envFrom": [{"secretRef": {"name": "app"}}]}, "secrets", 'secret "app" not found', id="all of a secret"
        ),
        pytest.param(
            {"env": [{"name": "V", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "k"}}}]},
            "configmaps",
            'configmap "app" not found',
            id="key of a map",
        ),
    ],
)
def test_container_is_not_made_until_its_variables_can_be_set(container: Any, resource: str, text: str) -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", containers=[{"name": "c", "image": "i", **container}])
        await cluster.advance(35)
        assert waiting_reason(cluster, "p") == "CreateContainerConfigError"
        assert cluster.pod("p").status.container_statuses[0].state.waiting.message == text
        assert ("Failed", f"Error: {text}") in VolumeStory(cluster).events("p")
        body = {"metadata": {"name": "app"}, "data": {"k": "dg=="}}
        await cluster.client.create(Create(resource=resource, namespace="default", body=body))
        await cluster.advance(10)
        cluster.expect_running("p")

    run_story(story, nodes=1)


def test_what_is_optional_is_not_waited_for() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", volumes=[{"name": "x", "configMap": {"name": "none", "optional": True}}])
        await cluster.given_pod("q", volumes=[{"name": "x", "secret": {"secretName": "none", "optional": True}}])
        cluster.expect_running("p")
        cluster.expect_running("q")

    run_story(story, nodes=1)


def test_pod_that_was_put_on_a_node_by_hand_waits_for_its_claim() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await cluster.given_pod("p", volumes=uses("data"), nodeName="node-1")
        await cluster.advance(5)
        assert waiting_reason(cluster, "p") == "ContainerCreating"
        assert volumes.events("p")[0] == (
            "FailedMount",
            "Unable to attach or mount volumes: unmounted volumes=[v0], unattached volumes=[], "
            "failed to process volumes=[v0]: error processing PVC default/data: failed to fetch PVC from API server: "
            'persistentvolumeclaims "data" not found',
        )
        await volumes.given_volume("v")
        await volumes.given_claim("data", storageClassName="")
        await cluster.advance(60)
        cluster.expect_running("p", on="node-1")

    run_story(story, nodes=1)
