"""volumeattributesclass-protection-controller: a class that a volume or a claim names is not deleted.

Keys are names of classes.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.views.meta import Object
from doorman.api.views.storage.persistent_volumes import (
    ATTRIBUTES_CLASSES,
    CLAIMS,
    VOLUMES,
    PersistentVolume,
    PersistentVolumeClaim,
)
from doorman.base.clock import Instant
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.volumes.protection_finalizers import decide_finalizer, is_concerned

NAME: Final = "volumeattributesclass-protection-controller"
FINALIZER: Final = "kubernetes.io/vac-protection"
WORKERS: Final = 1


def classes_of(one: PersistentVolume | PersistentVolumeClaim | None) -> tuple[str, ...]:
    """Every class it names: asked for, in force, and on the way."""
    if one is None:
        return ()
    names = [one.spec.volume_attributes_class_name or ""]
    if isinstance(one, PersistentVolumeClaim):
        names.append(one.status.current_volume_attributes_class_name or "")
        if one.status.modify_volume_status is not None:
            names.append(one.status.modify_volume_status.target_volume_attributes_class_name)
    return tuple(dict.fromkeys(name for name in names if name))


def class_keys(change: ObjectChange) -> Iterable[str]:
    if change.new is None or not is_concerned(change.new.metadata, FINALIZER):
        return ()
    return (change.new.metadata.name,)


def user_keys(change: ObjectChange) -> Iterable[str]:
    """Classes that are no longer named."""
    still = classes_of(change.new)
    return [name for name in classes_of(change.old) if name not in still]


SOURCES: Final = (Source(ATTRIBUTES_CLASSES, class_keys), Source(CLAIMS, user_keys), Source(VOLUMES, user_keys))


class VolumeAttributesClassProtectionController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(
        self,
        classes: ListerOf[Object],
        claims: ListerOf[PersistentVolumeClaim],
        volumes: ListerOf[PersistentVolume],
    ) -> None:
        self._classes = classes
        self._claims = claims
        self._volumes = volumes

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        found = self._classes.get(key)
        if found is None or not is_concerned(found.metadata, FINALIZER):
            return DONE
        is_used = any(key in classes_of(volume) for volume in self._volumes.list()) or any(
            key in classes_of(claim) for claim in self._claims.list()
        )
        patch = decide_finalizer(ATTRIBUTES_CLASSES, found.metadata, FINALIZER, is_used=is_used)
        return Result(actions=(patch,)) if patch is not None else DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next change of the class tries again."""
        return
