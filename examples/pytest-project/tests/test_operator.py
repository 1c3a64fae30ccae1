"""An operator under test: it talks HTTPS to the same cluster, whose clock only the test moves."""

import asyncio

from lightkube import AsyncClient, KubeConfig
from lightkube.models.core_v1 import Taint
from lightkube.resources.core_v1 import Node

from doorman.testing import Cluster


async def quarantine_unready_nodes(client: AsyncClient) -> None:
    """The operator: nodes that are not ready get a taint of its own, once."""
    async for _, node in client.watch(Node):
        conditions = {one.type: one.status for one in node.status.conditions or ()}
        taints = node.spec.taints or []
        if conditions.get("Ready") != "True" and not any(taint.key == "shop.example/quarantine" for taint in taints):
            ours = Taint(key="shop.example/quarantine", effect="NoSchedule")
            patch = {"spec": {"taints": [taint.to_dict() for taint in (*taints, ours)]}}
            await client.patch(Node, node.metadata.name, patch)


async def test_operator_taints_a_silent_node(doorman: Cluster) -> None:
    client = AsyncClient(KubeConfig.from_file(doorman.kubeconfig), trust_env=False)
    operator = asyncio.create_task(quarantine_unready_nodes(client))
    try:
        doorman.fail("node-2")
        await asyncio.to_thread(doorman.run_until, "node/node-2", "condition=Ready=Unknown")
        # The clock stands still from here; the operator has all the real time it needs.
        async for _, node in client.watch(Node):
            if any(taint.key == "shop.example/quarantine" for taint in node.spec.taints or ()):
                break
        assert node.metadata.name == "node-2"
        assert doorman.elapsed <= 60
    finally:
        operator.cancel()
        await client.close()
