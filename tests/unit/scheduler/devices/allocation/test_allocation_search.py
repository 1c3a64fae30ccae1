"""The search itself: what it tries, and when it stops."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorman.api.views.resource.devices import DeviceClass
from doorman.scheduler.devices.allocation import allocation_search
from doorman.scheduler.devices.allocation.allocated_devices import AllocatedDevices
from doorman.scheduler.devices.allocation.allocation_search import AllocationSearch, SearchSteps, SearchTooLong
from doorman.scheduler.devices.device_requests import RequestForDevices
from support.claims import a_claim, a_node, a_slice, pools_of
from support.devices import DRIVER, device, request, taint

NEVER = {"distinctAttribute": f"{DRIVER}/numa"}
"""There are two values."""


def a_search(count: int, devices: int, *constraints: object, steps: SearchSteps | None = None) -> AllocationSearch:
    attributes = [{"numa": {"int": number % 2}} for number in range(devices)]
    listed = [device(f"d{number:02}", attributes=own) for number, own in enumerate(attributes)]
    claim = a_claim(request(count=count), constraints=list(constraints))
    wanted = claim.spec.devices.requests[0].exactly
    assert wanted is not None
    asked = [[[RequestForDevices("r", "", wanted, DeviceClass(), count)]]]
    pools = pools_of(a_slice("node-1", *listed)).reached_by(a_node())
    return AllocationSearch([claim], asked, pools, AllocatedDevices(), steps or SearchSteps())


def test_first_solution_in_order_is_taken() -> None:
    search = a_search(2, 4)
    assert search.run()
    [allocation] = search.allocations()
    assert [chosen.device.id[2] for chosen in allocation.devices] == ["d00", "d01"]


def test_what_leads_nowhere_is_taken_back() -> None:
    search = a_search(2, 3, {"matchAttribute": f"{DRIVER}/numa"})
    assert search.run()
    assert [chosen.device.id[2] for chosen in search.allocations()[0].devices] == ["d00", "d02"]


def test_combinations_are_tried_once_and_not_in_every_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six devices make 63 sets that are not empty."""
    monkeypatch.setattr(allocation_search, "STEPS_MAX", 63)
    monkeypatch.setattr(AllocationSearch, "_is_hopeless", lambda _: False)
    assert not a_search(7, 6).run()


def test_more_steps_than_allowed_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation_search, "STEPS_MAX", 10)
    monkeypatch.setattr(allocation_search, "STEPS_PER_NODE_MIN", 10)
    with pytest.raises(SearchTooLong):
        a_search(3, 12, NEVER).run()


def test_searches_share_their_steps_and_each_has_enough_for_what_is_easy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation_search, "STEPS_PER_NODE_MIN", 20)
    steps = SearchSteps()
    assert not a_search(3, 12, NEVER, steps=steps).run()
    used = allocation_search.STEPS_MAX - steps.left
    assert used > 16
    steps.left = used - 1
    with pytest.raises(SearchTooLong):
        a_search(3, 12, NEVER, steps=steps).run()
    assert steps.left < 0
    assert a_search(8, 12, steps=steps).run()


def test_more_devices_than_there_are_is_known_before_all_combinations_were_tried() -> None:
    steps = SearchSteps()
    assert not a_search(25, 24, steps=steps).run()
    assert allocation_search.STEPS_MAX - steps.left < 100


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    models=st.lists(st.sampled_from("ab"), max_size=6),
    wanted=st.lists(st.sampled_from(["", "a", "b"]), min_size=3, max_size=3),
    tainted=st.lists(st.booleans(), min_size=6, max_size=6),
    tolerant=st.booleans(),
    shared=st.sampled_from([False, False, True]),
)
def test_what_is_given_up_as_hopeless_has_no_solution(
    counts: list[int], models: list[str], wanted: list[str], tainted: list[bool], tolerant: bool, shared: bool
) -> None:
    """Law: counting says no only where trying everything does."""
    listed = [
        device(
            f"d{at}", *([taint()] if tainted[at] else []), attributes={"model": {"string": model}},
            **({"allowMultipleAllocations": True} if shared and at == 0 else {}),
        )
        for at, model in enumerate(models)
    ]  # fmt: skip
    tolerations = [{"operator": "Exists"}] if tolerant else []
    requests = []
    for at, count in enumerate(counts):
        selectors = (
            [{"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{wanted[at]}'"}}] if wanted[at] else []
        )
        requests.append(request(f"r{at}", count=count, selectors=selectors, tolerations=tolerations))
    claim = a_claim(*requests)
    pools = pools_of(a_slice("node-1", *listed)).reached_by(a_node())
    asked = [
        [RequestForDevices(one.name, "", one.exactly, DeviceClass(), one.exactly.count)]
        for one in claim.spec.devices.requests
        if one.exactly is not None
    ]
    search = AllocationSearch([claim], [asked], pools, AllocatedDevices(), SearchSteps())
    is_hopeless = search._is_hopeless()
    search._steps_long = -1
    assert not (search.run() and is_hopeless)
