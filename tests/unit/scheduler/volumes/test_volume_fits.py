"""Codes for all nodes at once are those of each node by itself."""

from typing import Any

import pytest

from doorman.api.views.storage.persistent_volumes import VOLUMES
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.api.volume_annotations import SELECTED_NODE
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.volumes.pod_volume_claims import PodVolumeClaims
from doorman.scheduler.volumes.volume_fits import volume_codes
from doorman.scheduler.volumes.volume_search import search_volumes
from doorman.scheduler.volumes.volume_state import VolumeState
from support.scheduling import make_node
from support.volumes import ZONE, bound_claim_view, claim_view, class_view, volume_view

FREE = volume_view("free", zone="b", storageClassName="slow")
IN_A = volume_view("in-a", zone="a", phase="Bound", storageClassName="slow")
IN_C = volume_view("in-c", zone="c", phase="Bound", storageClassName="slow")
DELAYED = claim_view("d", storageClassName="slow")
SELECTED = claim_view("s", storageClassName="slow", metadata={"annotations": {SELECTED_NODE: "b-1"}})


@pytest.mark.parametrize("provisioner", ["example.com/p", "kubernetes.io/no-provisioner"])
@pytest.mark.parametrize(
    ("volumes", "claims"),
    [
        pytest.param([IN_A], PodVolumeClaims(bound=(bound_claim_view("a", "in-a"),)), id="bound"),
        pytest.param(
            [IN_A, IN_C],
            PodVolumeClaims(bound=(bound_claim_view("a", "in-a"), bound_claim_view("c", "in-c"))),
            id="bound in two zones",
        ),
        pytest.param([], PodVolumeClaims(bound=(bound_claim_view("a", "in-a"),)), id="volume gone"),
        pytest.param([], PodVolumeClaims(delayed=(DELAYED,)), id="delayed"),
        pytest.param([FREE], PodVolumeClaims(delayed=(DELAYED,)), id="delayed, a free one"),
        pytest.param([FREE], PodVolumeClaims(delayed=(SELECTED,)), id="node selected"),
        pytest.param([IN_A], PodVolumeClaims(bound=(bound_claim_view("a", "in-a"),), delayed=(DELAYED,)), id="both"),
    ],
)
def test_codes_are_those_of_each_node(volumes: list[Any], claims: PodVolumeClaims, provisioner: str) -> None:
    cluster = ClusterState(ResourceIds())
    for zone in ("a", "b", "c"):
        cluster.set_node(make_node(f"{zone}-1", labels={ZONE: zone}))
    state = VolumeState()
    state.changed(STORAGE_CLASSES, None, class_view("slow", provisioner=provisioner))
    for volume in volumes:
        state.changed(VOLUMES, None, volume)
    found = volume_codes(claims, cluster, state).tolist()
    assert found == [search_volumes(claims, cluster.node(row), state).code for row in range(3)]
