"""Scores by the share of a node's storage that claims take."""

from typing import Any

import pytest

from doorman.api.views.meta import to_view
from doorman.api.views.storage.csi import CSI_DRIVERS, STORAGE_CAPACITIES, CsiDriver, CsiStorageCapacity
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.scheduler.config.scheduler_config import STORAGE_SHAPE
from doorman.scheduler.plugins.resource_scores import ratio_table
from doorman.scheduler.volumes.pod_volume_bindings import PodVolumeBindings, StaticBinding
from doorman.scheduler.volumes.storage_scores import storage_score
from doorman.scheduler.volumes.volume_state import VolumeState
from support.scheduling import make_node
from support.volumes import claim_view, class_view, volume_view

NODE = make_node("a-1")
LINE = ratio_table(STORAGE_SHAPE)


def static(claim: str, volume: str, name: str = "slow") -> StaticBinding:
    return StaticBinding(
        claim=claim_view(f"c-{claim}", size=claim, storageClassName=name),
        volume=volume_view(f"v-{volume}", size=volume, storageClassName=name),
    )


def capacities(**by_class: dict[str, Any]) -> VolumeState:
    state = VolumeState()
    driver = {"metadata": {"name": "example.com/disks"}, "spec": {"storageCapacity": True}}
    state.changed(CSI_DRIVERS, None, to_view(driver, CsiDriver))
    for name, published in by_class.items():
        state.changed(STORAGE_CLASSES, None, class_view(name, provisioner="example.com/disks"))
        body = {"metadata": {"name": f"room-{name}"}, "storageClassName": name, "nodeTopology": {}, **published}
        state.changed(STORAGE_CAPACITIES, None, to_view(body, CsiStorageCapacity))
    return state


@pytest.mark.parametrize(
    ("bindings", "score"),
    [
        pytest.param([], 0, id="nothing to bind"),
        pytest.param([static("1Gi", "4Gi")], 75, id="a quarter"),
        pytest.param([static("1Gi", "1Gi")], 0, id="all of it"),
        pytest.param([static("1Gi", "1Gi"), static("1Gi", "3Gi")], 50, id="one class is added up"),
        pytest.param([static("1Gi", "4Gi"), static("1Gi", "2Gi", "fast")], 63, id="classes count the same"),
    ],
)
def test_volumes_that_exist(bindings: list[StaticBinding], score: int) -> None:
    assert storage_score(PodVolumeBindings(static=tuple(bindings)), NODE, VolumeState(), LINE) == score


@pytest.mark.parametrize(
    ("sizes", "published", "score"),
    [
        pytest.param(["1Gi"], {"capacity": "10Gi"}, 90, id="a tenth"),
        pytest.param(["1Gi", "2Gi"], {"capacity": "10Gi"}, 70, id="the capacity is there once"),
        pytest.param(["6Gi", "6Gi"], {"capacity": "10Gi"}, 0, id="together more than there is"),
        pytest.param(["1Gi"], {"maximumVolumeSize": "2Gi"}, 0, id="how much there is in all is not said"),
    ],
)
def test_volumes_to_be_made(sizes: list[str], published: dict[str, Any], score: int) -> None:
    claims = tuple(claim_view(f"c{at}", size=size, storageClassName="slow") for at, size in enumerate(sizes))
    state = capacities(slow=published)
    assert storage_score(PodVolumeBindings(provisioned=claims), NODE, state, LINE) == score


def test_drivers_that_publish_nothing_say_nothing() -> None:
    state = VolumeState()
    state.changed(STORAGE_CLASSES, None, class_view("slow"))
    bindings = PodVolumeBindings(provisioned=(claim_view(storageClassName="slow"),))
    assert storage_score(bindings, NODE, state, LINE) == 0


def test_volumes_that_exist_decide_where_others_are_to_be_made_too() -> None:
    bindings = PodVolumeBindings(static=(static("1Gi", "2Gi"),), provisioned=(claim_view(storageClassName="slow"),))
    assert storage_score(bindings, NODE, capacities(slow={"capacity": "100Gi"}), LINE) == 50
