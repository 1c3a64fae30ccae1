"""Which CSI driver makes and attaches the volumes of a provisioner: mostly the one of the same name."""

from collections.abc import Mapping
from typing import Final

from doorman.api.well_known import SIMULATED

SIMULATED_PROVISIONER: Final = SIMULATED
SIMULATED_DRIVER: Final = "simulated.doorman.dev"
"""Drivers have names without a slash."""

_DRIVERS: Final[Mapping[str, str]] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
    SIMULATED_PROVISIONER: SIMULATED_DRIVER,
}
"""Those that Kubernetes once had built in have moved to drivers."""


def driver_of(provisioner: str) -> str:
    """
    >>> driver_of("kubernetes.io/aws-ebs"), driver_of("ebs.csi.aws.com")
    ('ebs.csi.aws.com', 'ebs.csi.aws.com')
    """
    return _DRIVERS.get(provisioner, provisioner)
