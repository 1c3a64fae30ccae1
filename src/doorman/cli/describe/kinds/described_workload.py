"""Workloads, and what guards or ranks their pods, as kubectl describes them: Deployments, ReplicaSets, DaemonSets,
StatefulSets, ReplicationControllers, PodDisruptionBudgets, PriorityClasses.
"""

from collections.abc import Sequence
from typing import Final

from doorman.api.well_known import POD_TEMPLATE_HASH_LABEL
from doorman.cli.describe.described_claim import storage_class_of
from doorman.cli.describe.description import (
    NOTHING,
    UNSET,
    Description,
    Doc,
    Line,
    date,
    go_list,
    labels_text,
    member,
    selector_text,
)
from doorman.cli.describe.kinds.described_template import (
    describe_owner,
    describe_template,
    phases_text,
    set_selector_text,
)
from doorman.cli.describe.related_objects import RelatedObjects

_PODS: Final = "/api/v1/namespaces/{}/pods"
_REPLICA_SETS: Final = "/apis/apps/v1/namespaces/{}/replicasets"


_UPDATE_STRATEGY: Final = (
    Line("Update Strategy", "updateStrategy.type", absent=""),
    Line("Partition", "updateStrategy.rollingUpdate.partition", level=1),
    Line("MaxUnavailable", "updateStrategy.rollingUpdate.maxUnavailable", level=1),
)
_CLAIM_RETENTION: Final = (
    Line("WhenDeleted", "whenDeleted", absent="", level=1),
    Line("WhenScaled", "whenScaled", absent="", level=1),
)
_BUDGET: Final = (
    Line("Min available", "spec.minAvailable"),
    Line("Max unavailable", "spec.maxUnavailable"),
    Line("Selector", "spec.selector", selector_text, absent=UNSET),
)
_BUDGET_STATUS: Final = (
    Line("Allowed disruptions", "disruptionsAllowed", absent="0", level=2),
    Line("Current", "currentHealthy", absent="0", level=2),
    Line("Desired", "desiredHealthy", absent="0", level=2),
    Line("Total", "expectedPods", absent="0", level=2),
)


def describe_deployment(out: Description, doc: Doc, related: RelatedObjects) -> None:
    owned = related.owned(_REPLICA_SETS, doc)
    spec, status = doc["spec"], doc.get("status") or {}
    _describe_name(out, doc)
    out.pair("CreationTimestamp", date(doc["metadata"].get("creationTimestamp")))
    _describe_labels(out, doc)
    out.pair("Selector", selector_text(spec.get("selector")))
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
    describe_template(out, spec["template"])
    _describe_conditions(out, status)
    if owned:
        in_turn = sorted(owned, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))
        new = next((one for one in in_turn if _template_of(one) == _template_of(doc)), None)
        out.pair("OldReplicaSets", ", ".join(_replica_set(one) for one in in_turn if one is not new) or "<none>")
        out.pair("NewReplicaSet", _replica_set(new) if new is not None else "<none>")


def describe_replica_set(out: Description, doc: Doc, related: RelatedObjects) -> None:
    spec, status = doc["spec"], doc.get("status") or {}
    _describe_name(out, doc)
    out.pair("Selector", selector_text(spec.get("selector")))
    _describe_labels(out, doc)
    describe_owner(out, doc)
    out.pair("Replicas", f"{status.get('replicas') or 0} current / {spec.get('replicas', 1)} desired")
    out.pair("Pods Status", phases_text(related.owned(_PODS, doc)))
    describe_template(out, spec["template"])
    _describe_conditions(out, status)


def describe_daemon_set(out: Description, doc: Doc, related: RelatedObjects) -> None:
    spec, status = doc["spec"], doc.get("status") or {}
    _describe_name(out, doc)
    out.pair("Selector", selector_text(spec.get("selector")))
    out.pair("Node-Selector", labels_text(spec["template"].get("spec", {}).get("nodeSelector")))
    _describe_labels(out, doc)
    for title, field in (
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ):
        out.line(f"{title}: {status.get(field) or 0}")
    out.pair("Pods Status", phases_text(related.owned(_PODS, doc)))
    describe_template(out, spec["template"])


def describe_stateful_set(out: Description, doc: Doc, related: RelatedObjects) -> None:
    spec = doc["spec"]
    _describe_name(out, doc)
    out.pair("CreationTimestamp", date(doc["metadata"].get("creationTimestamp")))
    out.pair("Selector", set_selector_text(spec.get("selector")))
    _describe_labels(out, doc)
    for title, field in (("Service Name", "serviceName"), ("Pod Management Policy", "podManagementPolicy")):
        if spec.get(field):
            out.pair(title, spec[field])
    out.pair("Replicas", f"{spec.get('replicas', 1)} desired | {member(doc, 'status', 'replicas') or 0} total")
    out.lines(spec, _UPDATE_STRATEGY)
    if spec.get("persistentVolumeClaimRetentionPolicy") is not None:
        out.line("Persistent Volume Claim Retention Policy:")
        out.lines(spec["persistentVolumeClaimRetentionPolicy"], _CLAIM_RETENTION)
    out.pair("Pods Status", phases_text(related.owned(_PODS, doc)))
    describe_template(out, spec["template"])
    _describe_claim_templates(out, spec.get("volumeClaimTemplates") or ())


def describe_replication_controller(out: Description, doc: Doc, related: RelatedObjects) -> None:
    spec, status = doc["spec"], doc.get("status") or {}
    _describe_name(out, doc)
    out.pair("Selector", labels_text(spec.get("selector")))
    _describe_labels(out, doc)
    out.pair("Replicas", f"{status.get('replicas') or 0} current / {spec.get('replicas', 1)} desired")
    out.pair("Pods Status", phases_text(related.owned(_PODS, doc)))
    describe_template(out, spec["template"])
    _describe_conditions(out, status)


def describe_disruption_budget(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    _describe_name(out, doc)
    out.lines(doc, _BUDGET)
    out.line("Status:")
    out.lines(doc.get("status") or {}, _BUDGET_STATUS)


def describe_priority_class(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.pair("Name", doc["metadata"]["name"])
    out.pair("Value", doc.get("value", 0))
    out.pair("GlobalDefault", "true" if doc.get("globalDefault") else "false")
    out.pair("PreemptionPolicy", doc.get("preemptionPolicy", ""))
    out.pair("Description", doc.get("description", ""))
    out.pair("Annotations", labels_text(doc["metadata"].get("annotations")))


def _describe_name(out: Description, doc: Doc) -> None:
    out.pair("Name", doc["metadata"]["name"])
    out.pair("Namespace", doc["metadata"].get("namespace", ""))


def _describe_labels(out: Description, doc: Doc) -> None:
    out.labels("Labels", doc["metadata"].get("labels"))
    out.annotations(doc["metadata"].get("annotations"))


def _describe_conditions(out: Description, status: Doc) -> None:
    if status.get("conditions"):
        out.line("Conditions:\n  Type\tStatus\tReason")
        out.line("----\t------\t------", 1)
        for one in status["conditions"]:
            out.line(f"{one['type']} \t{one['status']}\t{one.get('reason', '')}", 1)


def _describe_claim_templates(out: Description, templates: Sequence[Doc]) -> None:
    if not templates:
        out.pair("Volume Claims", NOTHING)
        return
    out.line("Volume Claims:")
    for template in templates:
        metadata, spec = template["metadata"], template.get("spec") or {}
        out.pair("Name", metadata["name"], 1)
        out.pair("StorageClass", storage_class_of(template), 1)
        for title, field in (("Labels", "labels"), ("Annotations", "annotations")):
            out.labels(title, metadata.get(field), 1)
        out.pair("Capacity", member(spec, "resources", "requests", "storage") or "<default>", 1)
        out.pair("Access Modes", go_list(spec.get("accessModes")), 1)


def _template_of(doc: Doc) -> Doc:
    """Without the label by which ReplicaSets of one Deployment are told apart."""
    template = doc["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != POD_TEMPLATE_HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _replica_set(doc: Doc) -> str:
    created, wanted = (doc.get("status") or {}).get("replicas") or 0, doc["spec"].get("replicas", 1)
    return f"{doc['metadata']['name']} ({created}/{wanted} replicas created)"
