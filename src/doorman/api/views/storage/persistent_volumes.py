"""Views of volumes, of claims for them and of their classes."""

from typing import Final

import msgspec

from doorman.api.views.meta import Condition, LabelSelector, ObjectMeta, View
from doorman.api.views.pods import AwsDisk, GceDisk, NodeSelector, ResourceRequirements
from doorman.api.well_known import PERSISTENT_VOLUME_CLAIMS

VOLUMES: Final = "persistentvolumes"
CLAIMS: Final = PERSISTENT_VOLUME_CLAIMS
ATTRIBUTES_CLASSES: Final = "volumeattributesclasses.storage.k8s.io"

STORAGE: Final = "storage"
"""The resource of which claims ask for, and volumes have, an amount."""


class VolumeClaimReference(View, frozen=True, kw_only=True):
    """`claimRef`: the claim that a volume is bound to, or kept for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class CsiVolumeSource(View, frozen=True, kw_only=True):
    driver: str = ""
    volume_handle: str = ""


class AzureDisk(View, frozen=True, kw_only=True):
    disk_uri: str = msgspec.field(default="", name="diskURI")


class CinderDisk(View, frozen=True, kw_only=True):
    volume_id: str = msgspec.field(default="", name="volumeID")


class PortworxDisk(View, frozen=True, kw_only=True):
    volume_id: str = msgspec.field(default="", name="volumeID")


class VsphereDisk(View, frozen=True, kw_only=True):
    volume_path: str = ""


class VolumeNodeAffinity(View, frozen=True, kw_only=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(View, frozen=True, kw_only=True):
    capacity: dict[str, str] = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: VolumeClaimReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiVolumeSource | None = None
    aws_elastic_block_store: AwsDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: CinderDisk | None = None
    gce_persistent_disk: GceDisk | None = None
    portworx_volume: PortworxDisk | None = None
    vsphere_volume: VsphereDisk | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeStatus(View, frozen=True, kw_only=True):
    phase: str = ""


class PersistentVolume(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class ModifyVolumeStatus(View, frozen=True, kw_only=True):
    target_volume_attributes_class_name: str = ""


class PersistentVolumeClaimSpec(View, frozen=True, kw_only=True):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ResourceRequirements = ResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    """Empty: a volume without a class is wanted. None: the default class, once there is one."""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(View, frozen=True, kw_only=True):
    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None


class PersistentVolumeClaim(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()
