"""Columns of pods, nodes, namespaces and events."""

from collections.abc import Mapping
from typing import Final

from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.instants import from_time
from doorman.base.json_types import Document
from doorman.server.tables.column import Cell, TableColumn, age, age_column, at, name_column


class _PodState:
    """What a pod's cells are computed from, in one walk over its container statuses."""

    def __init__(self, doc: Document) -> None:
        spec, status = doc.get("spec", {}), doc.get("status", {})
        self._status = status
        inits = spec.get("initContainers", [])
        self._sidecars = {c.get("name") for c in inits if c.get("restartPolicy") == "Always"}
        self._init_count = len(inits)
        self.total = len(spec.get("containers") or []) + len(self._sidecars)
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self.reason = status.get("reason") or status.get("phase", "")
        scheduled = _condition(status, "PodScheduled")
        if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
            self.reason = "SchedulingGated"
        initialising = self._walk_inits()
        initialized = _condition(status, "Initialized")
        if not initialising or (initialized is not None and initialized.get("status") == "True"):
            self._walk_containers()
        if doc["metadata"].get("deletionTimestamp"):
            if status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif status.get("phase") not in ("Succeeded", "Failed"):
                self.reason = "Terminating"

    def _walk_inits(self) -> bool:
        self._sidecar_restarts, self._sidecar_last = 0, ""
        for i, found in enumerate(self._status.get("initContainerStatuses", [])):
            is_sidecar = found.get("name") in self._sidecars
            self.restarts += found.get("restartCount", 0)
            ended = at(found, "lastState.terminated.finishedAt", "")
            self.last_restart = max(self.last_restart, ended)
            if is_sidecar:
                self._sidecar_restarts += found.get("restartCount", 0)
                self._sidecar_last = max(self._sidecar_last, ended)
            terminated, waiting = at(found, "state.terminated"), at(found, "state.waiting")
            if terminated is not None and terminated.get("exitCode", 0) == 0:
                continue
            if is_sidecar and found.get("started"):
                if found.get("ready"):
                    self.ready += 1
                continue
            if terminated is not None:
                self.reason = "Init:" + _ended(terminated)
            elif waiting is not None and waiting.get("reason", "") not in ("", "PodInitializing"):
                self.reason = "Init:" + waiting["reason"]
            else:
                self.reason = f"Init:{i}/{self._init_count}"
            return True
        return False

    def _walk_containers(self) -> None:
        self.restarts, self.last_restart = self._sidecar_restarts, self._sidecar_last
        has_running, error_reason = False, ""
        for found in reversed(self._status.get("containerStatuses", [])):
            self.restarts += found.get("restartCount", 0)
            self.last_restart = max(self.last_restart, at(found, "lastState.terminated.finishedAt", ""))
            waiting, terminated = at(found, "state.waiting"), at(found, "state.terminated")
            if waiting is not None and waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated is not None:
                self.reason = _ended(terminated)
                if terminated.get("exitCode", 0) != 0:
                    error_reason = self.reason
            elif found.get("ready") and at(found, "state.running") is not None:
                has_running = True
                self.ready += 1
        if self.reason == "Completed":
            ready = _condition(self._status, "Ready")
            if has_running and ready is not None and ready.get("status") == "True":
                self.reason = "Running"
            elif error_reason:
                self.reason = error_reason
            elif has_running:
                self.reason = "NotReady"


def _ended(terminated: Document) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _condition(status: Document, type_: str) -> Document | None:
    return next((c for c in (status.get("conditions") or []) if c.get("type") == type_), None)


def _restarts(doc: Document, now: Instant) -> Cell:
    state = _PodState(doc)
    if state.restarts and state.last_restart:
        return f"{state.restarts} ({human_span(now - from_time(state.last_restart))} ago)"
    return str(state.restarts)


def _pod_ip(doc: Document, _now: Instant) -> Cell:
    ips = at(doc, "status.podIPs") or []
    return ips[0].get("ip", "<none>") if ips else at(doc, "status.podIP", "<none>")


def _readiness_gates(doc: Document, _now: Instant) -> Cell:
    gates = at(doc, "spec.readinessGates") or []
    if not gates:
        return "<none>"
    met = 0
    for gate in gates:
        found = _condition(doc.get("status", {}), gate.get("conditionType", ""))
        met += found is not None and found.get("status") == "True"
    return f"{met}/{len(gates)}"


def _pod_ready(doc: Document, _now: Instant) -> Cell:
    state = _PodState(doc)
    return f"{state.ready}/{state.total}"


def pod_row_conditions(doc: Document) -> list[Document]:
    match at(doc, "status.phase"):
        case "Succeeded":
            message = "The pod has completed successfully."
            return [{"type": "Completed", "status": "True", "reason": "Succeeded", "message": message}]
        case "Failed":
            return [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}]
    return []


def _node_status(doc: Document, _now: Instant) -> Cell:
    ready = _condition(doc.get("status", {}), "Ready")
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if at(doc, "spec.unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(doc: Document, _now: Instant) -> Cell:
    prefix, labels = "node-role.kubernetes.io/", doc["metadata"].get("labels", {})
    roles = {label.removeprefix(prefix) for label in labels if label.startswith(prefix)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(role for role in roles if role)) or "<none>"


def _address(kind: str) -> TableColumn:
    def cell(doc: Document, _now: Instant) -> Cell:
        addresses = at(doc, "status.addresses") or []
        return next((a.get("address", "") for a in addresses if a.get("type") == kind), "<none>")

    return TableColumn("Internal-IP" if kind == "InternalIP" else "External-IP", cell, wide=True)


def _node_info(name: str, member: str) -> TableColumn:
    def cell(doc: Document, _now: Instant) -> Cell:
        found = at(doc, f"status.nodeInfo.{member}") or "<unknown>"
        architecture = at(doc, "status.nodeInfo.architecture")
        if member == "kernelVersion" and architecture and found != "<unknown>":
            return f"{found} ({architecture})"
        return found

    return TableColumn(name, cell, wide=True)


def _event_times(doc: Document, now: Instant) -> tuple[str, str, int]:
    """First seen, last seen, how often."""
    first_time = doc.get("firstTimestamp") or doc.get("eventTime")
    first = age(first_time, now)
    last = age(doc.get("lastTimestamp"), now) if doc.get("lastTimestamp") else first
    count = doc.get("count") or 1
    series = doc.get("series")
    if series:
        last, count = age(series.get("lastObservedTime"), now), series.get("count", count)
    return first, last, count


def _event_object(doc: Document, _now: Instant) -> Cell:
    involved = doc.get("involvedObject") or doc.get("regarding") or {}
    kind = involved.get("kind", "").lower()
    return f"{kind}/{involved['name']}" if involved.get("name") else kind


def _event_source(doc: Document, _now: Instant) -> Cell:
    source = doc.get("source") or doc.get("deprecatedSource") or {}
    component = source.get("component") or doc.get("reportingComponent") or doc.get("reportingController") or ""
    host = source.get("host") or doc.get("reportingInstance") or ""
    return f"{component}, {host}" if host else component


def _event_message(doc: Document, _now: Instant) -> Cell:
    return (doc.get("message") or doc.get("note") or "").strip()


CORE_COLUMNS: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    "pods": (
        name_column(),
        TableColumn("Ready", _pod_ready),
        TableColumn("Status", lambda doc, _now: _PodState(doc).reason),
        TableColumn("Restarts", _restarts),
        age_column(),
        TableColumn("IP", _pod_ip, wide=True),
        TableColumn("Node", lambda doc, _now: at(doc, "spec.nodeName") or "<none>", wide=True),
        TableColumn("Nominated Node", lambda doc, _now: at(doc, "status.nominatedNodeName") or "<none>", wide=True),
        TableColumn("Readiness Gates", _readiness_gates, wide=True),
    ),
    "nodes": (
        name_column(),
        TableColumn("Status", _node_status),
        TableColumn("Roles", _node_roles),
        age_column(),
        TableColumn("Version", lambda doc, _now: at(doc, "status.nodeInfo.kubeletVersion", "")),
        _address("InternalIP"),
        _address("ExternalIP"),
        _node_info("OS-Image", "osImage"),
        _node_info("Kernel-Version", "kernelVersion"),
        _node_info("Container-Runtime", "containerRuntimeVersion"),
    ),
    "namespaces": (name_column(), TableColumn("Status", lambda doc, _now: at(doc, "status.phase", "")), age_column()),
    "events": (
        TableColumn("Last Seen", lambda doc, now: _event_times(doc, now)[1]),
        TableColumn("Type", lambda doc, _now: doc.get("type", "")),
        TableColumn("Reason", lambda doc, _now: doc.get("reason", "")),
        TableColumn("Object", _event_object),
        TableColumn("Subobject", lambda doc, _now: at(doc, "involvedObject.fieldPath", ""), wide=True),
        TableColumn("Source", _event_source, wide=True),
        TableColumn("Message", _event_message),
        TableColumn("First Seen", lambda doc, now: _event_times(doc, now)[0], wide=True),
        TableColumn("Count", lambda doc, now: _event_times(doc, now)[2], wide=True),
        TableColumn("Name", lambda doc, _now: doc["metadata"].get("name", ""), format="name", wide=True),
    ),
}
