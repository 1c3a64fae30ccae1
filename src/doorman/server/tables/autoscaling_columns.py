"""The targets of an autoscaler, as `kubectl get hpa` shows them: what is and what should be, metric by metric."""

from typing import Any, Final

from doorman.base.json_types import Document
from doorman.server.tables.column import at

SHOWN_MAX: Final = 2
UNKNOWN: Final = "<unknown>"

_PLACES: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}

_Metric = dict[str, Any]  # a MetricSpec or MetricStatus


def metric_targets(doc: Document) -> str:
    specs: list[_Metric] = at(doc, "spec.metrics") or []
    statuses: list[_Metric] = at(doc, "status.currentMetrics") or []
    if not specs:
        return "<none>"
    shown = [
        _target(spec, statuses[index] if index < len(statuses) else {})
        for index, spec in enumerate(specs)
        if spec.get("type") in _PLACES
    ]
    if len(shown) > SHOWN_MAX:
        return f"{', '.join(shown[:SHOWN_MAX])} + {len(shown) - SHOWN_MAX} more..."
    return ", ".join(shown)


def _target(spec: _Metric, status: _Metric) -> str:
    kind = spec["type"]
    source = spec.get(_PLACES[kind]) or {}
    target = source.get("target") or {}
    current = (status.get(_PLACES[kind]) or {}).get("current") or {}
    if kind in ("Resource", "ContainerResource"):
        return f"{source.get('name', '')}: {_resource(target, current)}"
    if kind == "Pods":
        return f"{current.get('averageValue', UNKNOWN)}/{target.get('averageValue', '0')}"
    if target.get("averageValue") is not None:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']} (avg)"
    return f"{current.get('value', UNKNOWN)}/{target.get('value', '0')}"


def _resource(target: _Metric, current: _Metric) -> str:
    if target.get("averageValue") is not None:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']}"
    used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    return f"{UNKNOWN if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"
