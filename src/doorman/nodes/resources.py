"""What a pod asks of its node, in whole numbers: processor time in thousandths, everything else in units."""

from collections.abc import Mapping
from typing import Final

from doorman.api.pods import Container, PodSpec
from doorman.api.quantity import milli_value, whole_value

Amounts = Mapping[str, int]

NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
"""In the order in which a kubelet checks them."""


def amount(resource: str, quantity: str) -> int:
    return milli_value(quantity) if resource == "cpu" else whole_value(quantity)


def amounts(quantities: Mapping[str, str]) -> dict[str, int]:
    return {resource: amount(resource, quantity) for resource, quantity in quantities.items()}


def pod_requests(spec: PodSpec) -> dict[str, int]:
    """The containers together, or more if an init container needs more; sidecars count with both; plus overhead.

    What is requested for the pod as a whole counts instead of the sum.
    """
    running = _sum(spec.containers)
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in spec.init_containers:
        own = amounts(container.resources.requests)
        if container.restart_policy == "Always":
            _add(sidecars, own)
            own = dict(sidecars)
        else:
            _add(own, sidecars)
        _raise_to(starting, own)
    _add(running, sidecars)
    _raise_to(running, starting)
    running.update(amounts(spec.resources.requests))
    _add(running, amounts(spec.overhead))
    return running


def _sum(containers: tuple[Container, ...]) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in containers:
        _add(total, amounts(container.resources.requests))
    return total


def _add(total: dict[str, int], more: Amounts) -> None:
    for resource, count in more.items():
        total[resource] = total.get(resource, 0) + count


def _raise_to(total: dict[str, int], other: Amounts) -> None:
    for resource, count in other.items():
        total[resource] = max(total.get(resource, 0), count)
