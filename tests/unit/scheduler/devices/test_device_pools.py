"""What a node can reach of which pools."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.resource.devices import DeviceTaintRule
from support.claims import a_node, a_slice, pools_of
from support.devices import DRIVER, device, taint

TWO_SLICES = {"pool": {"resourceSliceCount": 2}}
EACH = {"perDeviceNodeSelection": True}
ON_1, ON_2 = device("a", nodeName="node-1"), device("b", nodeName="node-2")


def seen(*slices: Any, node: str = "node-1") -> dict[str, Any]:
    """Names of devices by pool, or what is the matter with the pool."""
    found = {}
    for pool in pools_of(*slices).reached_by(a_node(node)):
        state = "incomplete" if pool.is_incomplete else pool.contradiction
        found[pool.id[1]] = state or [published.device.name for published in pool.devices]
    return found


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        pytest.param([a_slice("node-1", "a")], {"node-1": ["a"]}, id="rule 1: by name"),
        pytest.param([a_slice("node-2", "a")], {}, id="rule 1: another's"),
        pytest.param([a_slice("pool", "a", allNodes=True)], {"pool": ["a"]}, id="rule 1: all nodes"),
        pytest.param(
            [a_slice("pool", ON_1, ON_2, **EACH)],
            {"pool": ["a"]}, id="rule 1: each device says so",
        ),
        pytest.param(
            [a_slice("node-1", "old"), a_slice("node-1", "new", generation=2, name="x")], {"node-1": ["new"]},
            id="rule 2: the highest generation",
        ),
        pytest.param([a_slice("node-1", "a", pool={"resourceSliceCount": 2})], {"node-1": "incomplete"}, id="rule 3"),
        pytest.param(
            [
                a_slice("pool", ON_1, **EACH, **TWO_SLICES),
                a_slice("pool", ON_2, **EACH, **TWO_SLICES, name="y"),
            ],
            {"pool": ["a"]}, id="rule 3: slices for others count",
        ),
        pytest.param(
            [
                a_slice("pool", ON_1, **EACH, **TWO_SLICES),
                a_slice("pool", ON_2, **EACH, generation=2, name="y"),
            ],
            {}, id="rule 3: about to be replaced",
        ),
        pytest.param([a_slice("node-1", "a", "a")], {"node-1": "duplicate device name a"}, id="rule 4: a device twice"),
        pytest.param(
            [a_slice("node-1", device("a", consumesCounters=[{"counterSet": "x", "counters": {}}]))],
            {"node-1": "counter set x not found"}, id="rule 4: no such counters",
        ),
        pytest.param(
            [a_slice("node-1", "b", name="z", **TWO_SLICES), a_slice("node-1", "c", "a", name="y", **TWO_SLICES)],
            {"node-1": ["c", "a", "b"]}, id="rule 5: slices by name, devices as listed",
        ),
    ],
)  # fmt: skip
def test_what_a_node_reaches(slices: list[Any], expected: dict[str, Any]) -> None:
    assert seen(*slices) == expected


def test_pools_with_binding_conditions_come_last() -> None:
    bound = a_slice(
        "a-pool", device("slow", bindingConditions=["Attached"], bindingFailureConditions=["Failed"]), allNodes=True
    )
    plain = a_slice("b-pool", "fast", allNodes=True)
    assert list(seen(bound, plain)) == ["b-pool", "a-pool"]


def test_changes_name_the_nodes_to_which_they_matter() -> None:
    pools = pools_of(a_slice("node-1", "a"))
    assert pools.put(a_slice("node-1", "b")) == frozenset({"node-1"})
    assert pools.put(a_slice("pool", "x", allNodes=True)) is None
    assert pools.remove("node-1-gpus") == frozenset({"node-1"})
    assert pools.remove("unknown") == frozenset()
    assert [pool.id[1] for pool in pools.reached_by(a_node())] == ["pool"]


def test_rules_taint_what_they_name_and_give_it_back() -> None:
    pools = pools_of(a_slice("node-1", device("a", taint("own"))), a_slice("node-2", "a"))
    spec = {"deviceSelector": {"pool": "node-1"}, "taint": taint("rule")}
    rule = msgspec.convert({"metadata": {"name": "r"}, "spec": spec}, DeviceTaintRule)
    assert pools.set_rules({"r": rule}) == frozenset({"node-1"})
    [first, second] = pools.all_devices()
    assert [[one.key for one in published.taints] for published in (first, second)] == [["own", "rule"], []]
    assert pools.set_rules({}) == frozenset({"node-1"})
    assert [one.key for one in first.taints] == ["own"]
    assert first.id == (DRIVER, "node-1", "a")
