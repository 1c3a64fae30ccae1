"""Claims and volumes go when nobody uses them any longer."""

from typing import Any

from doorman.client.actions import Create, Delete
from support.cluster import Story, run_story

SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "1Gi"},
    "hostPath": {"path": "/x"},
}


def found(story: Story, resource: str, key: str) -> Any:
    return story.cluster.informers.lister(resource).get(key)


def test_claim_stays_while_a_pod_on_a_node_uses_it() -> None:
    async def story(cluster: Story) -> None:
        body = {"metadata": {"name": "c"}, "spec": SPEC}
        await cluster.client.create(Create(resource="persistentvolumeclaims", namespace="default", body=body))
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
        await cluster.given_pod("user", volumes=volumes, nodeName="node-1")
        await cluster.client.delete(Delete(resource="persistentvolumeclaims", namespace="default", name="c"))
        await cluster.settle()
        assert found(cluster, "persistentvolumeclaims", "default/c").metadata.deletion_timestamp
        await cluster.delete_pod("user")
        await cluster.advance(60)
        assert found(cluster, "persistentvolumeclaims", "default/c") is None

    run_story(story, nodes=1)


def test_volume_stays_while_it_is_bound() -> None:
    async def story(cluster: Story) -> None:
        body = {"metadata": {"name": "v"}, "spec": {**VOLUME, "persistentVolumeReclaimPolicy": "Retain"}}
        await cluster.client.create(Create(resource="persistentvolumes", body=body))
        claim = {"metadata": {"name": "c"}, "spec": {**SPEC, "storageClassName": ""}}
        await cluster.client.create(Create(resource="persistentvolumeclaims", namespace="default", body=claim))
        await cluster.settle()
        assert found(cluster, "persistentvolumes", "v").status.phase == "Bound"
        await cluster.client.delete(Delete(resource="persistentvolumes", name="v"))
        await cluster.settle()
        assert found(cluster, "persistentvolumes", "v").metadata.deletion_timestamp
        await cluster.client.delete(Delete(resource="persistentvolumeclaims", namespace="default", name="c"))
        await cluster.settle()
        assert found(cluster, "persistentvolumes", "v") is None

    run_story(story, nodes=1)
