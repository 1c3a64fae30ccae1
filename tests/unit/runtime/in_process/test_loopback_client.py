"""The client in process writes only as long as whoever acts may."""

import asyncio

import pytest

from doorman.base.errors import ApiError
from doorman.client.actions import Create, Delete
from doorman.runtime.in_process.loopback_client import LED_SECONDS_MAX
from support.cluster import Story, run_story


def config_map(name: str) -> Create:
    return Create(resource="configmaps", namespace="default", body={"metadata": {"name": name}})


def test_who_may_not_act_writes_nothing() -> None:
    async def story(cluster: Story) -> None:
        client = cluster.cluster.client_as("admin", "story", "system:masters").only_while(lambda: False)
        with pytest.raises(ApiError, match="leader election lost"):
            await client.create(config_map("a"))
        assert "default/a" not in cluster.cluster.cache.collection("configmaps").objects

    run_story(story, nodes=0)


def test_write_that_takes_longer_than_the_lease_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that answers again when another may hold the lease is not written to any more."""

    async def story(cluster: Story) -> None:
        store, began = cluster._store, cluster.clock.now()
        commit = store.commit

        async def hang(write: object) -> object:
            await asyncio.sleep(60)
            return await commit(write)  # type: ignore[arg-type]  # it is handed on

        monkeypatch.setattr(store, "commit", hang)
        client = cluster.cluster.client_as("admin", "story", "system:masters").only_while(lambda: True)
        with pytest.raises(ApiError) as caught:
            await client.create(config_map("a"))
        assert caught.value.code == 504
        assert cluster.clock.now() - began == pytest.approx(LED_SECONDS_MAX)
        await asyncio.sleep(120)
        assert "default/a" not in cluster.cluster.cache.collection("configmaps").objects
        monkeypatch.undo()

    run_story(story, nodes=0)


@pytest.mark.parametrize(
    "more", [pytest.param({}, id="one-proposal"), pytest.param({"message": ""}, id="two-that-take-the-long-way")]
)
def test_who_loses_the_lease_between_two_writes_makes_the_first_alone(more: dict[str, str]) -> None:
    """A pod is deleted with a word about why: two writes, before each of which is asked who leads."""

    async def story(cluster: Story) -> None:
        await cluster.given_pod("p")
        answers = iter([True, False])
        client = cluster.cluster.client_as("admin", "story", "system:masters").only_while(lambda: next(answers))
        why = {"status": {**more, "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "R"}]}}
        with pytest.raises(ApiError, match="leader election lost"):
            await client.delete(Delete(resource="pods", namespace="default", name="p", status_patch=why))
        await cluster.settle()
        pod = cluster.pod("p")
        assert pod.status.condition("DisruptionTarget") is not None
        assert not pod.metadata.deletion_timestamp

    run_story(story)


def test_pod_goes_with_a_word_about_why() -> None:
    async def story(cluster: Story) -> None:
        await cluster.given_pod("p", terminationGracePeriodSeconds=60)
        why = {"status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "R"}]}}
        await cluster.client.delete(Delete(resource="pods", namespace="default", name="p", status_patch=why))
        pod = cluster.cluster.informers.live("pods").get("default/p")
        assert pod.status.condition("DisruptionTarget") is not None
        assert pod.metadata.deletion_timestamp

    run_story(story)
