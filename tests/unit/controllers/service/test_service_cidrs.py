"""Ranges of service addresses: ready, and kept while they are used."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.services import IpAddress, ServiceCidr
from doorman.api.well_known import SERVICE_CIDRS
from doorman.controllers.service.service_cidrs import FINALIZER, ServiceRangeController, is_needed
from doorman.semantics.service_addresses import RESOURCE as ADDRESSES
from doorman.semantics.service_addresses import address_manifest
from support.stage import Stage


def stage() -> Stage:
    found = Stage({SERVICE_CIDRS: ServiceCidr, ADDRESSES: IpAddress})
    found.add(ServiceRangeController(found.caches[SERVICE_CIDRS], found.caches[ADDRESSES]))
    return found


def a_range(name: str, *cidrs: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}}


def ready(found: Stage, name: str) -> tuple[str, str]:
    document = found.get(SERVICE_CIDRS, name)
    assert document is not None
    (condition,) = document["status"]["conditions"]
    return condition["status"], condition["reason"]


def test_new_range_is_held_and_ready() -> None:
    found = stage()
    found.create(SERVICE_CIDRS, a_range("r", "10.1.0.0/24"))
    found.at(1)
    document = found.get(SERVICE_CIDRS, "r")
    assert document is not None
    assert document["metadata"]["finalizers"] == [FINALIZER]
    assert ready(found, "r") == ("True", "")


def test_range_goes_when_its_last_address_has_gone() -> None:
    found = stage()
    found.create(SERVICE_CIDRS, a_range("r", "10.1.0.0/24"))
    found.create(ADDRESSES, address_manifest("10.1.0.5", "a", "s"))
    found.at(1)
    found.delete(SERVICE_CIDRS, "r")
    found.at(20)
    assert ready(found, "r") == ("False", "Terminating")
    found.delete(ADDRESSES, "10.1.0.5")
    found.at(21)
    assert found.get(SERVICE_CIDRS, "r") is None


def test_range_that_nobody_uses_stays_ten_seconds() -> None:
    found = stage()
    found.create(SERVICE_CIDRS, a_range("r", "10.1.0.0/24"))
    found.at(1)
    found.delete(SERVICE_CIDRS, "r")
    found.at(10)
    assert found.get(SERVICE_CIDRS, "r") is not None
    found.at(12)
    assert found.get(SERVICE_CIDRS, "r") is None


@pytest.mark.parametrize(
    ("others", "used", "expected"),
    [
        pytest.param([], ["10.1.0.5"], True, id="used"),
        pytest.param([], ["10.2.0.5"], False, id="not-used"),
        pytest.param(["10.0.0.0/8"], ["10.1.0.5"], False, id="held-by-a-larger-one"),
        pytest.param(["10.1.0.0/28"], ["10.1.0.5"], False, id="address-held-by-another-one"),
        pytest.param(["10.1.0.0/30", "fd00::/64"], ["10.1.0.5"], True, id="address-held-by-none"),
        pytest.param(["nonsense"], ["no-address", "10.1.0.5"], True, id="what-is-no-range-and-no-address"),
    ],
)
def test_need(others: list[str], used: list[str], expected: bool) -> None:
    ranges = [msgspec.convert(a_range(f"r{i}", cidr), ServiceCidr) for i, cidr in enumerate(["10.1.0.0/24", *others])]
    assert is_needed(ranges[0], ranges, used) is expected
