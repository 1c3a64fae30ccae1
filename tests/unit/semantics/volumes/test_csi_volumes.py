"""Volumes by driver and handle."""

from typing import Any

import pytest

from doorman.api.views.meta import to_view
from doorman.api.views.storage.csi import CsiNode
from doorman.api.views.storage.persistent_volumes import PersistentVolume
from doorman.semantics.volumes.csi_volumes import CsiVolume, csi_volume, is_known_to


@pytest.mark.parametrize(
    ("source", "driver", "handle"),
    [
        pytest.param({"csi": {"driver": "d", "volumeHandle": "h"}}, "d", "h", id="csi"),
        pytest.param({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "ebs.csi.aws.com", "vol-1", id="aws"),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1"}}, "ebs.csi.aws.com", "vol-1", id="aws, long"
        ),
        pytest.param(
            {"gcePersistentDisk": {"pdName": "disk"}},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/z/disks/disk",
            id="gce",
        ),
        pytest.param(
            {"azureDisk": {"diskName": "n", "diskURI": "/subscriptions/x"}},
            "disk.csi.azure.com",
            "/subscriptions/x",
            id="azure",
        ),
        pytest.param({"cinder": {"volumeID": "c"}}, "cinder.csi.openstack.org", "c", id="cinder"),
        pytest.param({"portworxVolume": {"volumeID": "p"}}, "pxd.portworx.com", "p", id="portworx"),
        pytest.param({"vsphereVolume": {"volumePath": "[a] b"}}, "csi.vsphere.vmware.com", "[a] b", id="vsphere"),
    ],
)
def test_volume_of_a_driver(source: Any, driver: str, handle: str) -> None:
    labels = {"topology.kubernetes.io/zone": "z"}
    found = csi_volume(to_view({"metadata": {"name": "v", "labels": labels}, "spec": source}, PersistentVolume))
    assert found is not None
    assert (found.driver, found.handle) == (driver, handle)


def test_volume_of_no_driver() -> None:
    assert csi_volume(to_view({"metadata": {"name": "v"}, "spec": {"nfs": {"server": "s"}}}, PersistentVolume)) is None


def test_disk_that_has_moved_is_left_to_the_driver_where_the_node_says_so() -> None:
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"}
    csi_node: CsiNode = to_view({"metadata": {"name": "n", "annotations": annotations}}, CsiNode)
    moved = CsiVolume(driver="ebs.csi.aws.com", handle="h", plugin="kubernetes.io/aws-ebs")
    assert is_known_to(moved, csi_node)
    assert not is_known_to(moved, None)
    assert not is_known_to(CsiVolume(driver="d", handle="h", plugin="kubernetes.io/cinder"), csi_node)
    assert is_known_to(CsiVolume(driver="d", handle="h"), None)
