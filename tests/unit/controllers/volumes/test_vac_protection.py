"""volumeattributesclass-protection-controller."""

from doorman.api.views.storage.persistent_volumes import (
    ModifyVolumeStatus,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
)
from doorman.controllers.volumes.vac_protection import classes_of


def test_claim_names_every_class_on_its_way() -> None:
    status = PersistentVolumeClaimStatus(
        current_volume_attributes_class_name="b",
        modify_volume_status=ModifyVolumeStatus(target_volume_attributes_class_name="c"),
    )
    spec = PersistentVolumeSpec(volume_attributes_class_name="a")
    assert classes_of(PersistentVolumeClaim(spec=spec, status=status)) == ("a", "b", "c")
    assert classes_of(PersistentVolume(spec=spec)) == ("a",)
    assert classes_of(None) == ()
