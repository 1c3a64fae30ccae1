"""metrics.k8s.io over the API: what is told of whom, and who may ask."""

from typing import Any

from doorman.client.actions import Create, Patch
from support.api import Api
from support.cluster import Story, run_story

METRICS = "/apis/metrics.k8s.io/v1beta1"


async def given_pod(cluster: Story, name: str, **requests: str) -> None:
    body: dict[str, Any] = {
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
            "nodeName": "node-1",
        },
    }
    await cluster.client.create(Create(resource="pods", namespace="default", body=body))
    await cluster.settle()


def test_metrics_of_pods_and_nodes() -> None:
    async def story(cluster: Story) -> None:
        await given_pod(cluster, "a", cpu="200m", memory="64Mi")
        await given_pod(cluster, "b", cpu="1")
        api = Api(cluster.cluster, cluster.clock)
        status, answer = await api.call("GET", f"{METRICS}/namespaces/default/pods/a")
        assert (status, answer["kind"], answer["apiVersion"]) == (200, "PodMetrics", "metrics.k8s.io/v1beta1")
        assert answer["containers"] == [{"name": "c", "usage": {"cpu": "100m", "memory": "32Mi"}}]
        assert (answer["timestamp"], answer["window"]) == ("2026-01-01T00:00:00Z", "15s")
        _, answer = await api.call("GET", f"{METRICS}/pods?labelSelector=app%3Db")
        assert (answer["kind"], [item["metadata"]["name"] for item in answer["items"]]) == ("PodMetricsList", ["b"])
        _, answer = await api.call("GET", f"{METRICS}/pods?fieldSelector=metadata.name%3Da")
        assert [item["metadata"]["name"] for item in answer["items"]] == ["a"]
        _, answer = await api.call("GET", f"{METRICS}/nodes")
        used = {item["metadata"]["name"]: item["usage"] for item in answer["items"]}
        assert used == {"node-1": {"cpu": "600m", "memory": "42Mi"}, "node-2": {"cpu": "0", "memory": "0"}}
        status, answer = await api.call("GET", f"{METRICS}/namespaces/default/pods/x")
        assert (status, answer["message"]) == (404, 'pods.metrics.k8s.io "default/x" not found')

    run_story(story, nodes=2)


def test_node_that_is_silent_is_not_told_of() -> None:
    async def story(cluster: Story) -> None:
        body = {"metadata": {"annotations": {"doorman.dev/silent": "true"}}}
        await cluster.client.patch(Patch(resource="nodes", name="node-1", body=body))
        await cluster.advance(60)
        api = Api(cluster.cluster, cluster.clock)
        _, answer = await api.call("GET", f"{METRICS}/nodes")
        assert [item["metadata"]["name"] for item in answer["items"]] == ["node-2"]
        assert (await api.call("GET", f"{METRICS}/nodes/node-1"))[0] == 404

    run_story(story, nodes=2)


def test_who_may_view_may_see_metrics() -> None:
    async def story(cluster: Story) -> None:
        api = Api(cluster.cluster, cluster.clock)
        rbac = "rbac.authorization.k8s.io"
        binding = {
            "metadata": {"name": "viewer"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "User", "apiGroup": rbac, "name": "jane"}],
        }
        await api.given(f"clusterrolebindings.{rbac}", binding)
        assert (await api.call("GET", f"{METRICS}/pods", user="jane"))[0] == 200
        assert (await api.call("GET", f"{METRICS}/pods", user="john"))[0] == 403

    run_story(story, nodes=1)
