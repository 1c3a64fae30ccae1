"""persistentvolume-protection-controller."""

from doorman.api.views.meta import ObjectMeta
from doorman.api.views.storage.persistent_volumes import PersistentVolume, PersistentVolumeStatus
from doorman.controllers.volumes.pv_protection import FINALIZER, decide_volume


def volume(phase: str) -> PersistentVolume:
    meta = ObjectMeta(name="v", uid="u", deletion_timestamp="2024-01-02T03:04:05Z", finalizers=(FINALIZER,))
    return PersistentVolume(metadata=meta, status=PersistentVolumeStatus(phase=phase))


def test_bound_volume_stays() -> None:
    assert decide_volume(volume("Bound")) is None
    assert decide_volume(volume("Released")) is not None
    assert decide_volume(None) is None
