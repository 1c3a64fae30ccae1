"""The order of nodes: zones in turn."""

from doorman.scheduler.cache.node_order import NodeOrder, zone_of

ZONE = "topology.kubernetes.io/zone"


def test_order_follows_nodes_that_come_go_and_move() -> None:
    order = NodeOrder()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("c1", "c")):
        order.add(name, {ZONE: zone})
    assert order.names() == ["a1", "b1", "c1", "a2"]
    order.remove("a1")
    assert order.names() == ["a2", "b1", "c1"]
    assert not order.update("b1", {ZONE: "b", "other": "label"})
    assert order.update("b1", {ZONE: "c"})
    assert order.names() == ["a2", "c1", "b1"]


def test_order_is_the_same_whoever_is_told_of_first() -> None:
    nodes = [
        ("n10", "a", "2026-01-01T00:00:00Z"),
        ("n9", "b", "2026-01-01T00:00:00Z"),
        ("n1", "a", "2026-01-02T00:00:00Z"),
    ]
    orders = []
    for told in (nodes, nodes[::-1]):
        order = NodeOrder()
        for name, zone, created in told:
            order.add(name, {ZONE: zone}, created)
        orders.append(order.names())
    assert orders == [["n9", "n10", "n1"]] * 2


def test_zone_is_region_and_zone_and_old_labels_are_understood() -> None:
    assert zone_of({}) == ("", "")
    assert zone_of({ZONE: "z", "topology.kubernetes.io/region": "r"}) == ("r", "z")
    assert zone_of({ZONE: "new", "failure-domain.beta.kubernetes.io/zone": "old"}) == ("", "old")
