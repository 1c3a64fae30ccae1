"""Node ports in use, as API servers that share a store agree on them: the content of a RangeAllocation.

1. `range` is `FIRST-LAST`; `data` is base64 of the big-endian bytes of a number whose bit i is port FIRST + i, without
   leading zeros.
2. Repair: a port that a service uses is in use.
3. Repair: a port that no service uses stays in use until it was seen so three times in a row: the service may be on
   its way.
"""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from doorman.semantics.service_ranges import NODE_PORTS

SEEN_UNUSED_MAX: Final = 3


class PortBitmap(msgspec.Struct, frozen=True):
    ports: range = NODE_PORTS
    used: frozenset[int] = frozenset()

    @property
    def range_text(self) -> str:
        return f"{self.ports[0]}-{self.ports[-1]}"

    def data(self) -> str:
        """
        >>> PortBitmap(range(30000, 32768), frozenset({30000, 30009})).data()
        'AgE='
        """
        number = sum(1 << (port - self.ports[0]) for port in self.used)
        return b64encode(number.to_bytes((number.bit_length() + 7) // 8, "big")).decode()


def parse_bitmap(range_text: str, data: str) -> PortBitmap:
    """Raises ValueError.

    >>> sorted(parse_bitmap("30000-32767", "AgE=").used)
    [30000, 30009]
    """
    first, _, last = range_text.partition("-")
    ports = range(int(first), int(last) + 1)
    try:
        number = int.from_bytes(b64decode(data, validate=True), "big")
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error
    if not ports or number.bit_length() > len(ports):
        raise ValueError(f"not a bitmap of {range_text}")
    return PortBitmap(ports, frozenset(port for port in ports if number >> (port - ports[0]) & 1))


def decide_repair(
    stored: PortBitmap, used: Collection[int], unused: Mapping[int, int]
) -> tuple[PortBitmap, dict[int, int]]:
    """What is to be stored, and how often each port that is in use was now seen unused; `unused` is the last answer.

    >>> stored = PortBitmap(range(30000, 32768), frozenset({30001, 30002}))
    >>> repaired, unused = decide_repair(stored, {30001, 30005}, {})
    >>> sorted(repaired.used), unused
    ([30001, 30002, 30005], {30002: 1})
    >>> repaired, unused = decide_repair(repaired, {30001, 30005}, {30002: 2})
    >>> sorted(repaired.used), unused
    ([30001, 30005], {})
    """
    right = frozenset(port for port in used if port in stored.ports)
    seen = {port: unused.get(port, 0) + 1 for port in sorted(stored.used - right)}
    kept = {port: count for port, count in seen.items() if count < SEEN_UNUSED_MAX}
    return PortBitmap(stored.ports, right | frozenset(kept)), kept
