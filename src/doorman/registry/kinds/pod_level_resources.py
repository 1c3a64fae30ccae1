"""What a pod as a whole asks for and is limited to: what it does not say follows from its containers."""

from fractions import Fraction
from typing import Any

from doorman.api.machinery.quantity import parse_quantity, quantity_text
from doorman.semantics.pods.pod_resources import is_pod_level_resource, is_written_in_binary, pod_amounts
from doorman.semantics.pods.resource_names import HUGE_PAGES_PREFIX, is_overcommit_allowed

_Json = dict[str, Any]  # a part of a document, changed in place


def default_pod_level_resources(spec: _Json) -> None:
    """Once all containers are known: huge pages, then requests, then limits."""
    resources = spec.get("resources")
    if not resources or not (resources.get("requests") or resources.get("limits")):
        return
    alone: _Json = {group: spec.get(group) or [] for group in ("initContainers", "containers")}
    limits_together = pod_amounts(alone, "limits")
    _default_huge_pages(resources, alone, limits_together)
    _default_requests(resources, alone)
    _default_limits(resources, alone, limits_together)


def _default_huge_pages(resources: _Json, alone: _Json, together: dict[str, Fraction]) -> None:
    limits = dict(resources.get("limits") or {})
    for name, amount in together.items():
        if name.startswith(HUGE_PAGES_PREFIX) and name not in (resources.get("requests") or {}):
            limits.setdefault(name, _written(amount, alone, name))
    if limits:
        resources["limits"] = limits


def _default_requests(resources: _Json, alone: _Json) -> None:
    requests = dict(resources.get("requests") or {})
    for name, amount in pod_amounts(alone, "requests").items():
        if is_pod_level_resource(name) and is_overcommit_allowed(name):
            requests.setdefault(name, _written(amount, alone, name))
    for name, quantity in (resources.get("limits") or {}).items():
        if is_pod_level_resource(name):
            requests.setdefault(name, quantity)
    if requests:
        resources["requests"] = requests


def _default_limits(resources: _Json, alone: _Json, together: dict[str, Fraction]) -> None:
    """Only of what every container is limited in."""
    limits = dict(resources.get("limits") or {})
    containers = [one for group in alone.values() for one in group]
    for name, asked in (resources.get("requests") or {}).items():
        if name in limits or not is_pod_level_resource(name) or name not in together:
            continue
        if all(name in ((one.get("resources") or {}).get("limits") or {}) for one in containers):
            is_more = parse_quantity(asked) > together[name]
            limits[name] = asked if is_more else _written(together[name], alone, name)
    if limits:
        resources["limits"] = limits


def _written(amount: Fraction, alone: _Json, name: str) -> str:
    return quantity_text(amount, is_binary=is_written_in_binary(alone, name))
