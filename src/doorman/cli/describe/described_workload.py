"""Workloads, and what guards or ranks their pods, as kubectl describes them: Deployments, ReplicaSets, DaemonSets,
PodDisruptionBudgets, PriorityClasses.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.machinery.label_selectors import format_selector
from doorman.api.views.meta import LabelSelector
from doorman.api.well_known import POD_TEMPLATE_HASH_LABEL
from doorman.cli.describe.described_container import describe_containers
from doorman.cli.describe.described_pod import describe_spread, toleration_text
from doorman.cli.describe.described_volume import describe_volumes
from doorman.cli.describe.description import Description, date

Doc = Mapping[str, Any]
_SPACE: Final = "  "
"""A template's parts stand two spaces further in, but what is below them does not."""


def describe_deployment(out: Description, doc: Doc, owned: Sequence[Doc]) -> None:
    spec, status = doc["spec"], doc.get("status") or {}
    _describe_name(out, doc)
    out.pair("CreationTimestamp", date(doc["metadata"].get("creationTimestamp")))
    _describe_labels(out, doc)
    out.pair("Selector", _selector(spec))
    names = ("updatedReplicas", "replicas", "availableReplicas", "unavailableReplicas")
    updated, total, available, missing = (status.get(name) or 0 for name in names)
    counts = f"{updated} updated | {total} total | {available} available | {missing} unavailable"
    out.pair("Replicas", f"{spec.get('replicas', 1)} desired | {counts}")
    strategy = spec.get("strategy") or {}
    out.pair("StrategyType", strategy.get("type", ""))
    out.pair("MinReadySeconds", spec.get("minReadySeconds") or 0)
    rolling = strategy.get("rollingUpdate")
    if rolling is not None:
        text = f"{rolling.get('maxUnavailable')} max unavailable, {rolling.get('maxSurge')} max surge"
        out.pair("RollingUpdateStrategy", text)
    _describe_template(out, spec["template"])
    _describe_conditions(out, status)
    if owned:
        in_turn = sorted(owned, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))
        new = next((one for one in in_turn if _template_of(one) == _template_of(doc)), None)
        out.pair("OldReplicaSets", ", ".join(_replica_set(one) for one in in_turn if one is not new) or "<none>")
        out.pair("NewReplicaSet", _replica_set(new) if new is not None else "<none>")


def describe_replica_set(out: Description, doc: Doc, owned: Sequence[Doc]) -> None:
    spec, status = doc["spec"], doc.get("status") or {}
    _describe_name(out, doc)
    out.pair("Selector", _selector(spec))
    _describe_labels(out, doc)
    owner = next((one for one in doc["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    if owner is not None:
        out.pair("Controlled By", f"{owner['kind']}/{owner['name']}")
    out.pair("Replicas", f"{status.get('replicas') or 0} current / {spec.get('replicas', 1)} desired")
    out.pair("Pods Status", _phases(owned))
    _describe_template(out, spec["template"])
    _describe_conditions(out, status)


def describe_daemon_set(out: Description, doc: Doc, owned: Sequence[Doc]) -> None:
    spec, status = doc["spec"], doc.get("status") or {}
    _describe_name(out, doc)
    out.pair("Selector", _selector(spec))
    out.pair("Node-Selector", _labels_text(spec["template"].get("spec", {}).get("nodeSelector")))
    _describe_labels(out, doc)
    for title, field in (
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ):
        out.line(f"{title}: {status.get(field) or 0}")
    out.pair("Pods Status", _phases(owned))
    _describe_template(out, spec["template"])


def describe_disruption_budget(out: Description, doc: Doc, _owned: Sequence[Doc]) -> None:
    spec, status = doc["spec"], doc.get("status") or {}
    _describe_name(out, doc)
    for title, field in (("Min available", "minAvailable"), ("Max unavailable", "maxUnavailable")):
        if spec.get(field) is not None:
            out.pair(title, spec[field])
    out.pair("Selector", _selector(spec) if spec.get("selector") is not None else "<unset>")
    out.line("Status:")
    for title, field in (
        ("Allowed disruptions", "disruptionsAllowed"), ("Current", "currentHealthy"), ("Desired", "desiredHealthy"),
        ("Total", "expectedPods"),
    ):  # fmt: skip
        out.pair(title, status.get(field) or 0, 2)


def describe_priority_class(out: Description, doc: Doc, _owned: Sequence[Doc]) -> None:
    out.pair("Name", doc["metadata"]["name"])
    out.pair("Value", doc.get("value", 0))
    out.pair("GlobalDefault", "true" if doc.get("globalDefault") else "false")
    out.pair("PreemptionPolicy", doc.get("preemptionPolicy", ""))
    out.pair("Description", doc.get("description", ""))
    out.pair("Annotations", _labels_text(doc["metadata"].get("annotations")))


DESCRIBERS: Final[Mapping[tuple[str, str], tuple[str, Callable[[Description, Doc, Sequence[Doc]], None]]]] = {
    ("apps", "Deployment"): ("/apis/apps/v1/namespaces/{}/replicasets", describe_deployment),
    ("apps", "ReplicaSet"): ("/api/v1/namespaces/{}/pods", describe_replica_set),
    ("apps", "DaemonSet"): ("/api/v1/namespaces/{}/pods", describe_daemon_set),
    ("policy", "PodDisruptionBudget"): ("", describe_disruption_budget),
    ("scheduling.k8s.io", "PriorityClass"): ("", describe_priority_class),
}
"""By group and kind: where the objects are that it owns, and how it is described with those."""


def _describe_name(out: Description, doc: Doc) -> None:
    out.pair("Name", doc["metadata"]["name"])
    out.pair("Namespace", doc["metadata"].get("namespace", ""))


def _describe_labels(out: Description, doc: Doc) -> None:
    out.labels("Labels", doc["metadata"].get("labels"))
    out.annotations(doc["metadata"].get("annotations"))


def _describe_template(out: Description, template: Doc) -> None:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    out.line("Pod Template:")
    out.labels(f"{_SPACE}Labels", metadata.get("labels"))
    if metadata.get("annotations"):
        out.annotations(metadata["annotations"], f"{_SPACE}Annotations")
    if spec.get("serviceAccountName"):
        out.pair("Service Account", spec["serviceAccountName"], 1)
    for title, field in (("Init Containers", "initContainers"), ("Containers", "containers")):
        if spec.get(field):
            describe_containers(out, f"{_SPACE}{title}", spec[field], (), None, name_indent=" ")
    describe_volumes(out, spec.get("volumes") or (), _SPACE)
    describe_spread(out, spec, _SPACE)
    if spec.get("priorityClassName"):
        out.pair("Priority Class Name", spec["priorityClassName"], 1)
    out.labels(f"{_SPACE}Node-Selectors", spec.get("nodeSelector"))
    tolerations = sorted(spec.get("tolerations") or (), key=lambda one: str(one.get("key", "")))
    out.several(f"{_SPACE}Tolerations", [toleration_text(one) for one in tolerations])


def _describe_conditions(out: Description, status: Doc) -> None:
    if status.get("conditions"):
        out.line("Conditions:\n  Type\tStatus\tReason")
        out.line("----\t------\t------", 1)
        for one in status["conditions"]:
            out.line(f"{one['type']} \t{one['status']}\t{one.get('reason', '')}", 1)


def _selector(spec: Doc) -> str:
    return format_selector(msgspec.convert(spec.get("selector"), LabelSelector | None))


def _labels_text(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "<none>"


def _phases(pods: Sequence[Doc]) -> str:
    found = Counter((pod.get("status") or {}).get("phase") for pod in pods)
    waiting = found["Pending"]
    return f"{found['Running']} Running / {waiting} Waiting / {found['Succeeded']} Succeeded / {found['Failed']} Failed"


def _template_of(doc: Doc) -> Doc:
    """Without the label by which ReplicaSets of one Deployment are told apart."""
    template = doc["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != POD_TEMPLATE_HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _replica_set(doc: Doc) -> str:
    created, wanted = (doc.get("status") or {}).get("replicas") or 0, doc["spec"].get("replicas", 1)
    return f"{doc['metadata']['name']} ({created}/{wanted} replicas created)"
