"""persistentvolume-protection-controller: a volume that is bound is not deleted. Keys are names of volumes."""

from collections.abc import Iterable
from typing import Final

from doorman.api.views.storage.persistent_volumes import VOLUMES, PersistentVolume
from doorman.base.clock import Instant
from doorman.client.actions import Patch
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.volumes.protection_finalizers import decide_finalizer, is_concerned

NAME: Final = "persistentvolume-protection-controller"
FINALIZER: Final = "kubernetes.io/pv-protection"
WORKERS: Final = 1


def volume_keys(change: ObjectChange) -> Iterable[str]:
    if change.new is None or not is_concerned(change.new.metadata, FINALIZER):
        return ()
    return (change.new.metadata.name,)


SOURCES: Final = (Source(VOLUMES, volume_keys),)


def decide_volume(volume: PersistentVolume | None) -> Patch | None:
    if volume is None:
        return None
    return decide_finalizer(VOLUMES, volume.metadata, FINALIZER, is_used=volume.status.phase == "Bound")


class PersistentVolumeProtectionController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, volumes: ListerOf[PersistentVolume]) -> None:
        self._volumes = volumes

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        patch = decide_volume(self._volumes.get(key))
        return Result(actions=(patch,)) if patch is not None else DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change of the volume tries again."""
        return
