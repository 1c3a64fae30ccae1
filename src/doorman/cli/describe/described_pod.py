"""A pod as kubectl describes it."""

from collections.abc import Mapping
from typing import Any

from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.instants import from_time
from doorman.cli.describe.described_container import describe_containers, describe_resources, describe_seccomp
from doorman.cli.describe.described_volume import describe_volumes
from doorman.cli.describe.description import Description, Doc, date, selector_text
from doorman.cli.describe.related_objects import RelatedObjects


def describe_pod(out: Description, pod: Doc, related: RelatedObjects) -> None:
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    out.pair("Name", metadata["name"])
    out.pair("Namespace", metadata.get("namespace", ""))
    if spec.get("priority") is not None:
        out.pair("Priority", spec["priority"])
    for name, field in (("Priority Class Name", "priorityClassName"), ("Runtime Class Name", "runtimeClassName")):
        if spec.get(field):
            out.pair(name, spec[field])
    if spec.get("serviceAccountName"):
        out.pair("Service Account", spec["serviceAccountName"])
    out.pair("Node", f"{spec['nodeName']}/{status.get('hostIP', '')}" if spec.get("nodeName") else "<none>")
    if status.get("startTime"):
        out.pair("Start Time", date(status["startTime"]))
    out.labels("Labels", metadata.get("labels"))
    out.annotations(metadata.get("annotations"))
    _describe_phase(out, metadata, status, related.now())
    describe_seccomp(out, spec, 0)
    _describe_addresses(out, metadata, status)
    if spec.get("resources") is not None:
        out.line("Resources:")
        describe_resources(out, spec["resources"], 1)
    for title, field, known in (
        ("Init Containers", "initContainers", "initContainerStatuses"),
        ("Containers", "containers", "containerStatuses"),
        ("Ephemeral Containers", "ephemeralContainers", "ephemeralContainerStatuses"),
    ):
        if spec.get(field):
            describe_containers(out, title, spec[field], status.get(known) or (), pod)
    _describe_conditions(out, spec, status)
    describe_volumes(out, spec.get("volumes") or ())
    if status.get("qosClass"):
        out.pair("QoS Class", status["qosClass"])
    out.labels("Node-Selectors", spec.get("nodeSelector"))
    tolerations = sorted(spec.get("tolerations") or (), key=lambda one: str(one.get("key", "")))
    out.several("Tolerations", [toleration_text(one) for one in tolerations])
    describe_spread(out, spec)
    describe_scheduling_group(out, spec)


def describe_scheduling_group(out: Description, spec: Doc, space: str = "") -> None:
    group = spec.get("schedulingGroup")
    if group is not None:
        out.line(f"{space}SchedulingGroup:")
        out.pair("PodGroupName", group.get("podGroupName", ""), 1)


def toleration_text(toleration: Mapping[str, Any]) -> str:
    """
    >>> toleration_text({"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 30})
    'k=v:NoExecute for 30s'
    >>> toleration_text({"operator": "Exists"})
    'op=Exists'
    """
    text = str(toleration.get("key", ""))
    if toleration.get("value"):
        text += f"={toleration['value']}"
    if toleration.get("effect"):
        text += f":{toleration['effect']}"
    operator = toleration.get("operator", "")
    if operator == "Exists" and not toleration.get("value"):
        text += " op=Exists" if text else "op=Exists"
    elif operator in ("Gt", "Lt"):
        text += f" op={operator}"
    if toleration.get("tolerationSeconds") is not None:
        text += f" for {toleration['tolerationSeconds']}s"
    return text


def _describe_phase(out: Description, metadata: Mapping[str, Any], status: Mapping[str, Any], now: Instant) -> None:
    if metadata.get("deletionTimestamp") and status.get("phase") not in ("Failed", "Succeeded"):
        lasts = human_span(now - from_time(metadata["deletionTimestamp"]))
        out.pair("Status", f"Terminating (lasts {lasts})")
        out.pair("Termination Grace Period", f"{metadata.get('deletionGracePeriodSeconds', 0)}s")
    else:
        out.pair("Status", status.get("phase", ""))
    for name, field in (("Reason", "reason"), ("Message", "message")):
        if status.get(field):
            out.pair(name, status[field])


def _describe_addresses(out: Description, metadata: Mapping[str, Any], status: Mapping[str, Any]) -> None:
    out.pair("IP", status.get("podIP", ""))
    if status.get("podIPs"):
        out.line("IPs:")
        for address in status["podIPs"]:
            out.pair("IP", address.get("ip", ""), 1)
    else:
        out.pair("IPs", "<none>")
    owner = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
    if owner is not None:
        out.pair("Controlled By", f"{owner['kind']}/{owner['name']}")
    if status.get("nominatedNodeName"):
        out.pair("NominatedNodeName", status["nominatedNodeName"])


def _describe_conditions(out: Description, spec: Mapping[str, Any], status: Mapping[str, Any]) -> None:
    conditions = status.get("conditions") or ()
    if spec.get("readinessGates"):
        known = {one["type"]: one["status"] for one in conditions}
        out.line("Readiness Gates:\n  Type\tStatus")
        for gate in spec["readinessGates"]:
            out.line(f"{gate['conditionType']} \t{known.get(gate['conditionType'], '<none>')} ", 1)
    if conditions:
        out.line("Conditions:\n  Type\tStatus")
        for one in conditions:
            out.line(f"{one['type']} \t{one['status']} ", 1)


def describe_spread(out: Description, spec: Mapping[str, Any], space: str = "") -> None:
    constraints = []
    for one in sorted(spec.get("topologySpreadConstraints") or (), key=lambda one: str(one["topologyKey"])):
        text = f"{one['topologyKey']}:{one['whenUnsatisfiable']} when max skew {one['maxSkew']} is exceeded"
        if one.get("labelSelector") is not None:
            text += f" for selector {selector_text(one['labelSelector'])}"
        constraints.append(text)
    if constraints:
        out.several(f"{space}Topology Spread Constraints", constraints)
