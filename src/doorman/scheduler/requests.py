"""What a pod asks of a node: resources and host ports.

Rules
-----
1. Containers and sidecars (init containers that are restarted always) run together: their requests add up.
2. An ordinary init container runs beside the sidecars declared before it; the greatest such sum counts.
3. The pod's request is the greater of 1 and 2, resource by resource.
4. Requests of the pod as a whole replace cpu, memory and huge pages.
5. Overhead is added.
6. cpu is counted in thousandths, everything else in units; fractions are rounded up, once, at the end. Beyond
   2**55 (32 pebibytes, a million million cores) amounts are cut, so that sums and percentages stay in 64 bits.
7. For scores a container that does not mention cpu (memory) counts as asking 100m (200Mi).
8. Host ports are those of containers and sidecars.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

import msgspec

from doorman.api.pods import Container, PodSpec
from doorman.api.quantity import parse_quantity

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"

ASSUMED_REQUESTS: Final = {CPU: Fraction(1, 10), MEMORY: Fraction(200 * 2**20)}
"""Rule 7."""

AMOUNT_MAX: Final = 2**55

ANY_ADDRESS: Final = "0.0.0.0"


class HostPort(msgspec.Struct, frozen=True, order=True):
    protocol: str
    port: int
    address: str = ANY_ADDRESS

    def conflicts_with(self, address: str) -> bool:
        """Whether the same protocol and port on `address` cannot be had besides."""
        return self.address == ANY_ADDRESS or address in (ANY_ADDRESS, self.address)


def pod_requests(spec: PodSpec) -> dict[str, int]:
    """Rules 1 to 6.

    >>> from doorman.api.pods import ResourceRequirements
    >>> web = Container(resources=ResourceRequirements(requests={"cpu": "1500m", "memory": "1Gi"}))
    >>> pod_requests(PodSpec(containers=(web, web), overhead={"cpu": "250m"}))
    {'cpu': 3250, 'memory': 2147483648}
    """
    return _counted(_requests(spec, {}))


def scoring_requests(spec: PodSpec) -> tuple[int, int]:
    """Rule 7: cpu and memory as scores see them.

    >>> scoring_requests(PodSpec(containers=(Container(),)))
    (100, 209715200)
    """
    counted = _counted(_requests(spec, ASSUMED_REQUESTS))
    return counted.get(CPU, 0), counted.get(MEMORY, 0)


def counted_quantities(quantities: Mapping[str, str]) -> dict[str, int]:
    """A node's allocatable, counted as in rule 6."""
    return _counted({name: parse_quantity(text) for name, text in quantities.items()})


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Rule 8, without doubles, in order."""
    running = (*spec.containers, *filter(is_sidecar, spec.init_containers))
    found = {
        HostPort(port.protocol or "TCP", port.host_port, port.host_ip or ANY_ADDRESS)
        for container in running
        for port in container.ports
        if port.host_port > 0
    }
    return tuple(sorted(found))


def is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _requests(spec: PodSpec, assumed: Mapping[str, Fraction]) -> dict[str, Fraction]:
    together = _sum(_of(container, assumed) for container in spec.containers)
    sidecars: dict[str, Fraction] = {}
    highest: dict[str, Fraction] = {}
    for container in spec.init_containers:
        asked = _of(container, assumed)
        if is_sidecar(container):
            sidecars = _sum((sidecars, asked))
            together = _sum((together, asked))
            beside = sidecars
        else:
            beside = _sum((sidecars, asked))
        highest = _greatest(highest, beside)
    total = _greatest(together, highest)
    for name, text in spec.resources.requests.items():
        if name in (CPU, MEMORY) or name.startswith("hugepages-"):
            total[name] = parse_quantity(text)
    return _sum((total, {name: parse_quantity(text) for name, text in spec.overhead.items()}))


def _of(container: Container, assumed: Mapping[str, Fraction]) -> dict[str, Fraction]:
    asked = {name: parse_quantity(text) for name, text in container.resources.requests.items()}
    for name, amount in assumed.items():
        asked.setdefault(name, amount)
    return asked


def _sum(parts: Iterable[Mapping[str, Fraction]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total[name] + amount if name in total else amount
    return total


def _greatest(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> dict[str, Fraction]:
    both = dict(one)
    for name, amount in other.items():
        if name not in both or amount > both[name]:
            both[name] = amount
    return both


def _counted(quantities: Mapping[str, Fraction]) -> dict[str, int]:
    return {
        name: min(-(-(amount.numerator * (1000 if name == CPU else 1)) // amount.denominator), AMOUNT_MAX)
        for name, amount in quantities.items()
    }
