"""Stories of volumes: where pods may go because of them, and what waiting pods are told."""

import pytest

from doorman.nodes.node_commands import cut_off
from support.cluster import Story, run_story
from support.volumes import VolumeStory, fleet, uses

SIMULATED = "simulated.doorman.dev"
NOT_HELPFUL = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."


def test_claim_waits_for_its_first_consumer_and_gets_a_volume_in_the_zone_the_scheduler_chose() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        # Events of one object at one instant would have one name, so making the volume takes a while.
        await volumes.given_claim("data", annotations={"doorman.dev/provision-delay": "1s"})
        assert (volumes.claim("data").status.phase, volumes.claim("data").spec.storage_class_name) == (
            "Pending",
            "standard",
        )
        assert ("WaitForFirstConsumer", "waiting for first consumer to be created before binding") in volumes.events(
            "data"
        )
        await cluster.given_pod("p", volumes=uses("data"), nodeSelector={"kubernetes.io/hostname": "b-1"})
        await cluster.advance(5)
        cluster.expect_running("p", on="b-1")
        claim = volumes.claim("data")
        assert claim.status.phase == "Bound"
        assert claim.status.capacity == {"storage": "1Gi"}
        assert volumes.zone_of("data") == "b"
        assert volumes.volume_of("data").status.phase == "Bound"
        assert "ProvisioningSucceeded" in [reason for reason, _ in volumes.events("data")]

    run_story(story, fleet=fleet("a", "b", "c"))


def test_pod_of_a_lost_zone_stays_pending_because_its_disk_is_there() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        spread = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "db"}},
            }
        ]
        await volumes.given_stateful_set("db", replicas=3, topologySpreadConstraints=spread)
        await cluster.advance(60)
        homes = {f"db-{at}": cluster.pod(f"db-{at}").spec.node_name for at in range(3)}
        assert sorted(homes.values()) == ["a-1", "b-1", "c-1"]
        assert {volumes.zone_of(f"data-db-{at}") for at in range(3)} == {"a", "b", "c"}
        [lost] = [pod for pod, node in homes.items() if node == "b-1"]
        await cluster.order("b-1", cut_off())
        await cluster.advance(600)
        assert cluster.pod(lost).metadata.deletion_timestamp, "its node is unreachable, so it is being evicted"
        for pod, node in homes.items():
            if pod != lost:
                cluster.expect_running(pod, on=node)
        await cluster.taint("b-1", "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
        await cluster.advance(120)
        again = cluster.pod(lost)
        assert not again.spec.node_name, "it is gone from the lost node, and its disk is nowhere else"
        assert "2 node(s) didn't match PersistentVolume's node affinity" in volumes.message(lost)

    run_story(story, fleet=fleet("a", "b", "c"))


def test_node_that_has_as_many_volumes_as_it_can_attach_takes_no_more() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_limit("node-1", SIMULATED, 2)
        for at in range(3):
            await volumes.given_claim(f"c{at}")
            await cluster.given_pod(f"p{at}", volumes=uses(f"c{at}"))
            await cluster.advance(5)
        cluster.expect_running("p0")
        cluster.expect_running("p1")
        assert not cluster.pod("p2").spec.node_name
        assert volumes.message("p2").startswith("0/1 nodes are available: 1 node(s) exceed max volume count.")
        await cluster.delete_pod("p0")
        await cluster.advance(60)
        cluster.expect_running("p2", on="node-1")

    run_story(story, nodes=1)


def test_pod_waits_for_a_claim_that_does_not_exist_and_starts_when_it_comes() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await cluster.given_pod("p", volumes=uses("data"))
        assert volumes.message("p") == ('0/3 nodes are available: persistentvolumeclaim "data" not found. not found')
        await volumes.given_claim("data")
        await cluster.advance(15)
        cluster.expect_running("p")

    run_story(story)


def test_claim_of_a_class_that_binds_at_once_must_be_bound_first() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data", storageClassName="")
        assert ("FailedBinding", "no persistent volumes available for this claim and no storage class is set") in (
            volumes.events("data")
        )
        await cluster.given_pod("p", volumes=uses("data"))
        assert volumes.message("p") == (
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
        )
        await volumes.given_volume("pv-b", zone="b")
        await cluster.advance(15)
        cluster.expect_running("p", on="b-1")
        assert volumes.claim("data").spec.volume_name == "pv-b"

    run_story(story, fleet=fleet("a", "b", "c"))


def test_pod_that_waits_for_the_only_pod_a_claim_is_for() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data", modes=["ReadWriteOncePod"])
        await cluster.given_pod("first", volumes=uses("data"))
        await cluster.advance(5)
        cluster.expect_running("first")
        await cluster.given_pod("second", volumes=uses("data"))
        assert volumes.message("second").startswith(
            "0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
            "access mode already in-use by another pod."
        )
        await cluster.delete_pod("first")
        await cluster.advance(60)
        cluster.expect_running("second")

    run_story(story, nodes=1)


@pytest.mark.parametrize("mode", ["Immediate", "WaitForFirstConsumer"])
def test_static_volumes_of_a_class_are_bound_where_they_can_be_used(mode: str) -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_class("local", volumeBindingMode=mode)
        await volumes.given_volume("big", size="5Gi", zone="c", storageClassName="local")
        await volumes.given_volume("small", size="2Gi", zone="c", storageClassName="local")
        await volumes.given_volume("tiny", size="1Gi", zone="c", storageClassName="local")
        await volumes.given_claim("data", size="2Gi", storageClassName="local")
        assert volumes.claim("data").status.phase == ("Bound" if mode == "Immediate" else "Pending")
        await cluster.given_pod("p", volumes=uses("data"))
        await cluster.advance(5)
        cluster.expect_running("p", on="c-1")
        assert volumes.claim("data").spec.volume_name == "small"
        assert volumes.volume("big").status.phase == "Available"

    run_story(story, fleet=fleet("a", "b", "c"))


def test_no_volume_of_a_class_without_provisioner_is_told() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_class("local", volumeBindingMode="WaitForFirstConsumer")
        await volumes.given_claim("data", storageClassName="local")
        await cluster.given_pod("p", volumes=uses("data"))
        assert volumes.message("p") == (
            "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind. " + NOT_HELPFUL
        )
        await volumes.given_volume("v", storageClassName="local")
        await cluster.advance(15)
        cluster.expect_running("p")

    run_story(story)


def test_volume_with_zone_labels_keeps_its_pod_in_that_zone() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_volume("v", labels={"topology.kubernetes.io/zone": "d"})
        await volumes.given_claim("data", storageClassName="")
        await cluster.given_pod("p", volumes=uses("data"))
        assert volumes.message("p").startswith("0/3 nodes are available: 3 node(s) had no available volume zone.")

    run_story(story, fleet=fleet("a", "b", "c"))


def test_reclaim_policies_after_the_claim_is_gone() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_volume("kept", persistentVolumeReclaimPolicy="Retain")
        await volumes.given_claim("static", storageClassName="")
        await volumes.given_claim("dynamic")
        await cluster.given_pod("p", volumes=uses("static", "dynamic"))
        await cluster.advance(5)
        cluster.expect_running("p")
        made = volumes.claim("dynamic").spec.volume_name
        await cluster.delete_pod("p")
        await cluster.advance(60)
        await volumes.delete_claim("static")
        await volumes.delete_claim("dynamic")
        assert volumes.volume("kept").status.phase == "Released"
        assert volumes.volume(made) is None

    run_story(story, nodes=1)


def test_claim_grows_with_its_volume() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("data")
        await cluster.given_pod("p", volumes=uses("data"))
        await cluster.advance(5)
        await volumes.patch_claim("data", {"spec": {"resources": {"requests": {"storage": "3Gi"}}}})
        assert volumes.claim("data").status.capacity == {"storage": "3Gi"}
        assert volumes.volume_of("data").spec.capacity == {"storage": "3Gi"}

    run_story(story, nodes=1)


def test_provisioning_takes_its_time_or_fails_as_the_claim_says() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        await volumes.given_claim("slow", annotations={"doorman.dev/provision-delay": "30s"})
        await volumes.given_claim("broken", annotations={"doorman.dev/provision-failure": "quota exceeded"})
        await cluster.given_pod("waits", volumes=uses("slow"))
        await cluster.given_pod("fails", volumes=uses("broken"))
        await cluster.advance(29)
        assert volumes.claim("slow").status.phase == "Pending"
        failed = [text for reason, text in volumes.events("broken") if reason == "ProvisioningFailed"]
        assert failed[0] == 'failed to provision volume with StorageClass "standard": quota exceeded'
        assert volumes.message("fails").startswith('running PreBind plugin "VolumeBinding": binding volumes: ')
        await cluster.advance(3)
        cluster.expect_running("waits")
        await volumes.patch_claim("broken", {"metadata": {"annotations": {"doorman.dev/provision-failure": None}}})
        await cluster.advance(60)
        cluster.expect_running("fails")

    run_story(story, nodes=1)


def test_ephemeral_volume_gets_a_claim_that_goes_with_its_pod() -> None:
    async def story(cluster: Story) -> None:
        volumes = VolumeStory(cluster)
        template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        scratch = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
        await cluster.given_pod("p", volumes=scratch)
        await cluster.advance(15)
        cluster.expect_running("p")
        assert volumes.claim("p-scratch").status.phase == "Bound"
        await cluster.delete_pod("p")
        await cluster.advance(60)
        assert volumes.claim("p-scratch") is None

    run_story(story, nodes=1)
