"""An autoscaler follows the load of a deployment, whole cluster, virtual time."""

from typing import Any

from doorman.client.actions import Create, Patch, PatchType
from support.cluster import Story, run_story
from support.widgets import widget_definition

LABELS = {"app": "web"}
AUTOSCALERS = "horizontalpodautoscalers.autoscaling"


def scaler_of(kind: str, name: str, version: str = "example.com/v1") -> dict[str, Any]:
    """Its minimum is four: no metrics are needed to get there."""
    target = {"apiVersion": version, "kind": kind, "name": name}
    return {"metadata": {"name": "scaler"}, "spec": {"scaleTargetRef": target, "minReplicas": 4, "maxReplicas": 9}}


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
    await cluster.client.create(Create(resource=AUTOSCALERS, namespace="default", body=scaler))
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


def test_custom_kind_with_a_scale_is_scaled() -> None:
    async def story(cluster: Story) -> None:
        definitions = "customresourcedefinitions.apiextensions.k8s.io"
        await cluster.client.create(Create(resource=definitions, body=widget_definition()))
        await cluster.settle()
        body: dict[str, Any] = {"metadata": {"name": "w"}, "spec": {"size": "small", "replicas": 2}}
        await cluster.client.create(Create(resource="widgets.example.com", namespace="default", body=body))
        status = {"status": {"replicas": 2, "selector": "app=w"}}
        patch = Patch(
            resource="widgets.example.com",
            namespace="default",
            name="w",
            subresource="status",
            body=status,
            type=PatchType.MERGE,
        )
        await cluster.client.patch(patch)
        await cluster.client.create(Create(resource=AUTOSCALERS, namespace="default", body=scaler_of("Widget", "w")))
        await cluster.settle()
        found = cluster.cluster.cache.collection("widgets.example.com").get("default/w")
        assert found is not None
        assert found.document()["spec"]["replicas"] == 4

    run_story(story, nodes=1)


def test_kind_without_a_scale_is_told() -> None:
    async def story(cluster: Story) -> None:
        body = scaler_of("DaemonSet", "d", version="apps/v1")
        await cluster.client.create(Create(resource=AUTOSCALERS, namespace="default", body=body))
        await cluster.settle()
        found = cluster.cluster.cache.collection(AUTOSCALERS).get("default/scaler")
        assert found is not None
        (able,) = found.view.status.conditions
        assert (able.status, able.reason) == ("False", "FailedGetScale")
        assert able.message.endswith("the server could not find the requested resource")

    run_story(story, nodes=1)
