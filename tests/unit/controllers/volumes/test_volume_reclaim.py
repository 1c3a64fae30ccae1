"""What becomes of volumes whose claims are gone."""

import pytest

from doorman.api.volume_annotations import PROVISIONED_BY
from doorman.client.actions import Patch, RecordEvent
from doorman.controllers.volumes.volume_reclaim import decide_reclaim
from support.volumes import volume_view

NO_DELETER = 'error getting deleter volume plugin for volume "v": no deletable volume plugin matched'


@pytest.mark.parametrize(
    ("policy", "provisioned", "phase", "message"),
    [
        pytest.param("Retain", False, "Released", "", id="kept"),
        pytest.param("Delete", True, "Released", "", id="deleted by its provisioner"),
        pytest.param("Delete", False, "Failed", NO_DELETER, id="made by hand"),
        pytest.param("Recycle", False, "Failed", "No recycler plugin found for the volume!", id="recycled"),
    ],
)
def test_policies(policy: str, provisioned: bool, phase: str, message: str) -> None:
    metadata = {"annotations": {PROVISIONED_BY: "x"}} if provisioned else {}
    first, *events = decide_reclaim(volume_view(metadata=metadata, phase="Bound", persistentVolumeReclaimPolicy=policy))
    assert isinstance(first, Patch)
    assert first.body["status"]["phase"] == phase
    assert [one.message for one in events if isinstance(one, RecordEvent)] == ([message] if message else [])


def test_what_failed_is_left_alone() -> None:
    assert decide_reclaim(volume_view(phase="Failed", persistentVolumeReclaimPolicy="Delete")) == []
