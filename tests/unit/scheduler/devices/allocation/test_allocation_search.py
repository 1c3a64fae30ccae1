"""The search itself: what it tries, and when it stops."""

import pytest

from doorman.api.views.resource.devices import DeviceClass
from doorman.scheduler.devices.allocation import allocation_search
from doorman.scheduler.devices.allocation.allocated_devices import AllocatedDevices
from doorman.scheduler.devices.allocation.allocation_search import AllocationSearch, SearchTooLong
from doorman.scheduler.devices.device_requests import RequestForDevices
from support.claims import a_claim, a_node, a_slice, pools_of
from support.devices import DRIVER, device, request


def a_search(count: int, devices: int, *constraints: object) -> AllocationSearch:
    attributes = [{"numa": {"int": number % 2}} for number in range(devices)]
    listed = [device(f"d{number:02}", attributes=own) for number, own in enumerate(attributes)]
    claim = a_claim(request(count=count), constraints=list(constraints))
    wanted = claim.spec.devices.requests[0].exactly
    assert wanted is not None
    asked = [[[RequestForDevices("r", "", wanted, DeviceClass(), count)]]]
    return AllocationSearch(
        [claim], asked, pools_of(a_slice("node-1", *listed)).reached_by(a_node()), AllocatedDevices()
    )


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
    assert not a_search(7, 6).run()


def test_more_steps_than_allowed_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation_search, "STEPS_MAX", 10)
    with pytest.raises(SearchTooLong):
        a_search(7, 6).run()
