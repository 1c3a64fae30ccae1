"""What a pod asks for as a whole.

Rules
-----
1. Containers add up.
2. An init container with restartPolicy Always, a sidecar, runs on: it adds to the containers and to each init container
   after it.
3. Any other init container runs alone, beside those: the pod asks for the most of any moment, resource by resource.
4. Pod-level cpu, memory and huge pages, where set, stand in for the sum.
5. Overhead is added to requests, and to limits that exist.
6. Counted, cpu is in thousandths and everything else in units; fractions are rounded up, once, at the end. Beyond 2**55
   (32 pebibytes, a million million cores) amounts are cut, so that sums and percentages stay in 64 bits.
7. For scores a container that does not mention cpu (memory) counts as asking 100m (200Mi).
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from doorman.api.machinery.quantity import parse_quantity
from doorman.api.views.pods import Container, PodSpec
from doorman.semantics.pods.resource_names import HUGE_PAGES_PREFIX

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"

ASSUMED_REQUESTS: Final = {CPU: Fraction(1, 10), MEMORY: Fraction(200 * 2**20)}
"""Rule 7."""

AMOUNT_MAX: Final = 2**55

SIDECAR_POLICY: Final = "Always"

Amounts = dict[str, Fraction]
_NOTHING: Final = Fraction(0)


def pod_requests(spec: PodSpec) -> dict[str, int]:
    """Rules 1 to 6.

    >>> from doorman.api.views.pods import ResourceRequirements
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
    """Such as a node's allocatable, counted as in rule 6."""
    return _counted(_parsed(quantities))


def pod_amounts(spec: Mapping[str, Any], field: str) -> Amounts:  # a PodSpec as JSON; field is requests or limits
    """Rules 1 to 5.

    >>> pod_amounts({"containers": [{"resources": {"requests": {"cpu": "1"}}}] * 2}, "requests")
    {'cpu': Fraction(2, 1)}
    """
    total = _together(
        (_parsed(_resources(container, field)) for container in spec.get("containers") or ()),
        (
            (container.get("restartPolicy") == SIDECAR_POLICY, _parsed(_resources(container, field)))
            for container in spec.get("initContainers") or ()
        ),
        _resources(spec, field),
    )
    overhead = _parsed(spec.get("overhead") or {})
    _add(total, overhead if field == "requests" else {name: more for name, more in overhead.items() if name in total})
    return total


def is_pod_level_resource(name: str) -> bool:
    """Whether rule 4 knows it."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)


def is_written_in_binary(spec: Mapping[str, Any], name: str) -> bool:  # a PodSpec as JSON
    """A sum is written as the first amount in it is: `1Gi` or `1G`."""
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        amount = _resources(container, "requests").get(name)
        if amount is not None:
            return amount.endswith("i")
    return False


def is_sidecar(container: Container) -> bool:
    return container.restart_policy == SIDECAR_POLICY


def _requests(spec: PodSpec, assumed: Mapping[str, Fraction]) -> Amounts:
    total = _together(
        ({**assumed, **_parsed(container.resources.requests)} for container in spec.containers),
        (
            (is_sidecar(container), {**assumed, **_parsed(container.resources.requests)})
            for container in spec.init_containers
        ),
        spec.resources.requests,
    )
    _add(total, _parsed(spec.overhead))
    return total


def _together(
    containers: Iterable[Amounts], init_containers: Iterable[tuple[bool, Amounts]], whole: Mapping[str, str]
) -> Amounts:
    """Rules 1 to 4. Init containers come with whether they are sidecars, `whole` is what the pod says of itself."""
    total: Amounts = {}
    for asked in containers:
        _add(total, asked)
    most: Amounts = {}
    sidecars: Amounts = {}
    for runs_on, asked in init_containers:
        if runs_on:
            _add(total, asked)
            _add(sidecars, asked)
            _raise(most, sidecars)
        else:
            moment = dict(sidecars)
            _add(moment, asked)
            _raise(most, moment)
    _raise(total, most)
    for name, text in whole.items():
        if is_pod_level_resource(name):
            total[name] = parse_quantity(text)
    return total


def _resources(owner: Mapping[str, Any], field: str) -> Mapping[str, str]:  # a container or a PodSpec as JSON
    return (owner.get("resources") or {}).get(field) or {}


def _parsed(quantities: Mapping[str, str]) -> Amounts:
    return {name: parse_quantity(text) for name, text in quantities.items()}


def _add(total: Amounts, more: Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        # Adding fractions costs; most resources are mentioned once.
        total[name] = total[name] + amount if name in total else amount


def _raise(total: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        if amount > total.get(name, _NOTHING) or name not in total:
            total[name] = amount


def _counted(amounts: Mapping[str, Fraction]) -> dict[str, int]:
    return {
        name: min(-(-(amount.numerator * (1000 if name == CPU else 1)) // amount.denominator), AMOUNT_MAX)
        for name, amount in amounts.items()
    }
