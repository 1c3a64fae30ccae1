"""How many volumes nodes have: what is kept is what would be worked out anew."""

from doorman.api.views.meta import to_view
from doorman.api.views.storage.csi import ATTACHMENTS, CSI_NODES, VolumeAttachment
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES
from doorman.scheduler.volumes.row_volumes import RowVolumes
from support.volume_desk import VolumeDesk
from support.volumes import bound_claim_view, claim_view, class_view, csi_node_view, uses, volume_view

DRIVER = "d.x"


class Rows:
    """Kept rows beside the desk that changes them."""

    def __init__(self) -> None:
        self.desk = VolumeDesk()
        self.cluster = self.desk.scheduler._cluster
        self.kept = RowVolumes(self.cluster, self.desk.scheduler.claims.volumes)

    def shown(self) -> dict[str, int]:
        """Volumes by node, of nodes that have some; and they are those that would be found anew."""
        anew = RowVolumes(self.cluster, self.desk.scheduler.claims.volumes)
        for rows in (self.kept, anew):
            rows.refresh()
        found = {}
        for row in range(self.cluster.size):
            if self.cluster.nodes[row] is None:
                continue
            assert self.kept.on(row) == anew.on(row)
            assert self.kept.count(DRIVER)[row] == anew.count(DRIVER)[row]
            name = self.cluster.node(row).metadata.name
            if self.kept.on(row):
                found[name] = int(self.kept.count(DRIVER)[row])
        return found


def volume(at: int) -> object:
    reference = {"namespace": "default", "name": f"c{at}", "uid": f"uid-c{at}"}
    return volume_view(f"v{at}", phase="Bound", csi={"driver": DRIVER, "volumeHandle": f"h{at}"}, claimRef=reference)


def test_pods_come_and_go() -> None:
    rows = Rows()
    for at in range(2):
        rows.desk.volume(volume(at))
        rows.desk.claim(bound_claim_view(f"c{at}", f"v{at}"))
    assert rows.shown() == {}
    rows.desk.pod("p", volumes=uses("c0"), node="a-1")
    rows.desk.pod("q", volumes=uses("c0"), node="a-1")
    rows.desk.pod("r", volumes=uses("c0", "c1"), node="b-1")
    assert rows.shown() == {"a-1": 1, "b-1": 2}
    rows.desk.remove_pod("p")
    rows.desk.remove_pod("r")
    assert rows.shown() == {"a-1": 1}
    rows.desk.remove_node("a-1")
    assert rows.shown() == {}


def test_claims_volumes_and_attachments_change() -> None:
    rows = Rows()
    rows.desk.storage_class(class_view("slow", provisioner=DRIVER))
    rows.desk.claim(claim_view("c0", storageClassName="slow"))
    rows.desk.pod("p", volumes=uses("c0"), node="a-1")
    assert rows.shown() == {"a-1": 1}  # one that is still to be made
    rows.desk.claim(bound_claim_view("c0", "v0"))
    assert rows.shown() == {}  # whose it is nobody knows
    rows.desk.volume(volume(0))
    assert rows.shown() == {"a-1": 1}
    spec = {"attacher": DRIVER, "nodeName": "c-1", "source": {"persistentVolumeName": "v0"}}
    rows.desk.put(ATTACHMENTS, to_view({"metadata": {"name": "x"}, "spec": spec}, VolumeAttachment))
    assert rows.shown() == {"a-1": 1, "c-1": 1}
    rows.desk.take(ATTACHMENTS, "x")
    assert rows.shown() == {"a-1": 1}
    rows.desk.put(VOLUMES, volume_view("v0", phase="Bound"))  # of no driver
    assert rows.shown() == {}
    rows.desk.volume(volume(0))
    assert rows.shown() == {"a-1": 1}
    rows.desk.take(CLAIMS, "c0")
    assert rows.shown() == {}


def test_disk_that_has_moved_counts_where_the_node_says_so() -> None:
    rows = Rows()
    source = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
    rows.desk.volume(volume_view("v0", phase="Bound", csi=None, **source))
    rows.desk.claim(bound_claim_view("c0", "v0"))
    rows.desk.pod("p", volumes=uses("c0"), node="a-1")
    assert rows.shown() == {}
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    csi_node = csi_node_view("a-1")
    csi_node.metadata.annotations.update(annotations)
    rows.desk.put(CSI_NODES, csi_node)
    assert rows.shown() == {"a-1": 0}
    row = rows.cluster.row_or_none("a-1")
    assert row is not None
    assert rows.kept.count("ebs.csi.aws.com")[row] == 1
    assert rows.kept.having(["kubernetes.io/csi/ebs.csi.aws.com^vol-1"]) == {row}


def test_trial_is_seen_and_forgotten() -> None:
    rows = Rows()
    rows.desk.volume(volume(0))
    rows.desk.claim(bound_claim_view("c0", "v0"))
    rows.desk.pod("p", volumes=uses("c0"), node="a-1")
    assert rows.shown() == {"a-1": 1}
    row = rows.cluster.row_or_none("a-1")
    assert row is not None
    [record] = rows.cluster.records_on(row)
    rows.cluster.try_remove(record)
    assert rows.shown() == {}
    rows.cluster.try_add(record, row)
    assert rows.shown() == {"a-1": 1}
