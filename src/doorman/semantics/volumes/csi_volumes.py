"""Volumes as CSI drivers know them: by driver and handle. Disks that Kubernetes once knew by itself have moved there.

A disk `awsElasticBlockStore`, `gcePersistentDisk` and so on is its driver's, under the handle that it has there. Which
nodes leave such disks to the driver is said by an annotation of their CSINodes.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from doorman.api.views.storage.csi import CsiDriver, CsiNode
from doorman.api.views.storage.persistent_volumes import PersistentVolume
from doorman.api.well_known import BETA_ZONE_LABEL, ZONE_LABEL
from doorman.semantics.volumes.volume_drivers import driver_of

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
"""On a CSINode: the plugins, with commas, whose disks the node leaves to their drivers."""

PLUGINS: Final = (
    "kubernetes.io/aws-ebs", "kubernetes.io/azure-disk", "kubernetes.io/azure-file", "kubernetes.io/cinder",
    "kubernetes.io/gce-pd", "kubernetes.io/portworx-volume", "kubernetes.io/vsphere-volume",
)  # fmt: skip
"""What a kubelet of today says there."""

_ZONES_SEPARATOR: Final = "__"


CSI_PREFIX: Final = "kubernetes.io/csi/"


class CsiVolume(msgspec.Struct, frozen=True, kw_only=True):
    driver: str
    handle: str
    plugin: str = ""
    """The one that knew it once; empty: it was never anybody's but the driver's."""

    @property
    def unique_name(self) -> str:
        """As `volumesAttached` and `volumesInUse` of a node call it."""
        return f"{CSI_PREFIX}{self.driver}^{self.handle}"


def named_volume(unique_name: str) -> CsiVolume | None:
    """The other way round; None when it is no driver's.

    >>> named_volume("kubernetes.io/csi/d.example.com^h")
    CsiVolume(driver='d.example.com', handle='h', plugin='')
    """
    driver, sign, handle = unique_name.removeprefix(CSI_PREFIX).partition("^")
    return CsiVolume(driver=driver, handle=handle) if sign and unique_name.startswith(CSI_PREFIX) else None


def csi_volume(volume: PersistentVolume) -> CsiVolume | None:
    """None when no driver has to do with it."""
    spec = volume.spec
    if spec.csi is not None:
        return CsiVolume(driver=spec.csi.driver, handle=spec.csi.volume_handle)
    if spec.aws_elastic_block_store is not None:
        # As aws://zone/vol-1 or as vol-1.
        return _moved("kubernetes.io/aws-ebs", spec.aws_elastic_block_store.volume_id.rpartition("/")[2])
    if spec.gce_persistent_disk is not None:
        place = _gce_place(volume.metadata.labels)
        handle = f"projects/UNSPECIFIED/{place}/disks/{spec.gce_persistent_disk.pd_name}"
        return _moved("kubernetes.io/gce-pd", handle)
    if spec.azure_disk is not None:
        return _moved("kubernetes.io/azure-disk", spec.azure_disk.disk_uri)
    if spec.cinder is not None:
        return _moved("kubernetes.io/cinder", spec.cinder.volume_id)
    if spec.portworx_volume is not None:
        return _moved("kubernetes.io/portworx-volume", spec.portworx_volume.volume_id)
    if spec.vsphere_volume is not None:
        return _moved("kubernetes.io/vsphere-volume", spec.vsphere_volume.volume_path)
    return None


def is_known_to(volume: CsiVolume, csi_node: CsiNode | None) -> bool:
    """Whether the node leaves the volume to its driver."""
    if not volume.plugin:
        return True
    named = csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "") if csi_node is not None else ""
    return volume.plugin in named.split(",")


def is_attached_by(driver: CsiDriver | None) -> bool:
    """Whether its volumes must be attached before they are used: unless it says that this means nothing to it."""
    return driver is None or driver.spec.attach_required is not False


def _moved(plugin: str, handle: str) -> CsiVolume:
    return CsiVolume(driver=driver_of(plugin), handle=handle, plugin=plugin)


def _gce_place(labels: Mapping[str, str]) -> str:
    """
    >>> _gce_place({"topology.kubernetes.io/zone": "us-east1-b"}), _gce_place({})
    ('zones/us-east1-b', 'zones/UNSPECIFIED')
    >>> _gce_place({"topology.kubernetes.io/zone": "us-east1-b__us-east1-c"})
    'regions/us-east1'
    """
    zones = labels.get(BETA_ZONE_LABEL) or labels.get(ZONE_LABEL) or "UNSPECIFIED"
    first, separator, _ = zones.partition(_ZONES_SEPARATOR)
    return f"regions/{first.rpartition('-')[0]}" if separator else f"zones/{first}"
