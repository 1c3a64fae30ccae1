"""VolumeZone: labels of volumes that say in which zone they are."""

import pytest

from doorman.scheduler.framework import PreFilterReject
from doorman.scheduler.plugins.volumes.volume_zone import VolumeZone
from support.scheduling import make_node, make_pod
from support.volume_desk import VolumeDesk
from support.volumes import ZONE, bound_claim_view, uses, volume_view

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("labels", "nodes"),
    [
        pytest.param({ZONE: "b"}, ["b-1"], id="zone"),
        pytest.param({BETA_ZONE: "b"}, ["b-1"], id="the label of old, which nodes have no longer"),
        pytest.param({ZONE: "b__c"}, ["b-1", "c-1"], id="two zones"),
        pytest.param({ZONE: "b__"}, ["a-1", "b-1", "c-1"], id="what cannot be read is passed over"),
        pytest.param({"topology.kubernetes.io/region": "r"}, [], id="a region that no node is in"),
    ],
)
def test_nodes_that_a_volume_with_labels_allows(labels: dict[str, str], nodes: list[str]) -> None:
    desk = VolumeDesk()
    desk.volume(volume_view("v", metadata={"labels": labels}, phase="Bound"))
    desk.claim(bound_claim_view("data", "v"))
    desk.pod("p", volumes=uses("data"))
    explanation = desk.scheduler.explain(desk.pods["p"], desk.now)
    assert [one.node for one in explanation.nodes if one.fits] == nodes
    desk.settle()
    assert ("node(s) had no available volume zone" in desk.messages.get("p", "")) is not bool(nodes)


def test_node_that_is_in_no_zone_takes_every_volume() -> None:
    desk = VolumeDesk()
    desk.put_node(make_node("a-1"))
    desk.volume(volume_view("v", metadata={"labels": {ZONE: "d"}}, phase="Bound"))
    desk.claim(bound_claim_view("data", "v"))
    desk.pod("p", volumes=uses("data"))
    desk.settle()
    assert desk.where("p") == "a-1"


def test_volume_whose_zone_changes_brings_the_pod_back() -> None:
    desk = VolumeDesk()
    desk.volume(volume_view("v", metadata={"labels": {ZONE: "d"}}, phase="Bound"))
    desk.claim(bound_claim_view("data", "v"))
    desk.pod("p", volumes=uses("data"))
    desk.settle()
    desk.volume(volume_view("v", metadata={"labels": {ZONE: "d", "x": "y"}}, phase="Bound"))
    assert desk.tried("p") == 1
    desk.volume(volume_view("v", metadata={"labels": {ZONE: "a"}}, phase="Bound"))
    desk.advance(20)
    assert desk.where("p") == "a-1"


def test_bound_claim_without_its_volume() -> None:
    desk = VolumeDesk()
    desk.claim(bound_claim_view("data", "gone"))
    desk.pod("p", volumes=uses("data"))
    desk.settle()
    assert desk.messages["p"].startswith('0/3 nodes are available: persistentvolume "gone" not found.')


REGION = "topology.kubernetes.io/region"


@pytest.mark.parametrize(
    ("labels", "conflict"),
    [
        pytest.param({}, False, id="nowhere"),
        pytest.param({ZONE: "b"}, False, id="right"),
        pytest.param({ZONE: "d"}, True, id="wrong"),
        pytest.param({BETA_ZONE: "d"}, True, id="wrong, said of old"),
        pytest.param({ZONE: "d", BETA_ZONE: "b"}, True, id="the label that the volume has counts"),
        pytest.param({REGION: "r"}, True, id="in a region, and in no zone"),
    ],
)
def test_all_nodes_at_once_and_one_by_one_come_to_the_same(labels: dict[str, str], conflict: bool) -> None:
    desk = VolumeDesk()
    desk.put_node(make_node("x", labels=labels))
    desk.volume(volume_view("v", metadata={"labels": {ZONE: "b"}}, phase="Bound"))
    desk.claim(bound_claim_view("data", "v"))
    cluster = desk.scheduler._cluster
    found = VolumeZone(desk.scheduler.claims.volumes).filter_for_pod(make_pod("p", volumes=uses("data")), cluster)
    assert found is not None
    assert not isinstance(found, PreFilterReject)
    row = cluster.row_or_none("x")
    assert row is not None
    assert (bool(found.codes(row)), bool(found.details(row))) == (conflict, conflict)
