"""What CSINodes say nodes can attach, by row."""

from doorman.api.views.storage.csi import CSI_NODES
from doorman.scheduler.volumes.attach_limits import NO_LIMIT, AttachLimits
from support.volume_desk import VolumeDesk
from support.volumes import csi_node_view


def test_limits_follow_csi_nodes_and_nodes() -> None:
    desk = VolumeDesk()
    cluster, state = desk.scheduler._cluster, desk.scheduler.claims.volumes
    limits = AttachLimits(cluster, state)
    limits.refresh()
    assert not limits.has_any("d.x")
    desk.csi_node(csi_node_view("b-1", d__x=2, e__x=3))
    desk.csi_node(csi_node_view("gone", f__x=2))
    limits.refresh()
    row = cluster.row_or_none("b-1")
    assert row is not None
    column = limits.column("d.x")
    assert column is not None
    assert [int(value) for value in column] == [2 if at == row else NO_LIMIT for at in range(cluster.size)]
    assert (limits.has_any("e.x"), limits.has_any("f.x")) == (True, False)
    desk.take(CSI_NODES, "b-1")
    limits.refresh()
    assert limits.column("d.x") is None
