"""HorizontalPodAutoscalers as kubectl describes them, always in version 2."""

from typing import Final

from doorman.cli.describe.description import UNSET, Description, Doc, date, member
from doorman.cli.describe.related_objects import RelatedObjects

_UNKNOWN: Final = "<unknown>"
_PATH: Final = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers/{}"


def describe_autoscaler(out: Description, doc: Doc, related: RelatedObjects) -> None:
    metadata = doc["metadata"]
    if doc["apiVersion"] != "autoscaling/v2":
        doc = related.get(_PATH.format(metadata["namespace"], metadata["name"]))
    spec, status = doc["spec"], doc.get("status") or {}
    target = spec["scaleTargetRef"]
    out.head(doc)
    out.pair("CreationTimestamp", date(metadata.get("creationTimestamp")))
    out.pair("Reference", f"{target['kind']}/{target['name']}")
    out.pair("Metrics", "( current / target )")
    current = status.get("currentMetrics") or []
    for number, metric in enumerate(spec.get("metrics") or ()):
        out.line(metric_text(metric, current[number] if number < len(current) else {}), 1)
    out.pair("Min replicas", spec.get("minReplicas", UNSET))
    out.pair("Max replicas", spec["maxReplicas"])
    if spec.get("behavior") is not None:
        out.line("Behavior:")
        for title, field in (("Scale Up", "scaleUp"), ("Scale Down", "scaleDown")):
            _describe_direction(out, title, spec["behavior"].get(field))
    counts = f"{status.get('currentReplicas') or 0} current / {status.get('desiredReplicas') or 0} desired"
    out.pair(f"{target['kind']} pods", counts)
    if status.get("conditions"):
        out.line("Conditions:")
        rows = [
            (one["type"], one["status"], one.get("reason", ""), one.get("message", "")) for one in status["conditions"]
        ]
        out.table(("Type", "Status", "Reason", "Message"), rows)


def metric_text(metric: Doc, known: Doc) -> str:
    """A metric, what it is now and what it should be. A resource's share is told with what it is a share of."""
    kind = str(metric["type"])
    field = kind[:1].lower() + kind[1:]
    source = metric.get(field) or {}
    target, now = source.get("target") or {}, member(known, field, "current") or {}
    match kind:
        case "Resource" | "ContainerResource":
            container = f' of container "{source["container"]}"' if kind == "ContainerResource" else ""
            name = f"resource {source['name']}{container} on pods"
            if target.get("averageValue") is not None:
                return f"{name}:\t{now.get('averageValue', _UNKNOWN)} / {target['averageValue']}"
            return f"{name}  (as a percentage of request):\t{_share(now)} / {_wanted_share(target)}"
        case "Pods":
            name, is_average, words = f'"{source["metric"]["name"]}" on pods', True, ""
        case "Object":
            described = source["describedObject"]
            name = f'"{source["metric"]["name"]}" on {described["kind"]}/{described["name"]}'
            is_average = target.get("type") == "AverageValue"
            words = " (target average value)" if is_average else " (target value)"
        case "External":
            name, is_average = f'"{source["metric"]["name"]}"', target.get("averageValue") is not None
            words = " (target average value)" if is_average else " (target value)"
        case _:
            return f'<unknown metric type "{kind}">'
    value = "averageValue" if is_average else "value"
    return f"{name}{words}:\t{now.get(value, _UNKNOWN)} / {target.get(value, '<nil>')}"


def _share(now: Doc) -> str:
    if now.get("averageUtilization") is None:
        return _UNKNOWN
    return f"{now['averageUtilization']}% ({now.get('averageValue', '<nil>')})"


def _wanted_share(target: Doc) -> str:
    wanted = target.get("averageUtilization")
    return "<auto>" if wanted is None else f"{wanted}%"


def _describe_direction(out: Description, title: str, rules: Doc | None) -> None:
    if rules is None:
        return
    out.line(f"{title}:", 1)
    if rules.get("stabilizationWindowSeconds") is not None:
        out.line(f"Stabilization Window: {rules['stabilizationWindowSeconds']} seconds", 2)
    if rules.get("policies"):
        out.line(f"Select Policy: {rules.get('selectPolicy', 'Max')}", 2)
        out.line("Policies:", 2)
        for policy in rules["policies"]:
            words = (
                f"- Type: {policy['type']}",
                f"Value: {policy['value']}",
                f"Period: {policy['periodSeconds']} seconds",
            )
            out.line("\t".join(words), 3)
