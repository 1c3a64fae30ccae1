"""Which address and which ports a service gets: the ranges, and where the search in them begins.

Ranges have a lower part that is left to those who ask for a number of their own, as long as the upper part lasts.
Those of addresses are ServiceCIDR objects; there is one from the start.
"""

from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, ip_address
from typing import Final

SERVICE_RANGE: Final = IPv4Network("10.96.0.0/16")
API_SERVICE_ADDRESS: Final = "10.96.0.1"
NODE_PORTS: Final = range(30000, 32768)
HEADLESS: Final = "None"

_PORTS_LEFT: Final = 86


def ranges_of(cidrs: Sequence[str]) -> tuple[IPv4Network, ...]:
    """Those of the family this cluster has.

    >>> ranges_of(["10.0.0.0/24", "fd00::/108", "nonsense"])
    (IPv4Network('10.0.0.0/24'),)
    """
    found: list[IPv4Network] = []
    for cidr in cidrs:
        try:
            found.append(IPv4Network(cidr))
        except ValueError:
            continue
    return tuple(found)


def is_in_range(address: str, ranges: Sequence[IPv4Network] = (SERVICE_RANGE,)) -> bool:
    """
    >>> is_in_range("10.96.0.10"), is_in_range("10.96.0.0"), is_in_range("192.168.0.1"), is_in_range("x")
    (True, False, False, False)
    """
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return isinstance(found, IPv4Address) and any(
        found in one and found not in (one.network_address, one.broadcast_address) for one in ranges
    )


def free_address(
    seed: int, is_taken: Callable[[str], bool], ranges: Sequence[IPv4Network] = (SERVICE_RANGE,)
) -> str | None:
    """The first free address; the seed (the service's uid) says where to begin. None: there is none."""
    for one in ranges:
        for offset in _order(seed, one.num_addresses - 1, left=_addresses_left(one.num_addresses)):
            if offset:
                address = str(one[offset])
                if not is_taken(address):
                    return address
    return None


def free_port(seed: int, is_taken: Callable[[int], bool]) -> int | None:
    for offset in _order(seed, len(NODE_PORTS), left=_PORTS_LEFT):
        if not is_taken(NODE_PORTS[offset]):
            return NODE_PORTS[offset]
    return None


def _addresses_left(size: int) -> int:
    """
    >>> _addresses_left(65536), _addresses_left(256), _addresses_left(16)
    (256, 16, 0)
    """
    return min(max(16, size // 16), 256) if size > 16 else 0


def _order(seed: int, size: int, *, left: int) -> Iterator[int]:
    """
    >>> list(_order(4, 5, left=2))
    [3, 4, 2, 0, 1]
    """
    upper = size - left
    for step in range(upper):
        yield left + (seed + step) % upper
    yield from range(left)
