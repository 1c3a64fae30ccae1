"""Which host ports are in use on which nodes. Ports are rare, so they live in dictionaries and not in columns."""

from collections.abc import Iterable, Sequence

from doorman.semantics.pods.host_ports import HostPort


class PortTable:
    """
    >>> table = PortTable()
    >>> table.add(3, [HostPort("TCP", 80)])
    >>> table.rows_with_conflict([HostPort("TCP", 80, "10.0.0.1")]), table.rows_with_conflict([HostPort("UDP", 80)])
    ([3], [])
    """

    def __init__(self) -> None:
        self._used: dict[tuple[str, int], dict[int, dict[str, int]]] = {}
        """Protocol and port, then row, then address: how many pods hold it."""

    def add(self, row: int, ports: Iterable[HostPort]) -> None:
        for port in ports:
            addresses = self._used.setdefault((port.protocol, port.port), {}).setdefault(row, {})
            addresses[port.address] = addresses.get(port.address, 0) + 1

    def remove(self, row: int, ports: Iterable[HostPort]) -> None:
        for port in ports:
            rows = self._used[port.protocol, port.port]
            addresses = rows[row]
            addresses[port.address] -= 1
            if not addresses[port.address]:
                del addresses[port.address]
            if not addresses:
                del rows[row]
            if not rows:
                del self._used[port.protocol, port.port]

    def conflicts(self, row: int, ports: Sequence[HostPort]) -> list[HostPort]:
        """Those of `ports` that cannot be had on the row."""
        found = []
        for port in ports:
            addresses = self._used.get((port.protocol, port.port), {}).get(row, {})
            if any(map(port.conflicts_with, addresses)):
                found.append(port)
        return found

    def rows_with_conflict(self, ports: Sequence[HostPort]) -> list[int]:
        rows = {row for port in ports for row in self._used.get((port.protocol, port.port), ())}
        return sorted(row for row in rows if self.conflicts(row, ports))
