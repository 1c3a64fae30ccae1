"""Columns of configuration and cluster objects."""

from collections.abc import Mapping
from typing import Final

from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.json_types import Document
from doorman.server.tables.autoscaling_columns import metric_targets
from doorman.server.tables.column import (
    Cell,
    TableColumn,
    age,
    age_column,
    at,
    joined_labels,
    name_column,
    number,
    state_of,
    text,
)
from doorman.server.tables.pool_request_columns import POOL_REQUEST_COLUMNS

_CERTIFICATE_STATES: Final = ("Issued", "Denied", "Failed")
_UNVERIFIED: Final = "spec.unverifiedUserAnnotations"


def _count(*members: str) -> TableColumn:
    def cell(doc: Document, _now: Instant) -> Cell:
        return sum(len(doc.get(member) or {}) for member in members)

    return TableColumn("Data", cell)


def _size(name: str, path: str) -> TableColumn:
    return TableColumn(name, lambda doc, _now: len(at(doc, path) or []), type="integer")


def _claim_state(doc: Document, _now: Instant) -> Cell:
    states = []
    if doc["metadata"].get("deletionTimestamp"):
        states.append("deleted")
    if at(doc, "status.allocation") is not None:
        states.append("allocated")
        if at(doc, "status.reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return ",".join(states)


def _rule_age(doc: Document, now: Instant) -> Cell:
    added = at(doc, "spec.taint.timeAdded")
    return age(added, now) if added else ""


def _reference(ref: Document) -> str:
    return f"{ref.get('kind', '')}/{ref.get('name', '')}"


def _binding_columns() -> tuple[TableColumn, ...]:
    def subjects(kind: str) -> TableColumn:
        def cell(doc: Document, _now: Instant) -> Cell:
            found = [s for s in doc.get("subjects") or () if s.get("kind") == kind]
            if kind == "ServiceAccount":
                return ", ".join(f"{s.get('namespace', '')}/{s.get('name', '')}" for s in found)
            return ", ".join(s.get("name", "") for s in found)

        return TableColumn(f"{kind}s", cell, wide=True)

    return (
        name_column(),
        TableColumn("Role", lambda doc, _now: _reference(doc.get("roleRef") or {})),
        age_column(),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    )


def _quota(doc: Document, *, limits: bool) -> str:
    hard, used = at(doc, "status.hard") or {}, at(doc, "status.used") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") is limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


def _param_kind(found: Document | None) -> str:
    return f"{found.get('apiVersion', '')}/{found.get('kind', '')}" if found else "<unset>"


def _condition(doc: Document, type_: str) -> str:
    conditions = at(doc, "status.conditions") or []
    return next((c.get("status", "?") for c in conditions if c.get("type") == type_), "?")


def _service(reference: Document | None) -> str:
    return f"{reference.get('namespace', '')}/{reference.get('name', '')}" if reference else "Local"


def _available(doc: Document) -> str:
    for condition in at(doc, "status.conditions") or ():
        if condition.get("type") == "Available":
            status, reason = condition.get("status", ""), condition.get("reason", "")
            return str(status) if status == "True" else f"{status} ({reason})"
    return "Unknown"


def _is_healthy(doc: Document) -> bool:
    found = [one for one in (doc.get("conditions") or ()) if one.get("type") == "Healthy"]
    return bool(found) and found[0].get("status") == "True"


def _requested_duration(doc: Document, _now: Instant) -> Cell:
    seconds = at(doc, "spec.expirationSeconds")
    return human_span(seconds) if seconds else "<none>"


def _request_condition(doc: Document, _now: Instant) -> Cell:
    shown = [c.get("type", "") for c in at(doc, "status.conditions") or [] if c.get("status", "True") == "True"]
    if not shown:
        return "Pending"
    return ",".join([*shown, *(["Issued"] if at(doc, "status.certificate") else [])])


def _versions(doc: Document, _now: Instant) -> Cell:
    served = [v for v in at(doc, "spec.versions") or [] if v.get("served")]
    return ",".join(sorted(v.get("name", "") + ("(storage)" if v.get("storage") else "") for v in served))


CLUSTER_COLUMNS: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    "configmaps": (name_column(), _count("data", "binaryData"), age_column()),
    "secrets": (
        name_column(),
        TableColumn("Type", lambda doc, _now: doc.get("type", "")),
        _count("data"),
        age_column(),
    ),
    "serviceaccounts": (name_column(), age_column()),
    "leases.coordination.k8s.io": (
        name_column(),
        TableColumn("Holder", lambda doc, _now: at(doc, "spec.holderIdentity", "")),
        age_column(),
    ),
    "leasecandidates.coordination.k8s.io": (
        name_column(),
        text("LeaseName", "spec.leaseName"),
        text("BinaryVersion", "spec.binaryVersion"),
        text("EmulationVersion", "spec.emulationVersion"),
        age_column(),
    ),
    "resourceclaims.resource.k8s.io": (name_column(), TableColumn("State", _claim_state), age_column()),
    "resourceclaimtemplates.resource.k8s.io": (name_column(), age_column()),
    "deviceclasses.resource.k8s.io": (name_column(), age_column()),
    "resourceslices.resource.k8s.io": (
        name_column(),
        text("Node", "spec.nodeName"),
        text("Driver", "spec.driver"),
        text("Pool", "spec.pool.name"),
        age_column(),
    ),
    "devicetaintrules.resource.k8s.io": (
        name_column(),
        text("Key", "spec.taint.key"),
        text("Value", "spec.taint.value"),
        text("Effect", "spec.taint.effect"),
        TableColumn("TimeAdded", _rule_age),
        age_column(),
    ),
    "resourcepoolstatusrequests.resource.k8s.io": POOL_REQUEST_COLUMNS,
    "poddisruptionbudgets.policy": (
        name_column(),
        TableColumn("Min Available", lambda doc, _now: str(at(doc, "spec.minAvailable", "N/A"))),
        TableColumn("Max Unavailable", lambda doc, _now: str(at(doc, "spec.maxUnavailable", "N/A"))),
        number("Allowed Disruptions", "status.disruptionsAllowed"),
        age_column(),
    ),
    "runtimeclasses.node.k8s.io": (name_column(), text("Handler", "handler"), age_column()),
    "rolebindings.rbac.authorization.k8s.io": _binding_columns(),
    "clusterrolebindings.rbac.authorization.k8s.io": _binding_columns(),
    "resourcequotas": (
        name_column(),
        TableColumn("Request", lambda doc, _now: _quota(doc, limits=False)),
        TableColumn("Limit", lambda doc, _now: _quota(doc, limits=True)),
        age_column(),
    ),
    "componentstatuses": (
        name_column(),
        TableColumn("Status", lambda doc, _now: "Healthy" if _is_healthy(doc) else "Unhealthy"),
        TableColumn(
            "Message", lambda doc, _now: "".join(one.get("message", "") for one in (doc.get("conditions") or ()))
        ),
        TableColumn("Error", lambda doc, _now: "".join(one.get("error", "") for one in (doc.get("conditions") or ()))),
    ),
    "apiservices.apiregistration.k8s.io": (
        name_column(),
        TableColumn("Service", lambda doc, _now: _service(at(doc, "spec.service"))),
        TableColumn("Available", lambda doc, _now: _available(doc)),
        age_column(),
    ),
    "scales": (
        name_column(),
        TableColumn("Desired", lambda doc, _now: at(doc, "spec.replicas", 0), type="integer"),
        TableColumn("Available", lambda doc, _now: at(doc, "status.replicas", 0), type="integer"),
        age_column(),
    ),
    "horizontalpodautoscalers.autoscaling": (
        name_column(),
        TableColumn("Reference", lambda doc, _now: _reference(at(doc, "spec.scaleTargetRef") or {})),
        TableColumn("Targets", lambda doc, _now: metric_targets(doc)),
        TableColumn("MinPods", lambda doc, _now: str(at(doc, "spec.minReplicas", "<unset>"))),
        TableColumn("MaxPods", lambda doc, _now: at(doc, "spec.maxReplicas", 0)),
        TableColumn("Replicas", lambda doc, _now: at(doc, "status.currentReplicas", 0)),
        age_column(),
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": (
        name_column(),
        _size("Webhooks", "webhooks"),
        age_column(),
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": (
        name_column(),
        _size("Webhooks", "webhooks"),
        age_column(),
    ),
    "validatingadmissionpolicies.admissionregistration.k8s.io": (
        name_column(),
        _size("Validations", "spec.validations"),
        TableColumn("ParamKind", lambda doc, _now: _param_kind(at(doc, "spec.paramKind"))),
        age_column(),
    ),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": (
        name_column(),
        _size("Mutations", "spec.mutations"),
        TableColumn("ParamKind", lambda doc, _now: _param_kind(at(doc, "spec.paramKind"))),
        age_column(),
    ),
    "clustertrustbundles.certificates.k8s.io": (name_column(), text("SignerName", "spec.signerName")),
    "podcertificaterequests.certificates.k8s.io": (
        name_column(),
        text("PodName", "spec.podName"),
        text("ServiceAccountName", "spec.serviceAccountName"),
        text("NodeName", "spec.nodeName"),
        text("SignerName", "spec.signerName"),
        TableColumn("State", lambda doc, _now: state_of(doc, _CERTIFICATE_STATES, "Pending")),
        TableColumn("UnverifiedUserAnnotations", lambda doc, _now: joined_labels(at(doc, _UNVERIFIED))),
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": (
        name_column(),
        text("PriorityLevel", "spec.priorityLevelConfiguration.name"),
        TableColumn("MatchingPrecedence", lambda doc, _now: at(doc, "spec.matchingPrecedence", 0)),
        text("DistinguisherMethod", "spec.distinguisherMethod.type", empty="<none>"),
        age_column(),
        TableColumn("MissingPL", lambda doc, _now: _condition(doc, "Dangling")),
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": (
        name_column(),
        text("Type", "spec.type"),
        TableColumn(
            "NominalConcurrencyShares", lambda doc, _now: at(doc, "spec.limited.nominalConcurrencyShares", "<none>")
        ),
        TableColumn("Queues", lambda doc, _now: at(doc, "spec.limited.limitResponse.queuing.queues", "<none>")),
        TableColumn("HandSize", lambda doc, _now: at(doc, "spec.limited.limitResponse.queuing.handSize", "<none>")),
        TableColumn(
            "QueueLengthLimit",
            lambda doc, _now: at(doc, "spec.limited.limitResponse.queuing.queueLengthLimit", "<none>"),
        ),
        age_column(),
    ),
    "certificatesigningrequests.certificates.k8s.io": (
        name_column(),
        age_column(),
        text("SignerName", "spec.signerName"),
        text("Requestor", "spec.username"),
        TableColumn("RequestedDuration", _requested_duration),
        TableColumn("Condition", _request_condition),
    ),
    "customresourcedefinitions.apiextensions.k8s.io": (
        name_column(),
        text("Scope", "spec.scope"),
        TableColumn("Versions", _versions),
        TableColumn("Created At", lambda doc, _now: doc["metadata"].get("creationTimestamp"), type="date"),
        text("Group", "spec.group", wide=True),
        text("Kind", "spec.names.kind", wide=True),
        TableColumn("ShortNames", lambda doc, _now: ",".join(at(doc, "spec.names.shortNames") or []), wide=True),
        TableColumn(
            "Established", lambda doc, _now: _condition(doc, "Established") == "True", type="boolean", wide=True
        ),
    ),
    "dedicatednodes.doorman.dev": (
        name_column(),
        TableColumn("Namespaces", lambda doc, _now: ",".join(at(doc, "spec.namespaces") or []) or "<none>"),
        TableColumn("Groups", lambda doc, _now: ",".join(at(doc, "spec.groups") or []) or "<none>"),
        text("Effect", "spec.effect", empty="NoSchedule"),
        age_column(),
    ),
    "tolerationpolicies.doorman.dev": (
        name_column(),
        TableColumn(
            "Allow", lambda doc, _now: "all" if at(doc, "spec.allow") is None else str(len(at(doc, "spec.allow")))
        ),
        _size("Deny", "spec.deny"),
        age_column(),
    ),
    "zones.doorman.dev": (
        name_column(),
        text("State", "state"),
        number("Ready", "ready"),
        number("Not-Ready", "notReady"),
        TableColumn("Waiting", lambda doc, _now: len(doc.get("waiting") or []), type="integer"),
        TableColumn("Rate", lambda doc, _now: f"{doc.get('nodesPerSecond', 0):g}/s"),
        text("Halted", "haltedBecause", empty="<none>"),
    ),
    "priorityclasses.scheduling.k8s.io": (
        name_column(),
        TableColumn("Value", lambda doc, _now: doc.get("value", 0), type="integer"),
        TableColumn("Global-Default", lambda doc, _now: doc.get("globalDefault", False), type="boolean"),
        age_column(),
        TableColumn("PreemptionPolicy", lambda doc, _now: doc.get("preemptionPolicy", "")),
    ),
}
