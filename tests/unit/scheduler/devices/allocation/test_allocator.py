"""Which devices claims get on a node: one row a rule."""

from typing import Any

import pytest

from doorman.api.views.resource.resource_claims import AllocatedDevice
from doorman.scheduler.devices.allocation.allocated_devices import AllocatedDevices
from doorman.scheduler.devices.device_requests import AllocationError, ContradictoryPool
from support.claims import a_claim, a_class, a_node, a_slice, allocated_names
from support.devices import DRIVER, device, request, taint


def numbered(name: str, **attributes: Any) -> dict[str, Any]:
    kinds = {str: "string", bool: "bool", int: "int"}
    return device(name, attributes={key: {kinds[type(value)]: value} for key, value in attributes.items()})


TWO = a_slice("node-1", numbered("a", numa=0, model="x"), numbered("b", numa=1, model="x"))
FOUR = a_slice(
    "node-1", numbered("a", numa=0), numbered("b", numa=1), numbered("c", numa=1), numbered("d", numa=2)
)  # fmt: skip
IS_B = {"cel": {"expression": f"device.attributes['{DRIVER}'].numa == 1"}}
IS_LARGE = {"cel": {"expression": f"device.capacity['{DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0"}}
IS_NEW = {"cel": {"expression": f"device.attributes['{DRIVER}'].driverVersion.isGreaterThan(semver('1.9.0'))"}}
SIZES = a_slice(
    "node-1",
    device("small", capacity={"memory": {"value": "20Gi"}}, attributes={"driverVersion": {"version": "1.8.9"}}),
    device("large", capacity={"memory": {"value": "80Gi"}}, attributes={"driverVersion": {"version": "1.10.0"}}),
)


def sub(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "deviceClassName": "gpu", **more}


@pytest.mark.parametrize(
    ("requests", "slices", "expected"),
    [
        pytest.param([request()], [TWO], ["a"], id="the first that is free"),
        pytest.param([request(count=2)], [TWO], ["a", "b"], id="so many"),
        pytest.param([request(count=3)], [TWO], None, id="more than there are"),
        pytest.param([request("r"), request("s")], [TWO], ["a", "b"], id="no device twice"),
        pytest.param([request(selectors=[IS_B])], [TWO], ["b"], id="request selector"),
        pytest.param([request("r"), request("s", selectors=[IS_B])], [TWO], ["a", "b"], id="selectors leave the other"),
        pytest.param([request("r", count=2), request("s", selectors=[IS_B])], [FOUR], ["a", "b", "c"], id="takes back"),
        pytest.param([request(selectors=[IS_LARGE])], [SIZES], ["large"], id="capacity as a quantity"),
        pytest.param([request(selectors=[IS_NEW])], [SIZES], ["large"], id="version as a semver"),
        pytest.param([request(allocationMode="All")], [TWO], ["a", "b"], id="all"),
        pytest.param([request(allocationMode="All", selectors=[IS_B])], [TWO], ["b"], id="all that are selected"),
        pytest.param([request(allocationMode="All", deviceClassName="none")], [TWO], None, id="all of none is too few"),
        pytest.param(
            [{"name": "r", "firstAvailable": [sub("x", count=3), sub("y", count=2)]}], [TWO], ["a", "b"], id="next best"
        ),
        pytest.param(
            [{"name": "r", "firstAvailable": [sub("x"), sub("y", count=2)]}], [TWO], ["a"], id="the first that can be"
        ),
        pytest.param([request(count=2)], [a_slice("node-2", "a", "b")], None, id="another node's"),
        pytest.param([request(adminAccess=True)], [TWO], ["a"], id="admin access"),
    ],
)  # fmt: skip
def test_requests(requests: list[Any], slices: list[Any], expected: list[str] | None) -> None:
    none = a_class("none", "false")
    found = allocated_names([a_claim(*requests)], *slices, classes=[none])
    assert found == (None if expected is None else [expected])


@pytest.mark.parametrize(
    ("constraint", "count", "expected"),
    [
        pytest.param({"matchAttribute": f"{DRIVER}/numa"}, 2, ["b", "c"], id="match"),
        pytest.param({"matchAttribute": f"{DRIVER}/numa"}, 3, None, id="match: no three alike"),
        pytest.param({"distinctAttribute": f"{DRIVER}/numa"}, 3, ["a", "b", "d"], id="distinct"),
        pytest.param({"distinctAttribute": f"{DRIVER}/numa"}, 4, None, id="distinct: no four differ"),
        pytest.param({"matchAttribute": f"{DRIVER}/missing"}, 1, None, id="nobody has the attribute"),
        pytest.param({"matchAttribute": "other.example.com/numa"}, 1, None, id="another domain's attribute"),
        pytest.param({"matchAttribute": f"{DRIVER}/missing", "requests": ["s"]}, 1, ["a"], id="for another request"),
    ],
)
def test_constraints(constraint: dict[str, Any], count: int, expected: list[str] | None) -> None:
    requests = [request("r", count=count)]
    found = allocated_names([a_claim(*requests, constraints=[constraint])], FOUR)
    assert found == (None if expected is None else [expected])


def test_claims_are_served_one_after_the_other_and_none_goes_empty() -> None:
    one, other = a_claim(request(), name="one"), a_claim(request(selectors=[IS_B]), name="other")
    assert allocated_names([one, other], TWO) == [["a"], ["b"]]
    assert allocated_names([other, one], TWO) == [["b"], ["a"]]
    assert allocated_names([one, one, one], TWO) is None


def test_what_is_taken_is_not_given_again_but_to_administrators() -> None:
    taken = AllocatedDevices()
    taken.add("uid", "default/other", [AllocatedDevice(driver=DRIVER, pool="node-1", device="a")])
    assert allocated_names([a_claim(request())], TWO, taken=taken) == [["b"]]
    assert allocated_names([a_claim(request(allocationMode="All"))], TWO, taken=taken) is None
    assert allocated_names([a_claim(request(adminAccess=True))], TWO, taken=taken) == [["a"]]


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        pytest.param([taint(effect="NoSchedule")], [], None, id="NoSchedule"),
        pytest.param([taint(effect="NoExecute")], [], None, id="NoExecute"),
        pytest.param([taint(effect="None")], [], ["a"], id="None"),
        pytest.param([taint(effect="Unheard")], [], ["a"], id="an effect nobody knows"),
        pytest.param([taint()], [{"operator": "Exists"}], ["a"], id="everything is tolerated"),
        pytest.param([taint(), taint("hot")], [{"key": "broken", "operator": "Exists"}], None, id="only one of two"),
        pytest.param([taint(value="x")], [{"value": "x"}], ["a"], id="Equal without a key: any key of that value"),
    ],
)
def test_taints(taints: list[Any], tolerations: list[Any], expected: list[str] | None) -> None:
    found = allocated_names([a_claim(request(tolerations=tolerations))], a_slice("node-1", device("a", *taints)))
    assert found == (None if expected is None else [expected])


def counters(amount: str) -> list[Any]:
    return [{"counterSet": "card", "counters": {"memory": {"value": amount}}}]


def test_parts_of_a_card_are_given_as_long_as_its_counters_last() -> None:
    card = a_slice(
        "node-1", name="counters", pool={"resourceSliceCount": 2},
        sharedCounters=[{"name": "card", "counters": {"memory": {"value": "40Gi"}}}],
    )  # fmt: skip
    sizes = {"whole": "40Gi", "half-0": "20Gi", "half-1": "20Gi"}
    devices = [device(name, consumesCounters=counters(amount)) for name, amount in sizes.items()]
    parts = a_slice("node-1", *devices, name="parts", pool={"resourceSliceCount": 2})
    assert allocated_names([a_claim(request())], card, parts) == [["whole"]]
    assert allocated_names([a_claim(request(count=2))], card, parts) == [["half-0", "half-1"]]
    assert allocated_names([a_claim(request(count=3))], card, parts) is None
    taken = AllocatedDevices()
    taken.add("uid", "default/other", [AllocatedDevice(driver=DRIVER, pool="node-1", device="half-0")])
    assert allocated_names([a_claim(request())], card, parts, taken=taken) == [["half-1"]]


def shared(amount: str) -> dict[str, Any]:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}
    capacity = {"memory": {"value": amount, "requestPolicy": policy}}
    return device("a", allowMultipleAllocations=True, capacity=capacity)


@pytest.mark.parametrize(
    ("wanted", "shares", "fits"),
    [
        pytest.param("4Gi", 2, True, id="as much as there is"),
        pytest.param("5Gi", 2, False, id="more than there is"),
        pytest.param("3500Mi", 2, True, id="rounded up, and still enough"),
        pytest.param(None, 8, True, id="the default each"),
        pytest.param(None, 9, False, id="the default once too often"),
    ],
)
def test_shares_of_a_device(wanted: str | None, shares: int, fits: bool) -> None:
    capacity = {"capacity": {"requests": {"memory": wanted}}} if wanted else {}
    claims = [a_claim(request(**capacity), name=f"c{number}") for number in range(shares)]
    found = allocated_names(claims, a_slice("node-1", shared("8Gi")))
    assert found == ([["a"]] * shares if fits else None)


@pytest.mark.parametrize(
    ("claim", "slices", "text"),
    [
        (a_claim(request(deviceClassName="x")), [TWO], 'device class x: deviceclass.resource.k8s.io "x" not found'),
        (a_claim(request(count=33)), [TWO], "number of requested devices 33 exceeds the claim limit of 32"),
        (a_claim(request(selectors=[{"cel": {"expression": "device."}}])), [TWO], "CEL compile error"),
        (a_claim(request(selectors=[IS_NEW])), [TWO], "CEL runtime error: no such key: driverVersion"),
        (
            a_claim(request(allocationMode="All")), [a_slice("node-1", "a", pool={"resourceSliceCount": 2})],
            f"asks for all devices, but resource pool {DRIVER}/node-1 is currently being updated",
        ),
        (
            a_claim(request(allocationMode="All"), constraints=[{"matchAttribute": f"{DRIVER}/numa"}]), [TWO],
            f"cannot add device {DRIVER}/node-1/b because a claim constraint would not be satisfied",
        ),
    ],
    ids=["class", "too many", "compile", "runtime", "incomplete", "constraint"],
)  # fmt: skip
def test_what_is_wrong_with_a_claim_is_an_error_and_not_a_no(claim: Any, slices: list[Any], text: str) -> None:
    with pytest.raises(AllocationError) as found:
        allocated_names([claim], *slices)
    assert text in str(found.value)


def test_all_devices_one_of_which_has_no_room_and_fails_a_constraint_is_an_error() -> None:
    """The constraint is looked at before the room."""
    first = a_claim(request(), name="first")
    everything = a_claim(request(allocationMode="All"), constraints=[{"distinctAttribute": f"{DRIVER}/none"}])
    with pytest.raises(AllocationError, match="because a claim constraint would not be satisfied"):
        allocated_names([first, everything], a_slice("node-1", whole_shared()))
    assert allocated_names([first, a_claim(request(allocationMode="All"))], a_slice("node-1", whole_shared())) is None


def whole_shared() -> dict[str, Any]:
    """Whoever gets a share of it, without saying how much, gets all there is."""
    return device("a", capacity={"memory": {"value": "8Gi"}}, allowMultipleAllocations=True)


def test_search_without_end_is_ended() -> None:
    """Twenty devices of which no fifteen are alike: there are fifteen thousand combinations, and more."""
    many = a_slice("node-1", *[numbered(f"d{number:02}", numa=number % 2) for number in range(28)])
    claim = a_claim(request(count=15), constraints=[{"matchAttribute": f"{DRIVER}/numa"}])
    with pytest.raises(AllocationError, match="node node-1: timed out trying to allocate devices"):
        allocated_names([claim], many)


def test_pool_that_contradicts_itself_gives_nothing() -> None:
    with pytest.raises(ContradictoryPool):
        allocated_names([a_claim(request())], a_slice("node-1", "a", "a"))


def test_node_can_reach_what_its_labels_say() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    far = a_slice("pool", "x", nodeSelector={"nodeSelectorTerms": [term]})
    assert allocated_names([a_claim(request())], far, node=a_node(zone="a")) == [["x"]]
    assert allocated_names([a_claim(request())], far, node=a_node(zone="b")) is None
