"""An autoscaler follows the load of a deployment, whole cluster, virtual time."""

from typing import Any

from doorman.client.actions import Create, Patch, PatchType
from support.cluster import Story, run_story

LABELS = {"app": "web"}


async def given_deployment(cluster: Story, load: str) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "200m"}}}
    body: dict[str, Any] = {
        "metadata": {"name": "web", "annotations": {"doorman.dev/cpu-load": load}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}},
        },
    }
    await cluster.client.create(Create(resource="deployments.apps", namespace="default", body=body))
    target = {"type": "Utilization", "averageUtilization": 75}
    scaler: dict[str, Any] = {
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 10,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }
    resource = "horizontalpodautoscalers.autoscaling"
    await cluster.client.create(Create(resource=resource, namespace="default", body=scaler))
    await cluster.settle()


def replicas(cluster: Story) -> int:
    found = cluster.cluster.cache.collection("deployments.apps").get("default/web")
    assert found is not None
    count: int = found.view.spec.replicas
    return count


def test_autoscaler_follows_the_load_up_and_down() -> None:
    async def story(cluster: Story) -> None:
        await given_deployment(cluster, "900m")
        sizes = [replicas(cluster)]
        for _ in range(4):
            await cluster.advance(15)
            sizes.append(replicas(cluster))
        assert sizes == [1, 4, 6, 6, 6]  # four at once at most, then 900m over 150m each
        body = {"metadata": {"annotations": {"doorman.dev/cpu-load": "250m"}}}
        patch = Patch(resource="deployments.apps", namespace="default", name="web", body=body, type=PatchType.MERGE)
        await cluster.client.patch(patch)
        await cluster.advance(290)
        assert replicas(cluster) == 6
        await cluster.advance(60)
        assert replicas(cluster) == 2

    run_story(story, nodes=3)
