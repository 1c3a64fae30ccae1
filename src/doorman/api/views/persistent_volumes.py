"""Views of volumes, of claims for them and of their classes."""

from typing import Final

from doorman.api.views.meta import Condition, ObjectMeta, View

VOLUMES: Final = "persistentvolumes"
CLAIMS: Final = "persistentvolumeclaims"
ATTRIBUTES_CLASSES: Final = "volumeattributesclasses.storage.k8s.io"


class PersistentVolumeSpec(View, frozen=True, kw_only=True):
    volume_attributes_class_name: str | None = None


class PersistentVolumeStatus(View, frozen=True, kw_only=True):
    phase: str = ""


class PersistentVolume(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class ModifyVolumeStatus(View, frozen=True, kw_only=True):
    target_volume_attributes_class_name: str = ""


class PersistentVolumeClaimStatus(View, frozen=True, kw_only=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None


class PersistentVolumeClaim(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()
