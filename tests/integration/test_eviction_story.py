"""Pods leave on time: a whole cluster in process, hours in milliseconds."""

from doorman.registry.cache.selection import Selection
from support.cluster import Story, run_story


def test_pod_with_3600s_toleration_leaves_at_3600s_not_before() -> None:
    async def story(cluster: Story) -> None:
        toleration = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600}
        await cluster.given_pod("patient", tolerations=[toleration])
        cluster.expect_running("patient", on="node-1")
        await cluster.taint("node-1", "maintenance=now:NoExecute")
        await cluster.advance(3599)
        cluster.expect_running("patient")
        await cluster.advance(1)
        cluster.expect_gone("patient")

    run_story(story, nodes=1)


def test_pod_without_toleration_leaves_at_once_and_one_that_tolerates_stays() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("plain")
        await cluster.given_pod("tolerant", tolerations=[{"operator": "Exists"}])
        await cluster.taint("node-1", "k=v:NoExecute")
        cluster.expect_gone("plain")
        await cluster.advance(86400)
        cluster.expect_running("tolerant", on="node-1")

    run_story(story, nodes=1)


def test_watchers_see_the_condition_before_the_deletion() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p")
        stream = cluster.cluster.registry.cache.collection("pods").follow(Selection(storage="pods"), None)
        await cluster.taint("node-1", "k=v:NoExecute")
        seen = [
            (event.object.view.status.condition("DisruptionTarget") is not None, bool(meta.deletion_timestamp))
            for event in stream.take()
            for meta in [event.object.view.metadata]
        ]
        assert seen[:2] == [(True, False), (True, True)]

    run_story(story, nodes=1)


def test_taint_removed_in_time_keeps_the_pod() -> None:
    async def story(cluster: Story) -> None:
        toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
        await cluster.given_pod("p", tolerations=[toleration])
        await cluster.taint("node-1", "k:NoExecute")
        await cluster.advance(59)
        await cluster.taint("node-1", "k:NoExecute-")
        await cluster.advance(3600)
        cluster.expect_running("p")

    run_story(story, nodes=1)


def test_pending_pod_is_placed_when_the_taint_goes() -> None:
    async def story(cluster: Story) -> None:
        await cluster.taint("node-1", "k=v:NoSchedule")
        await cluster.given_pod("p")
        waiting = cluster.pod("p")
        assert waiting.spec.node_name == ""
        condition = waiting.status.condition("PodScheduled")
        assert condition.message.startswith("0/1 nodes are available: 1 node(s) had untolerated taint(s).")
        await cluster.taint("node-1", "k:NoSchedule-")
        await cluster.advance(11)
        cluster.expect_running("p", on="node-1")

    run_story(story, nodes=1)
