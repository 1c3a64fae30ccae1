"""A cluster with a fixed seed, opened again upon what it kept."""

import pytest

from doorman.base.gates import FeatureGates
from doorman.client.actions import Create
from doorman.controllers.node.node_lifecycle import NodeLifecycleController
from support.cluster import Story, run_story


async def make(told: Story, name: str) -> str:
    body = {"metadata": {"name": name}}
    made = await told.client.create(Create(resource="configmaps", namespace="default", body=body))
    uid: str = made.view.metadata.uid
    return uid


def test_fixed_seed_gives_no_uid_twice_after_a_restart() -> None:
    async def story(told: Story) -> None:
        for restart in range(3):
            for number in range(20):
                await make(told, f"c-{restart}-{number}")
            await told.restart()
        storages = {row.storage for row in told.cluster.kinds.rows}
        uids = [
            stored.view.metadata.uid
            for storage in sorted(storages)
            for stored in told.cluster.cache.collection(storage).objects.values()
        ]
        assert len(uids) > 60
        assert len(set(uids)) == len(uids)

    run_story(story, nodes=1, seed=3)


def test_fixed_seed_gives_the_same_uids_in_every_run() -> None:
    runs: list[str] = []

    async def story(told: Story) -> None:
        await told.restart()
        runs.append(await make(told, "a"))

    for _ in range(2):
        run_story(story, nodes=0, seed=3)
    assert runs[0] == runs[1]


@pytest.mark.parametrize("is_on", [pytest.param(True, id="on"), pytest.param(False, id="off")])
def test_stored_leases_are_read_if_the_gate_says_so(is_on: bool) -> None:
    async def story(told: Story) -> None:
        (found,) = [r.controller for r in told.cluster.runners if isinstance(r.controller, NodeLifecycleController)]
        assert (found._live_leases is not None) is is_on

    run_story(story, nodes=0, gates=FeatureGates(lease_circuit_breaker=is_on))
