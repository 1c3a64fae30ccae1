"""What a pod asks for as a whole, from its document.

Rules
-----
1. Containers add up.
2. An init container with restartPolicy Always runs on: it adds to the containers and to each init container after it.
3. Any other init container runs alone, beside those: the pod asks for the most of any moment.
4. Pod-level resources, where set, stand in for the sum of what they name.
5. Overhead is added to requests, and to limits that exist.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from doorman.api.quantity import parse_quantity

Amounts = dict[str, Fraction]


def pod_amounts(spec: Mapping[str, Any], field: str) -> Amounts:  # a PodSpec as JSON; field is requests or limits
    """
    >>> pod_amounts({"containers": [{"resources": {"requests": {"cpu": "1"}}}] * 2}, "requests")
    {'cpu': Fraction(2, 1)}
    """
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, field))
    peak: Amounts = {}
    running: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _amounts(container, field)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(running, own)
            _raise(peak, running)
        else:
            moment = dict(running)
            _add(moment, own)
            _raise(peak, moment)
    _raise(total, peak)
    for name, quantity in ((spec.get("resources") or {}).get(field) or {}).items():
        total[name] = parse_quantity(quantity)
    for name, quantity in (spec.get("overhead") or {}).items():
        if field == "requests" or name in total:
            total[name] = total.get(name, Fraction(0)) + parse_quantity(quantity)
    return total


def _amounts(container: Mapping[str, Any], field: str) -> Amounts:
    found = (container.get("resources") or {}).get(field) or {}
    return {name: parse_quantity(quantity) for name, quantity in found.items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def _raise(total: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        if amount > total.get(name, Fraction(0)) or name not in total:
            total[name] = amount
