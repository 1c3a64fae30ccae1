"""Leases that nobody writes: renewed in the last slot of nodes that speak."""

import msgspec
import pytest

from doorman.api.views.coordination import Lease
from doorman.api.views.nodes import Node
from doorman.base.instants import from_time, to_micro_time
from doorman.client.informer_cache import InformerCache
from doorman.nodes.status.node_lease import last_instant, slot_of
from doorman.nodes.status.unwritten_leases import UnwrittenLeases, renews_unwritten

KEY = "kube-node-lease/n1"


def node(**annotations: str) -> Node:
    given = {f"doorman.dev/{name}": value for name, value in annotations.items()}
    return msgspec.convert({"metadata": {"name": "n1", "annotations": given}}, Node)


def lease(renewed: float) -> Lease:
    spec = {"holderIdentity": "n1", "renewTime": to_micro_time(renewed)}
    return msgspec.convert({"metadata": {"name": "n1", "resourceVersion": "7"}, "spec": spec}, Lease)


class Desk:
    def __init__(self, written: float, **annotations: str) -> None:
        self.now = 1000.0
        self.nodes: InformerCache[Node] = InformerCache()
        self.leases: InformerCache[Lease] = InformerCache()
        self.nodes.put("n1", node(**annotations))
        self.leases.put(KEY, lease(written))
        self.shown = UnwrittenLeases(self.leases, self.nodes, 10.0, lambda: self.now)

    def renewed(self) -> float:
        found = self.shown.get(KEY)
        assert found is not None
        return from_time(found.spec.renew_time)


def test_node_that_speaks_has_renewed_in_its_last_slot() -> None:
    desk = Desk(500.0, simulated="true")
    for now in (1000.0, 1004.0, 1017.3):
        desk.now = now
        assert desk.renewed() == pytest.approx(last_instant(slot_of("n1"), 10.0, now))
        assert desk.shown.get(KEY) is desk.shown.get(KEY), "the same until the next slot"


def test_what_is_written_counts_when_it_is_newer() -> None:
    desk = Desk(999.9, simulated="true")
    assert desk.renewed() == pytest.approx(999.9)
    desk.now = 1020.0
    assert desk.renewed() > 1000.0


@pytest.mark.parametrize(
    ("annotations", "certain"),
    [
        pytest.param({"simulated": "true"}, True, id="speaks"),
        pytest.param({"simulated": "true", "taints": "[]"}, True, id="a-record-is-no-order"),
        pytest.param({"simulated": "true", "silent": "true"}, False, id="silent"),
        pytest.param({"simulated": "true", "script": "silent 1s-"}, False, id="by-the-clock"),
        pytest.param({"simulated": "true", "shutdown": "30s/10s"}, False, id="shuts-down"),
        pytest.param({}, False, id="somebody-elses"),
    ],
)
def test_only_nodes_without_orders_are_certain(annotations: dict[str, str], certain: bool) -> None:
    assert renews_unwritten(node(**annotations)) is certain
    desk = Desk(500.0, **annotations)
    assert (desk.renewed() > 500.0) is certain


def test_what_is_not_there_is_not_made_up() -> None:
    desk = Desk(500.0, simulated="true")
    assert desk.shown.get("kube-node-lease/n2") is None
    assert len(desk.shown) == 1
    assert desk.shown.list() == [lease(500.0)]
