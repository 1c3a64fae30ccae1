"""Whether claims can be satisfied on a node."""

from typing import Any

import pytest

from doorman.api.views.meta import to_view
from doorman.api.views.storage.csi import CSI_DRIVERS, STORAGE_CAPACITIES, CsiDriver, CsiStorageCapacity
from doorman.api.views.storage.persistent_volumes import VOLUMES
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.api.volume_annotations import NO_PROVISIONER, SELECTED_NODE
from doorman.scheduler.framework import FINAL
from doorman.scheduler.volumes.pod_volume_claims import PodVolumeClaims
from doorman.scheduler.volumes.volume_search import (
    BIND_CONFLICT,
    NO_SPACE,
    NO_VOLUME,
    NODE_CONFLICT,
    search_volumes,
    volume_limit,
)
from doorman.scheduler.volumes.volume_state import VolumeState
from support.scheduling import make_node
from support.volumes import ZONE, bound_claim_view, claim_view, class_view, volume_view

IN_A = make_node("a-1", labels={ZONE: "a"})
IN_B = make_node("b-1", labels={ZONE: "b"})


def known(*volumes: Any, **storage_class: Any) -> VolumeState:
    state = VolumeState()
    state.changed(STORAGE_CLASSES, None, class_view("slow", **storage_class))
    for volume in volumes:
        state.changed(VOLUMES, None, volume)
    return state


@pytest.mark.parametrize(
    ("claim", "node", "code"),
    [
        pytest.param(bound_claim_view("c", "in-a"), IN_A, 0, id="usable"),
        pytest.param(bound_claim_view("c", "in-a"), IN_B, NODE_CONFLICT | FINAL, id="elsewhere"),
        pytest.param(bound_claim_view("c", "gone"), IN_A, NO_VOLUME | FINAL, id="no such volume"),
    ],
)
def test_bound_claims(claim: Any, node: Any, code: int) -> None:
    found = search_volumes(PodVolumeClaims(bound=(claim,)), node, known(volume_view("in-a", zone="a")))
    assert (found.code, found.bindings.is_empty) == (code, True)


def test_smaller_claims_get_smaller_volumes_and_the_rest_is_made() -> None:
    volumes = [volume_view(f"v{size}", size=f"{size}Gi", storageClassName="slow") for size in (1, 2)]
    claims = [claim_view(f"c{size}", size=f"{size}Gi", storageClassName="slow") for size in (3, 2, 1)]
    found = search_volumes(PodVolumeClaims(delayed=tuple(claims)), IN_A, known(*volumes))
    pairs = [(one.volume.metadata.name, one.claim.metadata.name) for one in found.bindings.static]
    assert pairs == [("v1", "c1"), ("v2", "c2")]
    assert found.bindings.provisioned == (claims[0],)


@pytest.mark.parametrize(
    ("storage_class", "code"),
    [
        pytest.param({}, 0, id="made for any node"),
        pytest.param({"provisioner": NO_PROVISIONER}, BIND_CONFLICT | FINAL, id="not made at all"),
        pytest.param(
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]},
            BIND_CONFLICT | FINAL,
            id="made for other nodes",
        ),
    ],
)
def test_classes_of_which_volumes_are_made(storage_class: dict[str, Any], code: int) -> None:
    claim = claim_view("c", storageClassName="slow")
    assert search_volumes(PodVolumeClaims(delayed=(claim,)), IN_A, known(**storage_class)).code == code


def test_claim_whose_volume_is_being_made_for_a_node_fits_on_no_other() -> None:
    claim = claim_view("c", storageClassName="slow", metadata={"annotations": {SELECTED_NODE: "a-1"}})
    claims = PodVolumeClaims(delayed=(claim,))
    assert search_volumes(claims, IN_A, known()).bindings.provisioned == (claim,)
    assert search_volumes(claims, IN_B, known()).code == BIND_CONFLICT | FINAL


def capacity(amount: str, zone: str, **more: str) -> Any:
    topology = {"matchLabels": {ZONE: zone}}
    meta = {"name": f"{zone}-{amount}", "namespace": "default"}
    document = {"metadata": meta, "storageClassName": "slow", "nodeTopology": topology, "capacity": amount, **more}
    return to_view(document, CsiStorageCapacity)


def test_driver_that_says_how_much_room_it_has_is_believed() -> None:
    state = known()
    driver = {"metadata": {"name": "example.com/p"}, "spec": {"storageCapacity": True}}
    state.changed(CSI_DRIVERS, None, to_view(driver, CsiDriver))
    state.changed(STORAGE_CAPACITIES, None, capacity("1Gi", "a"))
    state.changed(STORAGE_CAPACITIES, None, capacity("9Gi", "b"))
    claims = PodVolumeClaims(delayed=(claim_view("c", size="5Gi", storageClassName="slow"),))
    assert search_volumes(claims, IN_A, state).code == NO_SPACE | FINAL
    assert search_volumes(claims, IN_B, state).code == 0


def test_largest_volume_counts_where_it_is_told() -> None:
    assert volume_limit(capacity("9Gi", "a", maximumVolumeSize="1Gi")) == 2**30
    assert volume_limit(capacity("9Gi", "a")) == 9 * 2**30
    assert volume_limit(CsiStorageCapacity()) is None
