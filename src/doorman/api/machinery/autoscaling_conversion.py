"""Autoscalers have two versions, autoscaling/v1 and v2. Stored is v2.

v1 knows one target, the use of CPU. What else there is travels in annotations, in forms that are older than v2: so
a client that reads v1, changes it and writes it back loses nothing.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from doorman.base.go_format import go_json
from doorman.base.json_types import Document, Json

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
METRICS: Final = _PREFIX + "metrics"
CURRENT_METRICS: Final = _PREFIX + "current-metrics"
BEHAVIOR: Final = _PREFIX + "behavior"
CONDITIONS: Final = _PREFIX + "conditions"
_ANNOTATIONS: Final = (METRICS, CURRENT_METRICS, BEHAVIOR, CONDITIONS)

_BEHAVIOR_NAMES: Final = (
    "scaleUp", "scaleDown", "stabilizationWindowSeconds", "selectPolicy", "policies", "type", "value", "periodSeconds",
    "tolerance",
)  # fmt: skip
_RULES: Final = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY: Final = ("type", "value", "periodSeconds")
_REFERENCE: Final = ("kind", "name", "apiVersion")
_CONDITION: Final = ("type", "status", "lastTransitionTime", "reason", "message")
_OLD_METRIC: Final = (
    "target", "name", "metricName", "metricSelector", "targetAverageUtilization", "currentAverageUtilization",
    "targetValue", "currentValue", "targetAverageValue", "currentAverageValue", "selector", "averageValue", "container",
)  # fmt: skip
"""In which order annotations have members: clients compare their texts."""
_BY_LOWER: Final = {name.lower(): name for name in _BEHAVIOR_NAMES}


def to_autoscaling_v1(doc: Document) -> Document:
    """v2 as v1 shows it."""
    out = dict(doc)
    notes: dict[str, str] = {}
    spec, status = doc.get("spec"), doc.get("status")
    if isinstance(spec, dict):
        shown = {name: value for name, value in spec.items() if name not in ("metrics", "behavior")}
        others = []
        for metric in spec.get("metrics") or ():
            use = _cpu_use(metric, "target")
            if use is not None:
                shown.setdefault("targetCPUUtilizationPercentage", use)
            else:
                others.append(_old_metric(metric))
        if others:
            notes[METRICS] = _text(others)
        if spec.get("behavior"):
            notes[BEHAVIOR] = _text(_old_behavior(spec["behavior"]))
        out["spec"] = shown
    if isinstance(status, dict):
        seen = {name: value for name, value in status.items() if name not in ("currentMetrics", "conditions")}
        for metric in status.get("currentMetrics") or ():
            use = _cpu_use(metric, "current")
            if use is not None:
                seen.setdefault("currentCPUUtilizationPercentage", use)
        if status.get("currentMetrics"):
            notes[CURRENT_METRICS] = _text([_old_current(metric) for metric in status["currentMetrics"]])
        if status.get("conditions"):
            notes[CONDITIONS] = _text([_in_order(condition, _CONDITION) for condition in status["conditions"]])
        seen.setdefault("currentReplicas", 0)
        out["status"] = seen
    if notes:
        metadata = doc.get("metadata") or {}
        out["metadata"] = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **notes}}
    return out


def to_autoscaling_v2(doc: Document) -> Document:
    """v1 as it is stored. A note that cannot be read is left out."""
    out = dict(doc)
    metadata = doc.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    notes = {name: _read(annotations[name]) for name in _ANNOTATIONS if name in annotations}
    if notes:
        kept = {name: value for name, value in annotations.items() if name not in _ANNOTATIONS}
        out["metadata"] = {name: value for name, value in metadata.items() if name != "annotations"}
        if kept:
            out["metadata"]["annotations"] = kept
    spec, status = doc.get("spec"), doc.get("status")
    if isinstance(spec, dict):
        stored = {name: value for name, value in spec.items() if name != "targetCPUUtilizationPercentage"}
        metrics = [_new_metric(metric) for metric in _dicts(notes.get(METRICS))]
        if "targetCPUUtilizationPercentage" in spec:
            target = {"type": "Utilization", "averageUtilization": spec["targetCPUUtilizationPercentage"]}
            metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
        if metrics:
            stored["metrics"] = metrics
        if isinstance(notes.get(BEHAVIOR), dict):
            stored["behavior"] = _new_behavior(notes[BEHAVIOR])
        out["spec"] = stored
    if isinstance(status, dict):
        seen = {name: value for name, value in status.items() if name != "currentCPUUtilizationPercentage"}
        current = [_new_current(metric) for metric in _dicts(notes.get(CURRENT_METRICS))]
        if not current and "currentCPUUtilizationPercentage" in status:
            use = {"averageUtilization": status["currentCPUUtilizationPercentage"]}
            current = [{"type": "Resource", "resource": {"name": "cpu", "current": use}}]
        if current:
            seen["currentMetrics"] = current
        conditions = _dicts(notes.get(CONDITIONS))
        if conditions:
            seen["conditions"] = conditions
        out["status"] = seen
    return out


def _cpu_use(metric: Document, member: str) -> int | None:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    use: int | None = (resource.get(member) or {}).get("averageUtilization")
    return use


_OLD_NAMES: Final = {
    "Resource": ("resource", ("averageUtilization", "averageValue")),
    "ContainerResource": ("containerResource", ("averageUtilization", "averageValue")),
    "Pods": ("pods", ("averageValue",)),
    "Object": ("object", ("value", "averageValue")),
    "External": ("external", ("value", "averageValue")),
}
"""Where each type of metric keeps itself, and which values its target may have."""


def _old_metric(metric: Document) -> Document:
    """A metric of v2 in the form the annotation has."""
    return _to_old(metric, "target")


def _old_current(metric: Document) -> Document:
    return _to_old(metric, "current")


def _parts(metric: Document) -> tuple[str, str, tuple[str, ...], Document] | None:
    """Type, place, possible values and source of a metric; None when it is of no known type."""
    kind = metric.get("type", "")
    known = _OLD_NAMES.get(kind)
    if known is None or not isinstance(metric.get(known[0]), dict):
        return None
    place, values = known
    return kind, place, values, metric[place]


def _to_old(metric: Document, member: str) -> Document:
    if (found := _parts(metric)) is None:
        return metric
    kind, place, values, source = found
    out: Document = {name: source[name] for name in ("name", "container") if name in source}
    if "describedObject" in source:
        out["target"] = _in_order(source["describedObject"], _REFERENCE)
    if isinstance(source.get("metric"), dict):
        out["metricName"] = source["metric"].get("name", "")
        if "selector" in source["metric"]:
            out["metricSelector" if kind == "External" else "selector"] = _old_selector(source["metric"]["selector"])
    given = source.get(member) or {}
    for value in values:
        if value in given:
            out[_old_value(kind, value, member)] = given[value]
    return {"type": kind, place: _in_order(out, _OLD_METRIC)}


def _in_order(value: Json, names: Sequence[str]) -> Json:
    return {name: value[name] for name in names if name in value} if isinstance(value, dict) else value


def _old_selector(selector: Json) -> Json:
    shown = _in_order(selector, ("matchLabels", "matchExpressions"))
    if isinstance(shown, dict) and isinstance(labels := shown.get("matchLabels"), dict):
        shown["matchLabels"] = {name: labels[name] for name in sorted(labels)}
    return shown


def _old_behavior(behavior: Document) -> Document:
    """As servers have it inside: with names of their own, and null for what is not there."""
    return {_capital(name): _old_rules(behavior.get(name)) for name in ("scaleUp", "scaleDown")}


def _old_rules(rules: Document | None) -> Document | None:
    if rules is None:
        return None
    policies = rules.get("policies")
    if policies is not None:
        policies = [{_capital(name): policy.get(name) for name in _POLICY} for policy in policies]
    return {_capital(name): policies if name == "policies" else rules.get(name) for name in _RULES}


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _old_value(kind: str, value: str, prefix: str) -> str:
    """
    >>> _old_value("Resource", "averageUtilization", "target"), _old_value("Object", "averageValue", "target")
    ('targetAverageUtilization', 'averageValue')
    """
    if kind == "Object" and value == "averageValue":
        return value
    return prefix + value[:1].upper() + value[1:]


def _new_metric(metric: Document) -> Document:
    return _to_new(metric, "target")


def _new_current(metric: Document) -> Document:
    return _to_new(metric, "current")


def _to_new(metric: Document, member: str) -> Document:
    if (found := _parts(metric)) is None:
        return metric
    kind, place, values, source = found
    out: Document = {name: source[name] for name in ("name", "container") if name in source}
    if kind == "Object" and isinstance(source.get("target"), dict):
        out["describedObject"] = source["target"]
    if "metricName" in source:
        out["metric"] = {"name": source["metricName"]}
        selector = source.get("metricSelector") or source.get("selector")
        if selector:
            out["metric"]["selector"] = selector
    given = {
        value: source[_old_value(kind, value, member)] for value in values if _old_value(kind, value, member) in source
    }
    if member == "target":
        given = {"type": _target_type(given), **given}
    out[member] = given
    return {"type": kind, place: out}


def _target_type(given: Document) -> str:
    if "averageUtilization" in given:
        return "Utilization"
    return "AverageValue" if "averageValue" in given else "Value"


def _new_behavior(value: Json) -> Json:
    """The same read again, whatever case its names are in."""
    if isinstance(value, dict):
        known = ((_BY_LOWER.get(name.lower(), name), member) for name, member in value.items() if member is not None)
        return {name: _new_behavior(member) for name, member in known}
    return [_new_behavior(item) for item in value] if isinstance(value, list) else value


def _dicts(value: Json) -> list[Document]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Json) -> str:
    return go_json(value)


def _read(text: Json) -> Json:
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else None
    except msgspec.DecodeError:
        return None
