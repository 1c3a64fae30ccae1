"""Why a volume keeps a pod from a node, in words."""

from doorman.api.views.storage.persistent_volumes import VOLUMES
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.api.volume_annotations import NO_PROVISIONER, SELECTED_NODE
from doorman.scheduler.volumes.pod_volume_claims import PodVolumeClaims
from doorman.scheduler.volumes.volume_objections import volume_objections
from doorman.scheduler.volumes.volume_state import VolumeState
from support.scheduling import make_node
from support.volumes import ZONE, bound_claim_view, claim_view, class_view, volume_view


def test_each_claim_that_stands_in_the_way_is_named() -> None:
    state = VolumeState()
    state.changed(VOLUMES, None, volume_view("v", zone="b"))
    state.changed(STORAGE_CLASSES, None, class_view("manual", provisioner=NO_PROVISIONER))
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    state.changed(STORAGE_CLASSES, None, class_view("zonal", allowedTopologies=topologies))
    claims = PodVolumeClaims(
        bound=(bound_claim_view("one", "v"), bound_claim_view("two", "gone")),
        delayed=(
            claim_view("three", storageClassName="manual"),
            claim_view("four", storageClassName="zonal"),
            claim_view("five", metadata={"annotations": {SELECTED_NODE: "b-1"}}),
        ),
    )
    assert volume_objections(claims, make_node("a-1", labels={ZONE: "a"}), state) == [
        f"claim one is bound to volume v, which is for nodes with {ZONE} In b",
        "claim two is bound to volume gone, which does not exist",
        "claim three: no free volume of class manual fits, and the class makes none",
        "claim four: class zonal makes no volumes for this node",
        "claim five: a volume is being made for node b-1",
    ]
