"""NodeName: a pod that names its node fits on no other."""

import pytest

from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.framework import FINAL
from doorman.scheduler.plugins.node_name import REASON, NodeName
from support.scheduling import make_node, make_pod


@pytest.fixture
def cluster() -> ClusterState:
    resources = ResourceIds()
    cluster = ClusterState(resources)
    for name in ("n1", "n2", "n3"):
        cluster.set_node(make_node(name))
    return cluster


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        pytest.param("n2", [False, True, False], id="that-node"),
        pytest.param("nope", [False, False, False], id="nobody"),
    ],
)
def test_only_the_node_that_is_named(cluster: ClusterState, wanted: str, fits: list[bool]) -> None:
    found = NodeName().filter_for(ShapeTable(cluster.resources).take(make_pod("p", node=wanted)), cluster)
    assert found is not None
    codes = [int(code) for code in found.codes(slice(0, 3))]
    assert [code == 0 for code in codes] == fits
    assert [not found.details(row) for row in range(3)] == fits, "details agree with codes"
    other = next(code for code in codes if code)
    assert other & FINAL, "nobody who leaves changes a name"
    assert list(found.reasons(other)) == [REASON]


def test_pod_that_names_none_is_not_looked_at(cluster: ClusterState) -> None:
    assert NodeName().filter_for(ShapeTable(cluster.resources).take(make_pod("p")), cluster) is None
