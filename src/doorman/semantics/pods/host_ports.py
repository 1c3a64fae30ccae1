"""The ports of its host that a pod wants, and who stands in whose way.

Rules
-----
1. Containers and sidecars count; other init containers do not. Nothing said of the protocol is TCP.
2. Two wishes conflict when protocol and port are the same, and the address is the same or one wants every address.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from doorman.api.views.pods import PodSpec
from doorman.semantics.pods.pod_resources import is_sidecar

ANY_ADDRESS: Final = "0.0.0.0"


class HostPort(msgspec.Struct, frozen=True, order=True):
    protocol: str
    port: int
    address: str = ANY_ADDRESS

    def conflicts_with(self, address: str) -> bool:
        """Whether the same protocol and port on `address` cannot be had besides: rule 2."""
        return self.address == ANY_ADDRESS or address in (ANY_ADDRESS, self.address)


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Rule 1, without doubles, in order."""
    running = (*spec.containers, *filter(is_sidecar, spec.init_containers))
    found = {
        HostPort(port.protocol or "TCP", port.host_port, port.host_ip or ANY_ADDRESS)
        for container in running
        for port in container.ports
        if port.host_port > 0
    }
    return tuple(sorted(found))


def do_conflict(wanted: Sequence[HostPort], held: Iterable[HostPort]) -> bool:
    """Rule 2."""
    return bool(wanted) and any(
        one.protocol == other.protocol and one.port == other.port and one.conflicts_with(other.address)
        for other in held
        for one in wanted
    )
