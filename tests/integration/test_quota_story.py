"""Quotas say what is used, as pods come, finish and go."""

from typing import Any

from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.nodes.node_annotations import RUNS_FOR
from support.cluster import Story, run_story
from support.widgets import widget_definition

CONTAINER = {
    "name": "c",
    "image": "registry.k8s.io/pause:3.10",
    "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}},
}


async def given(story: Story, resource: str, name: str, spec: dict[str, Any] | None = None, **meta: Any) -> None:
    body: dict[str, Any] = {"metadata": {"name": name, **meta}, **({"spec": spec} if spec is not None else {})}
    await story.client.create(Create(resource=resource, namespace="default", body=body))
    await story.settle()


async def given_quota(story: Story, hard: dict[str, str], **spec: Any) -> None:
    await given(story, "resourcequotas", "q", {"hard": hard, **spec})


def status(story: Story) -> Any:
    return story.cluster.informers.lister("resourcequotas").get("default/q").status


def test_used_follows_pods() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("before", containers=[CONTAINER])
        await given_quota(cluster, {"pods": "3", "requests.cpu": "1", "requests.memory": "1Gi"})
        assert status(cluster).hard == {"pods": "3", "requests.cpu": "1", "requests.memory": "1Gi"}
        assert status(cluster).used == {"pods": "1", "requests.cpu": "250m", "requests.memory": "64Mi"}
        await cluster.given_pod("second", containers=[CONTAINER])
        await given(
            cluster,
            "pods",
            "short",
            {"containers": [CONTAINER], "restartPolicy": "Never"},
            annotations={RUNS_FOR: "5s"},
        )
        assert status(cluster).used == {"pods": "3", "requests.cpu": "750m", "requests.memory": "192Mi"}
        await cluster.advance(60)
        assert cluster.pod("short").is_finished
        assert status(cluster).used == {"pods": "2", "requests.cpu": "500m", "requests.memory": "128Mi"}
        for name in ("before", "second"):
            await cluster.delete_pod(name)
        await cluster.advance(60)
        assert status(cluster).used == {"pods": "0", "requests.cpu": "0", "requests.memory": "0"}

    run_story(story)


def test_names_that_leave_the_spec_leave_the_status() -> None:
    async def story(cluster: Story) -> None:
        await given_quota(cluster, {"pods": "3", "secrets": "4"})
        assert status(cluster).used == {"pods": "0", "secrets": "0"}
        body = {"spec": {"hard": {"pods": None, "services": "9"}}}
        await cluster.client.patch(
            Patch(resource="resourcequotas", namespace="default", name="q", body=body, type=PatchType.MERGE)
        )
        await cluster.settle()
        assert status(cluster).hard == {"secrets": "4", "services": "9"}
        assert status(cluster).used == {"secrets": "0", "services": "1"}

    run_story(story)


def test_scopes() -> None:
    async def story(cluster: Story) -> None:
        await given_quota(cluster, {"pods": "5"}, scopes=["BestEffort"])
        await cluster.given_pod("sized", containers=[CONTAINER])
        await cluster.given_pod("best-effort")
        assert status(cluster).used == {"pods": "1"}

    run_story(story)


def test_objects_are_counted_also_of_custom_kinds_that_come_later() -> None:
    async def story(cluster: Story) -> None:
        await given_quota(cluster, {"count/configmaps": "9", "count/widgets.example.com": "5", "count/no.such": "1"})
        before = int(status(cluster).used["count/configmaps"])
        assert status(cluster).used.keys() == {"count/configmaps"}
        await given(cluster, "configmaps", "one")
        assert status(cluster).used == {"count/configmaps": str(before + 1)}
        await cluster.client.create(
            Create(resource="customresourcedefinitions.apiextensions.k8s.io", body=widget_definition())
        )
        await cluster.advance(1)
        await given(cluster, "widgets.example.com", "w", {"size": "small"})
        assert status(cluster).used == {"count/configmaps": str(before + 1), "count/widgets.example.com": "1"}
        for resource, name in (("configmaps", "one"), ("widgets.example.com", "w")):
            await cluster.client.delete(Delete(resource=resource, namespace="default", name=name))
        await cluster.settle()
        assert status(cluster).used == {"count/configmaps": str(before), "count/widgets.example.com": "0"}

    run_story(story)


def test_what_somebody_else_wrote_is_mended_within_five_minutes() -> None:
    async def story(cluster: Story) -> None:
        await given_quota(cluster, {"pods": "3"})
        wrong = {"status": {"used": {"pods": "2"}}}
        await cluster.client.patch(
            Patch(
                resource="resourcequotas",
                namespace="default",
                name="q",
                subresource="status",
                body=wrong,
                type=PatchType.MERGE,
            )
        )
        await cluster.settle()
        assert status(cluster).used == {"pods": "2"}
        await cluster.advance(301)
        assert status(cluster).used == {"pods": "0"}

    run_story(story)


def test_service_and_pod_that_change_are_held_to_the_quota_and_give_back() -> None:
    async def story(cluster: Story) -> None:
        await given_quota(cluster, {"services.nodeports": "1", "requests.cpu": "500m"})
        for name in ("a", "b"):
            await given(cluster, "services", name, {"type": "ClusterIP", "ports": [{"port": 80}]})
        await cluster.given_pod("p", containers=[CONTAINER])

        async def change(resource: str, name: str, spec: dict[str, Any], subresource: str = "") -> str:
            patch = Patch(
                resource=resource,
                namespace="default",
                name=name,
                subresource=subresource,
                body={"spec": spec},
                type=PatchType.STRATEGIC if subresource else PatchType.MERGE,
            )
            try:
                await cluster.client.patch(patch)
            except ApiError as error:
                return error.message
            finally:
                await cluster.settle()
            return ""

        async def resize(cpu: str) -> str:
            sized = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
            return await change("pods", "p", {"containers": [sized]}, "resize")

        assert await change("services", "a", {"type": "NodePort"}) == ""
        assert status(cluster).used["services.nodeports"] == "1"
        refused = await change("services", "b", {"type": "NodePort"})
        assert refused == (
            'services "b" is forbidden: exceeded quota: q, requested: services.nodeports=1, '
            "used: services.nodeports=1, limited: services.nodeports=1"
        )
        assert await change("services", "a", {"type": "ClusterIP"}) == ""
        assert status(cluster).used["services.nodeports"] == "0"
        assert await change("services", "b", {"type": "NodePort"}) == ""
        assert await resize("600m") == (
            'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=350m, '
            "used: requests.cpu=250m, limited: requests.cpu=500m"
        )
        assert await resize("500m") == ""
        assert status(cluster).used["requests.cpu"] == "500m"
        assert await resize("100m") == ""
        assert status(cluster).used["requests.cpu"] == "100m"

    run_story(story)


def test_deployment_says_why_its_replica_set_is_not_made_and_goes_on_when_it_may() -> None:
    async def story(cluster: Story) -> None:
        await given_quota(cluster, {"count/replicasets.apps": "0"})
        labels = {"app": "web"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        await given(cluster, "deployments.apps", "web", spec)
        await cluster.advance(1)

        def progressing() -> Any:
            deployment = cluster.cluster.informers.lister("deployments.apps").get("default/web")
            return next(one for one in deployment.status.conditions if one.type == "Progressing")

        said = progressing()
        assert (said.status, said.reason) == ("False", "ReplicaSetCreateError")
        assert said.message.startswith('Failed to create new replica set "web-')
        assert "exceeded quota: q" in said.message
        events = cluster.cluster.cache.collection("events").objects.values()
        told = [event.document() for event in events if event.document()["reason"] == "ReplicaSetCreateError"]
        assert {event["message"] for event in told} == {said.message}
        assert {event["type"] for event in told} == {"Warning"}
        more = {"spec": {"hard": {"count/replicasets.apps": "1"}}}
        await cluster.client.patch(Patch(resource="resourcequotas", namespace="default", name="q", body=more))
        await cluster.advance(60)
        assert progressing().reason == "NewReplicaSetAvailable"

    run_story(story)
