"""What was worked out for a spec is kept, and only what has changed is worked out anew."""

import pytest

from doorman.api.views.resource.devices import CLASSES, SLICES
from doorman.api.views.resource.resource_claims import AllocatedDevice, ResourceClaim
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.devices.allocation import allocation_search
from doorman.scheduler.devices.device_fits import CANNOT_ALLOCATE, FIRST_FAILURE, KeptFits, spec_key
from doorman.scheduler.devices.device_state import DeviceState
from support.claims import a_claim, a_class, a_slice
from support.devices import DRIVER, device, request
from support.scheduling import make_node


class Bench:
    def __init__(self) -> None:
        resources = ResourceIds()
        self.cluster = ClusterState(resources)
        self.state = DeviceState(self.cluster)
        self.state.changed(CLASSES, None, a_class())
        for number in (1, 2, 3):
            self.cluster.set_node(make_node(f"node-{number}"))
            self.state.changed(SLICES, None, a_slice(f"node-{number}", "a"))
        self.kept = KeptFits(self.state, self.cluster)
        self.asked: list[int] = []

    def codes(self, *requests: object) -> list[int]:
        """And notes which rows were worked out."""
        self.asked = []
        claim = a_claim(*requests)  # type: ignore[arg-type]

        def claims_on(row: int) -> list[object]:
            self.asked.append(row)
            return [claim]

        return self.kept.get(spec_key([claim]), claims_on).codes.tolist()  # type: ignore[arg-type]


def test_only_nodes_whose_devices_changed_are_searched_again() -> None:
    bench = Bench()
    assert (bench.codes(), bench.asked) == ([0, 0, 0], [0, 1, 2])
    assert (bench.codes(), bench.asked) == ([0, 0, 0], [])
    taken = AllocatedDevice(driver=DRIVER, pool="node-2", device="a")
    bench.state.reserve(a_claim(name="other"), "default/p", (taken,))
    assert (bench.codes(), bench.asked) == ([0, CANNOT_ALLOCATE, 0], [1])
    bench.state.unreserve("default/p")
    assert (bench.codes(), bench.asked) == ([0, 0, 0], [1])


def test_pool_for_all_nodes_and_classes_concern_every_node() -> None:
    bench = Bench()
    bench.codes()
    bench.state.changed(SLICES, None, a_slice("shared", "x", allNodes=True))
    bench.codes()
    assert bench.asked == [0, 1, 2]
    bench.state.changed(CLASSES, a_class(), a_class("gpu", "false"))
    assert bench.codes() == [CANNOT_ALLOCATE] * 3


def test_new_node_and_another_spec_are_worked_out() -> None:
    bench = Bench()
    bench.codes()
    bench.cluster.set_node(make_node("node-4"))
    assert bench.codes()[3] == CANNOT_ALLOCATE
    assert bench.codes(request(count=2)) == [CANNOT_ALLOCATE] * 4


@pytest.mark.parametrize("expression", ["device.attributes['x'].missing == 1", "device."])
def test_failure_has_a_code_and_words_of_its_own(expression: str) -> None:
    bench = Bench()
    claim = a_claim(request(selectors=[{"cel": {"expression": expression}}]))
    fits = bench.kept.get(spec_key([claim]), lambda _row: [claim])
    assert all(code >= FIRST_FAILURE for code in fits.codes.tolist())
    assert fits.failure_on(0).startswith('running "DynamicResources" filter plugin: claim default/c: selector #0')


def test_search_that_took_too_long_is_told_without_searching_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation_search, "STEPS_MAX", 1)
    monkeypatch.setattr(allocation_search, "STEPS_PER_NODE_MIN", 1)
    monkeypatch.setattr(allocation_search, "STEPS_LONG", 0)
    bench = Bench()
    attributes = [{"attributes": {"id": {"int": number}}} for number in range(3)]
    devices = [device(f"d{number}", **own) for number, own in enumerate(attributes)]
    bench.state.changed(SLICES, a_slice("node-1", "a"), a_slice("node-1", *devices))
    constraint = {"matchAttribute": f"{DRIVER}/id"}
    claim = a_claim(request(count=2), constraints=[constraint])
    asked = []

    def claims_on(row: int) -> list[ResourceClaim]:
        asked.append(row)
        return [claim]

    fits = bench.kept.get(spec_key([claim]), claims_on)
    [failed] = [row for row, code in enumerate(fits.codes.tolist()) if code >= FIRST_FAILURE]
    asked.clear()
    text = "node node-1: timed out trying to allocate devices"
    assert fits.failure_on(failed) == f'running "DynamicResources" filter plugin: {text}'
    assert asked == []
