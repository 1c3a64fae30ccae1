"""Which address and which ports a service gets: the ranges, and where the search in them begins.

Both ranges have a lower part that is left to those who ask for a number of their own, as long as the upper part lasts.
"""

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv4Network, ip_address
from typing import Final

SERVICE_RANGE: Final = IPv4Network("10.96.0.0/16")
API_SERVICE_ADDRESS: Final = "10.96.0.1"
NODE_PORTS: Final = range(30000, 32768)
HEADLESS: Final = "None"

_ADDRESSES_LEFT: Final = 256
_PORTS_LEFT: Final = 86


def is_in_range(address: str) -> bool:
    """
    >>> is_in_range("10.96.0.10"), is_in_range("10.96.0.0"), is_in_range("192.168.0.1"), is_in_range("x")
    (True, False, False, False)
    """
    try:
        found = ip_address(address)
    except ValueError:
        return False
    edges = (SERVICE_RANGE.network_address, SERVICE_RANGE.broadcast_address)
    return isinstance(found, IPv4Address) and found in SERVICE_RANGE and found not in edges


def free_address(seed: int, is_taken: Callable[[str], bool]) -> str | None:
    """The first free address; the seed (the service's uid) says where to begin. None: there is none."""
    size = SERVICE_RANGE.num_addresses
    for offset in _order(seed, size - 1, left=_ADDRESSES_LEFT):
        if offset:
            address = str(SERVICE_RANGE[offset])
            if not is_taken(address):
                return address
    return None


def free_port(seed: int, is_taken: Callable[[int], bool]) -> int | None:
    for offset in _order(seed, len(NODE_PORTS), left=_PORTS_LEFT):
        if not is_taken(NODE_PORTS[offset]):
            return NODE_PORTS[offset]
    return None


def _order(seed: int, size: int, *, left: int) -> Iterator[int]:
    """
    >>> list(_order(4, 5, left=2))
    [3, 4, 2, 0, 1]
    """
    upper = size - left
    for step in range(upper):
        yield left + (seed + step) % upper
    yield from range(left)
