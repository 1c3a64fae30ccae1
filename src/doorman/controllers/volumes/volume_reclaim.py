"""What becomes of a volume whose claim is gone: it is kept, or deleted by whoever made it."""

from typing import Final

from doorman.api.views.storage.persistent_volumes import PersistentVolume
from doorman.api.volume_annotations import PROVISIONED_BY
from doorman.client.actions import Action
from doorman.controllers.volumes.volume_writes import patch_volume, set_phase, volume_event

OVER: Final = ("Released", "Failed")


def decide_reclaim(volume: PersistentVolume) -> list[Action]:
    released = set_phase(volume, "Released") if volume.status.phase not in OVER else []
    if volume.status.phase == "Failed":
        return []
    match volume.spec.persistent_volume_reclaim_policy:
        case "Retain":
            return released
        case "Delete":
            if PROVISIONED_BY in volume.metadata.annotations:
                return released  # its provisioner deletes it
            name = volume.metadata.name
            text = f'error getting deleter volume plugin for volume "{name}": no deletable volume plugin matched'
            return _failed(volume, "VolumeFailedDelete", text)
        case "Recycle":
            return _failed(volume, "VolumeFailedRecycle", "No recycler plugin found for the volume!")
        case _:
            text = "Volume has unrecognized PersistentVolumeReclaimPolicy"
            return _failed(volume, "VolumeUnknownReclaimPolicy", text)


def _failed(volume: PersistentVolume, reason: str, text: str) -> list[Action]:
    body = {"status": {"phase": "Failed", "message": text}}
    return [patch_volume(volume, body, subresource="status"), volume_event(volume, reason, text, warns=True)]
