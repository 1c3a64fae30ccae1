"""Workloads whose pods are evicted: who comes back, who stays, and how evictions are held back or paced."""

from typing import Any

import pytest

from doorman.client.actions import Create, Delete, Patch, PatchType
from doorman.controllers.taint_eviction.taint_eviction import TaintEvictionSettings
from doorman.nodes.node_annotations import RUNS_FOR, STARTUP
from doorman.nodes.node_commands import cut_off
from support.cluster import Story, run_story

LABELS = {"app": "web"}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": LABELS, "annotations": {STARTUP: "3s"}},
    "spec": {"containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10"}]},
}


async def given(story: Story, resource: str, spec: dict[str, Any]) -> None:
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": LABELS}, **spec}}
    await story.client.create(Create(resource=resource, namespace="default", body=body))
    await story.advance(10)


def pods(story: Story) -> list[Any]:
    found = story.cluster.informers.lister("pods").list()
    return sorted((pod for pod in found if pod.metadata.labels.get("app") == "web"), key=lambda p: p.metadata.name)


def staying(story: Story, *, node: str = "") -> list[str]:
    """Pods that are not being deleted, on one node or on any."""
    return [
        pod.metadata.name
        for pod in pods(story)
        if not pod.metadata.deletion_timestamp and (not node or pod.spec.node_name == node)
    ]


def test_pods_of_a_deployment_come_back_elsewhere() -> None:
    async def story(cluster: Story) -> None:
        await given(cluster, "deployments.apps", {"replicas": 6, "template": TEMPLATE})
        assert len(staying(cluster, node="node-1")) == 2
        await cluster.order("node-1", cut_off())
        await cluster.advance(340)
        assert len(pods(cluster)) == 6
        await cluster.advance(30)
        assert staying(cluster, node="node-1") == []
        assert len(staying(cluster)) == 6
        # The dead node's own pods stay until it can say that they have ended.
        assert len(pods(cluster)) == 8
        deployment = cluster.cluster.informers.lister("deployments.apps").get("default/web")
        assert deployment.status.available_replicas == 6

    run_story(story)


def test_rolling_back_takes_up_the_old_replica_set_and_collides_with_none() -> None:
    async def story(cluster: Story) -> None:
        def template(image: str) -> dict[str, Any]:
            return {**TEMPLATE, "spec": {"containers": [{"name": "c", "image": image}]}}

        await given(cluster, "deployments.apps", {"replicas": 3, "template": template("i:1")})
        for image in ("i:2", "i:1"):
            body = {"spec": {"template": template(image)}}
            await cluster.client.patch(
                Patch(resource="deployments.apps", namespace="default", name="web", body=body, type=PatchType.MERGE)
            )
            await cluster.advance(60)
        sets = cluster.cluster.informers.lister("replicasets.apps").list()
        assert sorted(one.spec.replicas for one in sets) == [0, 3]
        deployment = cluster.cluster.informers.lister("deployments.apps").get("default/web")
        assert deployment.status.collision_count == 0
        assert deployment.status.terminating_replicas == 0

    run_story(story)


def test_a_refused_pod_leaves_no_trace_in_the_template() -> None:
    """Admission changes what it is given: that must be a copy of what the workload's cache holds."""

    async def story(cluster: Story) -> None:
        quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
        await cluster.client.create(Create(resource="resourcequotas", namespace="default", body=quota))
        await given(cluster, "replicasets.apps", {"replicas": 2, "template": TEMPLATE})
        assert pods(cluster) == []
        await cluster.client.delete(Delete(resource="resourcequotas", namespace="default", name="none"))
        await cluster.advance(120)
        assert len(staying(cluster)) == 2
        found = cluster.cluster.informers.lister("replicasets.apps").get("default/web")
        assert "volumeMounts" not in found.spec.template["spec"]["containers"][0]

    run_story(story)


def test_pods_of_a_daemon_set_stay_on_an_unreachable_node() -> None:
    async def story(cluster: Story) -> None:
        await given(cluster, "daemonsets.apps", {"template": TEMPLATE})
        before = staying(cluster)
        assert len(before) == 3
        await cluster.order("node-1", cut_off())
        await cluster.advance(7200)
        assert "unreachable:NoExecute" in cluster.taints("node-1")
        assert staying(cluster) == before
        await cluster.taint("node-2", "maintenance=now:NoExecute")
        await cluster.advance(60)
        assert staying(cluster, node="node-2") == []
        assert len(staying(cluster)) == 2

    run_story(story)


def test_pod_of_a_stateful_set_is_not_replaced_until_the_dead_node_is_out_of_service() -> None:
    async def story(cluster: Story) -> None:
        await given(cluster, "statefulsets.apps", {"replicas": 1, "serviceName": "web", "template": TEMPLATE})
        (pod,) = pods(cluster)
        dead = pod.spec.node_name
        await cluster.order(dead, cut_off())
        await cluster.advance(3600)
        assert [p.metadata.uid for p in pods(cluster)] == [pod.metadata.uid]
        assert staying(cluster) == []
        await cluster.taint(dead, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
        await cluster.advance(30)
        cluster.expect_running("web-0")
        assert cluster.pod("web-0").spec.node_name != dead

    run_story(story)


def test_volume_claims_go_with_the_pods_that_are_scaled_away_and_with_the_set() -> None:
    async def story(cluster: Story) -> None:
        claim = {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
        policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
        spec = {"replicas": 2, "serviceName": "web", "template": TEMPLATE, "volumeClaimTemplates": [claim]}
        await given(cluster, "statefulsets.apps", {**spec, "persistentVolumeClaimRetentionPolicy": policy})

        def claims() -> list[str]:
            return [one.metadata.name for one in cluster.cluster.informers.lister("persistentvolumeclaims").list()]

        assert claims() == ["data-web-0", "data-web-1"]
        await cluster.client.patch(
            Patch(resource="statefulsets.apps", namespace="default", name="web", body={"spec": {"replicas": 1}})
        )
        await cluster.advance(60)
        assert claims() == ["data-web-0"]
        await cluster.client.delete(Delete(resource="statefulsets.apps", namespace="default", name="web"))
        await cluster.advance(60)
        assert claims() == []

    run_story(story)


def test_evictions_that_respect_budgets_let_one_pod_go_after_another() -> None:
    async def story(cluster: Story) -> None:
        await given(cluster, "deployments.apps", {"replicas": 3, "template": TEMPLATE})
        await given(cluster, "poddisruptionbudgets.policy", {"minAvailable": 2})
        fewest = 3
        for node in ("node-1", "node-2"):
            await cluster.taint(node, "maintenance=now:NoExecute")
        for _ in range(60):
            await cluster.advance(1)
            ready = [p for p in pods(cluster) if not p.metadata.deletion_timestamp and is_ready(p)]
            fewest = min(fewest, len(ready))
        assert fewest == 2
        assert len(staying(cluster, node="node-3")) == 3

    run_story(story, taint_eviction=TaintEvictionSettings(respects_budgets=True))


def test_budgets_are_not_asked_by_default() -> None:
    async def story(cluster: Story) -> None:
        await given(cluster, "deployments.apps", {"replicas": 3, "template": TEMPLATE})
        await given(cluster, "poddisruptionbudgets.policy", {"minAvailable": 3})
        first = staying(cluster)
        for node in ("node-1", "node-2", "node-3"):
            await cluster.taint(node, "maintenance=now:NoExecute")
        assert not set(first) & set(staying(cluster))

    run_story(story)


def test_paced_evictions_leave_at_their_rate() -> None:
    async def story(cluster: Story) -> None:
        for number in range(5):
            await cluster.given_pod(f"p-{number}")
        await cluster.taint("node-1", "maintenance=now:NoExecute")
        left = []
        for _ in range(5):
            left.append(sum(cluster.pod(f"p-{number}") is None for number in range(5)))
            await cluster.advance(2)
        assert left == [1, 2, 3, 4, 5]

    run_story(story, nodes=1, taint_eviction=TaintEvictionSettings(evictions_per_second=0.5))


def test_finished_job_goes_with_its_pods_when_its_time_is_over() -> None:
    async def story(cluster: Story) -> None:
        template = {
            "metadata": {"labels": LABELS, "annotations": {RUNS_FOR: "5s"}},
            "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"},
        }
        body = {"metadata": {"name": "once"}, "spec": {"ttlSecondsAfterFinished": 600, "template": template}}
        await cluster.client.create(Create(resource="jobs.batch", namespace="default", body=body))
        jobs = cluster.cluster.informers.lister("jobs.batch")
        await cluster.advance(600)
        assert jobs.get("default/once").status.is_true("Complete")
        assert len(pods(cluster)) == 1
        await cluster.advance(20)
        assert jobs.get("default/once") is None
        assert pods(cluster) == []

    run_story(story)


def is_ready(pod: Any) -> bool:
    condition = pod.status.condition("Ready")
    return condition is not None and condition.status == "True"


@pytest.mark.parametrize(
    ("resource", "spec", "ready"),
    [
        pytest.param("statefulsets.apps", {"serviceName": "web", "replicas": 2}, "readyReplicas", id="stateful-set"),
        pytest.param("daemonsets.apps", {}, "numberReady", id="daemon-set"),
    ],
)
def test_set_that_is_made_again_adopts_its_pods_and_its_history(
    resource: str, spec: dict[str, Any], ready: str
) -> None:
    async def story(cluster: Story) -> None:
        def history() -> list[tuple[str, str]]:
            found = cluster.cluster.informers.lister("controllerrevisions.apps").list()
            return [(one.metadata.name, one.metadata.owner_references[0].uid) for one in found]

        await given(cluster, resource, {**spec, "template": TEMPLATE})
        before, names = history(), staying(cluster)
        gone = Delete(resource=resource, namespace="default", name="web", propagation="Orphan")
        await cluster.client.delete(gone)
        await cluster.advance(10)
        await given(cluster, resource, {**spec, "template": TEMPLATE})
        assert staying(cluster) == names
        assert [name for name, _ in history()] == [name for name, _ in before]
        assert history() != before, "it is the new one's"
        stored = cluster.cluster.cache.collection(resource).objects["default/web"]
        assert stored.document()["status"][ready] == 2

    run_story(story, nodes=2)
