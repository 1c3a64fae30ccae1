"""What controllers of volumes write."""

from doorman.controllers.volumes.volume_writes import bind_writes, claim_event, set_claim_phase, set_phase, volume_event
from support.volumes import claim_view, volume_view


def test_phases_are_written_only_when_they_change() -> None:
    assert set_phase(volume_view(phase="Available"), "Available") == []
    assert len(set_phase(volume_view(phase="Pending"), "Available")) == 1
    assert set_claim_phase(claim_view(), "Pending") == []
    assert len(set_claim_phase(claim_view(status={"phase": "Bound"}), "Lost")) == 1


def test_volume_that_was_kept_for_the_claim_is_not_marked_as_the_controllers_choice() -> None:
    kept = volume_view(claimRef={"namespace": "default", "name": "c"})
    first = bind_writes(kept, claim_view())[0]
    assert "annotations" not in first.body["metadata"]  # type: ignore[attr-defined]  # a patch


def test_events_are_about_the_object_and_from_the_controller() -> None:
    about_claim, about_volume = claim_event(claim_view(), "R", "m"), volume_event(volume_view(), "R", "m", warns=True)
    assert (about_claim.regarding.kind, about_claim.regarding.uid) == ("PersistentVolumeClaim", "uid-c")
    assert (about_volume.regarding.kind, about_volume.type) == ("PersistentVolume", "Warning")
    assert about_claim.component == "persistentvolume-controller"
