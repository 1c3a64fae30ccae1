"""Addresses and ports of services: the ranges and the order they are looked through in."""

import pytest

from doorman.semantics.service_ranges import (
    NODE_PORTS,
    SERVICE_RANGE,
    free_address,
    free_port,
    is_in_range,
    ranges_of,
)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("10.96.0.1", True, id="first"),
        pytest.param("10.96.255.254", True, id="last"),
        pytest.param("10.96.0.0", False, id="network"),
        pytest.param("10.96.255.255", False, id="broadcast"),
        pytest.param("10.97.0.1", False, id="next-network"),
        pytest.param("::1", False, id="other-family"),
        pytest.param("None", False, id="no-address"),
    ],
)
def test_is_in_range(address: str, expected: bool) -> None:
    assert is_in_range(address) is expected


def test_lower_part_is_left_to_those_who_ask_as_long_as_there_is_another() -> None:
    address = free_address(0, lambda _: False)
    assert address == str(SERVICE_RANGE[256])
    assert free_port(0, lambda _: False) == 30086
    assert free_port(5, lambda port: port >= 30086) == NODE_PORTS[0]


def test_search_goes_on_from_the_seed_and_around() -> None:
    assert free_port(1, lambda port: port == 30087) == 30088
    last = len(NODE_PORTS) - 86 - 1
    assert free_port(last, lambda port: port == 32767) == 30086


def test_every_address_is_given_once_and_then_none() -> None:
    taken: set[str] = set()
    while (found := free_address(7, taken.__contains__)) is not None:
        assert is_in_range(found)
        taken.add(found)
        if len(taken) == 50:
            taken = {str(address) for address in SERVICE_RANGE.hosts()} - {"10.96.0.3"}
    assert len(taken) == SERVICE_RANGE.num_addresses - 2


def test_second_range_is_used_when_the_first_is_full() -> None:
    ranges = ranges_of(["10.0.0.0/28", "10.1.0.0/24", "fd00::/108"])
    taken: set[str] = set()
    while len(taken) < 14:
        found = free_address(3, taken.__contains__, ranges)
        assert found is not None
        assert found.startswith("10.0.0.")
        taken.add(found)
    assert free_address(3, taken.__contains__, ranges) == "10.1.0.19"
    assert is_in_range("10.1.0.255", ranges) is False
    assert is_in_range("10.1.0.254", ranges) is True
    assert is_in_range("10.96.0.1", ranges) is False
