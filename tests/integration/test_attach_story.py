"""Volumes are attached where pods use them, and detached when the kubelet has let go, or is given up."""

from typing import Any

from doorman.api.views.storage.csi import ATTACHMENTS, CSI_DRIVERS, CSI_NODES
from doorman.client.actions import Create, Delete
from doorman.controllers.volumes.attach_detach_settings import AttachDetachSettings
from doorman.nodes.fleet import Fleet, FleetEntry
from doorman.nodes.node_commands import cut_off
from doorman.nodes.profile import NodeProfile, simulated_node
from support.cluster import Story, run_story
from support.volumes import VolumeStory, fleet, uses

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
GRACE_SECONDS = 60.0
"""After so long a node that is silent is not Ready, by the monitor's defaults."""


def attached_nodes(story: Story) -> list[str]:
    lister = story.cluster.informers.lister(ATTACHMENTS)
    return [one.spec.node_name for one in lister.list() if one.status.attached]


def names_attached(story: Story, node: str) -> list[str]:
    return [one.name for one in story.node(node).status.volumes_attached]


async def given_deployment(story: Story, name: str, claim: str) -> None:
    labels = {"app": name}
    container = {"name": "c", "image": "registry.k8s.io/pause:3.10"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], "volumes": uses(claim)}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    body = {"metadata": {"name": name}, "spec": spec}
    await story.client.create(Create(resource="deployments.apps", namespace="default", body=body))
    await story.settle()


def pods_of(story: Story, name: str) -> list[Any]:
    return [pod for pod in story.cluster.informers.lister("pods").list() if pod.metadata.labels.get("app") == name]


async def force_delete(story: Story, name: str) -> None:
    await story.client.delete(Delete(resource="pods", namespace="default", name=name, grace_seconds=0))
    await story.settle()


def test_volume_is_attached_before_the_pod_runs_and_detached_when_it_is_gone() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data")
        await cluster.given_pod("p", volumes=uses("data"))
        await cluster.advance(1)
        cluster.expect_running("p")
        node = cluster.pod("p").spec.node_name
        unique = f"kubernetes.io/csi/simulated.doorman.dev^{volumes.claim('data').spec.volume_name}"
        assert attached_nodes(cluster) == [node]
        assert names_attached(cluster, node) == [unique]
        assert list(cluster.node(node).status.volumes_in_use) == [unique]
        told = f'AttachVolume.Attach succeeded for volume "{volumes.claim("data").spec.volume_name}" '
        assert ("SuccessfulAttachVolume", told) in volumes.events("p")
        await cluster.delete_pod("p")
        await cluster.advance(1)
        assert attached_nodes(cluster) == []
        assert names_attached(cluster, node) == []
        assert list(cluster.node(node).status.volumes_in_use) == []

    run_story(story)


def test_pod_waits_while_its_volume_is_being_attached() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data", annotations={"doorman.dev/attach-delay": "20s"})
        await cluster.given_pod("p", volumes=uses("data"))
        await cluster.advance(19)
        pod = cluster.pod("p")
        assert pod.status.phase == "Pending"
        assert pod.status.container_statuses[0].state.waiting.reason == "ContainerCreating"
        await cluster.advance(2)  # the binding took a moment too
        cluster.expect_running("p")

    run_story(story)


def test_attachment_that_fails_is_told_to_the_pod_until_it_succeeds() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data", annotations={"doorman.dev/attach-failure": "disk is broken"})
        await cluster.given_pod("p", volumes=uses("data"))
        await cluster.advance(60)
        assert cluster.pod("p").status.phase == "Pending"
        name = volumes.claim("data").spec.volume_name
        text = f'AttachVolume.Attach failed for volume "{name}" : disk is broken'
        assert volumes.events("p").count(("FailedAttachVolume", text)) == 1
        await volumes.patch_claim("data", {"metadata": {"annotations": {"doorman.dev/attach-failure": None}}})
        cluster.expect_running("p")

    run_story(story)


def test_second_node_waits_for_the_first() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data")
        await cluster.given_pod("p", volumes=uses("data"))
        await cluster.advance(1)
        node = cluster.pod("p").spec.node_name
        other = next(name for name in ("node-1", "node-2") if name != node)
        await cluster.given_pod("q", volumes=uses("data"), nodeName=other)
        await cluster.advance(10)
        assert cluster.pod("q").status.phase == "Pending"
        volume = volumes.claim("data").spec.volume_name
        text = f'Waiting for detach for volume "{volume}" Volume is already used by pod(s) p'
        assert ("FailedAttachVolume", text) in volumes.events("q")
        await cluster.delete_pod("p")
        await cluster.advance(1)
        cluster.expect_running("q", on=other)
        assert attached_nodes(cluster) == [other]

    run_story(story, nodes=2)


async def lose_the_node_of_a_deployment(cluster: Story) -> tuple[str, str]:
    """Gives the node that is lost, and the name of the pod that is left on it for good."""
    await VolumeStory(cluster).given_claim("data")
    await given_deployment(cluster, "web", "data")
    await cluster.advance(1)
    [pod] = pods_of(cluster, "web")
    node = pod.spec.node_name
    await cluster.order(node, cut_off())
    await cluster.advance(GRACE_SECONDS + 300)
    return node, pod.metadata.name


def replacement(cluster: Story, old: str) -> Any:
    [pod] = [pod for pod in pods_of(cluster, "web") if pod.metadata.name != old]
    return pod


def test_volume_of_a_lost_node_is_detached_six_minutes_after_its_pod_is_gone() -> None:
    async def story(cluster: Story) -> None:
        node, old = await lose_the_node_of_a_deployment(cluster)
        await cluster.advance(3600)  # while the old pod is there, however dead, its volume stays
        waiting = replacement(cluster, old)
        assert (waiting.status.phase, attached_nodes(cluster)) == ("Pending", [node])
        await force_delete(cluster, old)
        await cluster.advance(359)
        assert attached_nodes(cluster) == [node]
        await cluster.advance(1)
        cluster.expect_running(waiting.metadata.name)
        assert attached_nodes(cluster) == [waiting.spec.node_name]

    run_story(story, nodes=2)


def test_volume_of_a_lost_node_stays_when_forced_detachment_is_switched_off() -> None:
    async def story(cluster: Story) -> None:
        node, old = await lose_the_node_of_a_deployment(cluster)
        await force_delete(cluster, old)
        await cluster.advance(3600)
        assert attached_nodes(cluster) == [node]
        assert replacement(cluster, old).status.phase == "Pending"

    run_story(story, nodes=2, attach_detach=AttachDetachSettings(disable_force_detach_on_timeout=True))


def test_out_of_service_node_gives_its_volumes_up_at_once() -> None:
    async def story(cluster: Story) -> None:
        node, old = await lose_the_node_of_a_deployment(cluster)
        waiting = replacement(cluster, old)
        await cluster.taint(node, OUT_OF_SERVICE)
        await cluster.advance(20)  # until pods are swept
        cluster.expect_gone(old)
        cluster.expect_running(waiting.metadata.name)
        assert attached_nodes(cluster) == [waiting.spec.node_name]

    run_story(story, nodes=2)


def test_volumes_of_a_node_that_is_deleted_go_after_six_minutes() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data")
        await cluster.given_pod("p", volumes=uses("data"))
        await cluster.advance(1)
        node = cluster.pod("p").spec.node_name
        await cluster.client.delete(Delete(resource="nodes", name=node))
        await cluster.advance(120)  # the pod is collected meanwhile
        cluster.expect_gone("p")
        assert attached_nodes(cluster) == [node]
        await cluster.advance(360)
        assert attached_nodes(cluster) == []

    run_story(story, nodes=2)


def test_nodes_are_registered_with_their_limits() -> None:
    limited = Fleet(
        profiles={"small": NodeProfile(attach_limit=2), "any": NodeProfile()},
        nodes=(FleetEntry(profile="small", count=1, prefix="small-"), FleetEntry(profile="any", count=1, prefix="n-")),
    )

    async def story(cluster: Story) -> None:
        csi_nodes = cluster.cluster.informers.lister(CSI_NODES)
        assert [one.metadata.name for one in csi_nodes.list()] == ["small-1"]
        await VolumeStory(cluster).given_claim("data")
        assert [one.metadata.name for one in csi_nodes.list()] == ["n-1", "small-1"]
        [driver] = csi_nodes.get("small-1").spec.drivers
        assert (driver.name, driver.allocatable.count) == ("simulated.doorman.dev", 2)
        assert csi_nodes.get("n-1").spec.drivers[0].allocatable is None
        [csi_driver] = cluster.cluster.informers.lister(CSI_DRIVERS).list()
        assert csi_driver.metadata.name == "simulated.doorman.dev"
        await cluster.order("small-1", {"metadata": {"annotations": {"doorman.dev/attach-limit": "5"}}})
        assert csi_nodes.get("small-1").spec.drivers[0].allocatable.count == 5
        await cluster.client.delete(Delete(resource="nodes", name="n-1"))
        await cluster.advance(5)
        assert csi_nodes.get("n-1") is None

    run_story(story, fleet=limited)


def test_full_node_takes_no_more_volumes_until_one_is_detached() -> None:
    full = Fleet(profiles={"p": NodeProfile(attach_limit=2)}, nodes=(FleetEntry(profile="p", count=1, prefix="n-"),))

    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        for name in ("a", "b", "c"):
            await volumes.given_claim(name)
            await cluster.given_pod(name, volumes=uses(name))
            await cluster.advance(1)
        cluster.expect_running("a")
        cluster.expect_running("b")
        assert volumes.message("c").startswith("0/1 nodes are available: 1 node(s) exceed max volume count.")
        await cluster.delete_pod("a")
        await cluster.advance(10)
        cluster.expect_running("c", on="n-1")

    run_story(story, fleet=full)


def test_stateful_set_over_three_zones_loses_one() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        spread = {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "db"}},
        }
        await volumes.given_stateful_set("db", replicas=3, topologySpreadConstraints=[spread])
        await cluster.advance(10)
        zones = {name: volumes.zone_of(f"data-{name}") for name in ("db-0", "db-1", "db-2")}
        assert sorted(zones.values()) == ["a", "b", "c"]
        lost = cluster.pod("db-1").spec.node_name
        await cluster.order(lost, cut_off())
        await cluster.advance(GRACE_SECONDS + 300)
        # Its pod is to go, and stays as long as nobody says that the node is gone for good.
        assert cluster.pod("db-1").metadata.deletion_timestamp
        assert cluster.pod("db-1").spec.node_name == lost
        await cluster.taint(lost, OUT_OF_SERVICE)
        await cluster.advance(60)
        # Now it is replaced, and cannot follow its disk to another zone.
        assert not cluster.pod("db-1").spec.node_name
        assert volumes.message("db-1").startswith(
            "0/3 nodes are available: 1 node(s) had untolerated taint(s), "
            "2 node(s) didn't match PersistentVolume's node affinity."
        )
        assert sorted(attached_nodes(cluster)) == sorted({"a-1", "b-1", "c-1"} - {lost})
        # A node in the lost zone takes it, with the same disk.
        profile = NodeProfile(zone=zones["db-1"])
        await cluster.client.create(Create(resource="nodes", body=simulated_node("new", profile, now=0.0)))
        await cluster.advance(60)
        cluster.expect_running("db-1", on="new")
        assert volumes.zone_of("data-db-1") == zones["db-1"]

    run_story(story, fleet=fleet("a", "b", "c"))


def test_claim_waits_for_its_first_consumer_and_is_bound_in_the_zone_that_was_chosen() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data")
        await cluster.advance(60)
        assert volumes.claim("data").status.phase == "Pending"
        assert volumes.events("data")[0][0] == "WaitForFirstConsumer"
        await cluster.given_pod("p", volumes=uses("data"), nodeSelector={"topology.kubernetes.io/zone": "b"})
        await cluster.advance(1)
        cluster.expect_running("p", on="b-1")
        assert volumes.zone_of("data") == "b"

    run_story(story, fleet=fleet("a", "b", "c"))


def test_attachments_survive_a_restart() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data")
        await cluster.given_pod("p", volumes=uses("data"))
        await cluster.advance(1)
        before = cluster.cluster.informers.lister(ATTACHMENTS).list()
        await cluster.restart()
        await cluster.advance(30)
        cluster.expect_running("p")
        after = cluster.cluster.informers.lister(ATTACHMENTS).list()
        assert [one.metadata.uid for one in after] == [one.metadata.uid for one in before]
        await cluster.delete_pod("p")
        await cluster.advance(1)
        assert attached_nodes(cluster) == []

    run_story(story)


def test_attachments_of_others_to_simulated_nodes_are_made_and_let_go() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_volume("v", csi={"driver": "d.example.com", "volumeHandle": "h"})
        spec = {"attacher": "d.example.com", "nodeName": "node-1", "source": {"persistentVolumeName": "v"}}
        body = {"metadata": {"name": "mine", "finalizers": ["external-attacher/d-example-com"]}, "spec": spec}
        await cluster.client.create(Create(resource=ATTACHMENTS, body=body))
        await cluster.advance(1)
        assert attached_nodes(cluster) == ["node-1"]
        await cluster.client.delete(Delete(resource=ATTACHMENTS, name="mine"))
        await cluster.advance(1)
        assert attached_nodes(cluster) == []

    run_story(story)


def test_volume_is_deleted_when_no_node_has_it_any_more() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data")
        await cluster.given_pod("p", volumes=uses("data"))
        await cluster.advance(1)
        node = cluster.pod("p").spec.node_name
        name = volumes.claim("data").spec.volume_name
        await cluster.order(node, cut_off())
        await cluster.advance(GRACE_SECONDS)
        await volumes.delete_claim("data")
        await force_delete(cluster, "p")
        await cluster.advance(1)
        assert volumes.claim("data") is None
        text = f"persistentvolume {name} is still attached to node {node}"
        assert ("VolumeFailedDelete", text) in volumes.events(name)
        await cluster.advance(360)
        assert volumes.volume(name) is None

    run_story(story, nodes=2)


def test_pod_that_waits_for_its_volume_fails_at_its_deadline() -> None:
    async def story(cluster: Story) -> None:
        await VolumeStory(cluster).given_claim("data", annotations={"doorman.dev/attach-failure": "disk is broken"})
        await cluster.given_pod("p", volumes=uses("data"), activeDeadlineSeconds=30)
        await cluster.advance(29)
        assert cluster.pod("p").status.phase == "Pending"
        await cluster.advance(3)
        assert (cluster.pod("p").status.phase, cluster.pod("p").status.reason) == ("Failed", "DeadlineExceeded")
        await cluster.advance(1)
        assert attached_nodes(cluster) == []

    run_story(story)
