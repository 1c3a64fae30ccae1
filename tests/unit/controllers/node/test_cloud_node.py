"""Nodes of a simulated cloud are initialised."""

import pytest

from doorman.api.taints import UNINITIALIZED, Taint
from doorman.api.views.meta import ObjectMeta
from doorman.api.views.nodes import Node, NodeSpec
from doorman.api.well_known import CLOUD_PROVIDER_ANNOTATION
from doorman.client.actions import Patch
from doorman.controllers.node.cloud_node import decide_initialization, is_uninitialized
from support.cluster import Story, run_story

MISSING = Taint(key=UNINITIALIZED, value="true", effect="NoSchedule")
OTHER = Taint(key="gpu", effect="NoSchedule")


def node(*taints: Taint, annotated: bool = True, provider_id: str = "") -> Node:
    annotations = {CLOUD_PROVIDER_ANNOTATION: "external"} if annotated else {}
    meta = ObjectMeta(name="n", annotations=annotations, resource_version="7")
    return Node(metadata=meta, spec=NodeSpec(taints=taints, provider_id=provider_id))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(node(MISSING), True, id="ours"),
        pytest.param(node(MISSING, annotated=False), False, id="somebody-elses"),
        pytest.param(node(OTHER), False, id="initialised"),
    ],
)
def test_whom_it_looks_after(found: Node, expected: bool) -> None:
    assert is_uninitialized(found) is expected


def test_other_taints_and_a_provider_id_stay() -> None:
    patch, _ = decide_initialization(node(OTHER, MISSING, provider_id="cloud://i-1"))
    assert isinstance(patch, Patch)
    assert patch.body["spec"] == {"providerID": "cloud://i-1", "taints": [{"key": "gpu", "effect": "NoSchedule"}]}
    assert patch.body["metadata"] == {"resourceVersion": "7"}


def test_pod_waits_until_the_cloud_has_initialised_the_node() -> None:
    from doorman.client.actions import Create
    from doorman.nodes.profile import NodeProfile, simulated_node

    async def story(cluster: Story) -> None:
        manifest = simulated_node("cloudy", NodeProfile(cloud_provider="external"))
        await cluster.client.create(Create(resource="nodes", body=manifest))
        await cluster.settle()
        assert "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule" in cluster.taints("cloudy")
        await cluster.given_pod("p")
        assert cluster.pod("p").spec.node_name == ""
        await cluster.advance(15)
        assert cluster.taints("cloudy") == []
        assert cluster.node("cloudy").spec.provider_id == "doorman://cloudy"
        cluster.expect_running("p", on="cloudy")

    run_story(story, nodes=0)
