"""Which volumes a pod has attached."""

from doorman.api.views.meta import to_view
from doorman.api.views.storage.csi import ATTACHMENTS, VolumeAttachment
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.scheduler.volumes.volume_users import attachable_volumes, attached_volumes
from support.scheduling import make_pod
from support.volumes import bound_claim_view, claim_view, class_view, uses, volume_view


def test_volumes_of_drivers_count_and_so_do_those_still_to_be_made() -> None:
    state = VolumeState()
    state.changed(VOLUMES, None, volume_view("v", csi={"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}))
    state.changed(VOLUMES, None, volume_view("share"))
    state.changed(STORAGE_CLASSES, None, class_view("slow", provisioner="kubernetes.io/aws-ebs"))
    for claim in (
        bound_claim_view("a", "v"),
        bound_claim_view("b", "share"),
        claim_view("c", storageClassName="slow"),
        claim_view("d", storageClassName="none"),
    ):
        state.changed(CLAIMS, None, claim)
    found = attachable_volumes(make_pod("p", volumes=uses("a", "b", "c", "d", "missing")), state)
    assert [(one.driver, one.handle, one.plugin) for one in found.values()] == [
        ("ebs.csi.aws.com", "vol-1", ""),
        ("ebs.csi.aws.com", "claim default/c", "kubernetes.io/aws-ebs"),
    ]


def test_attachments_of_a_node_count_by_their_volumes() -> None:
    state = VolumeState()
    state.changed(VOLUMES, None, volume_view("v", csi={"driver": "d", "volumeHandle": "h"}))
    for name, volume, node in (("x", "v", "node-1"), ("y", "v", "node-2"), ("z", "gone", "node-1")):
        spec = {"attacher": "d", "nodeName": node, "source": {"persistentVolumeName": volume}}
        state.changed(ATTACHMENTS, None, to_view({"metadata": {"name": name}, "spec": spec}, VolumeAttachment))
    assert list(attached_volumes("node-1", state)) == ["kubernetes.io/csi/d^h"]
    assert attached_volumes("node-3", state) == {}
