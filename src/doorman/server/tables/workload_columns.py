"""Columns of workloads."""

from collections.abc import Mapping
from typing import Final

from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.instants import from_time
from doorman.base.json_types import Document
from doorman.server.tables.column import (
    Cell,
    TableColumn,
    age,
    age_column,
    at,
    joined_labels,
    name_column,
    number,
    selector_text,
    text,
)


def _containers(spec_path: str) -> tuple[TableColumn, TableColumn]:
    def names(doc: Document, _now: Instant) -> Cell:
        return ",".join(c.get("name", "") for c in at(doc, f"{spec_path}.containers") or [])

    def images(doc: Document, _now: Instant) -> Cell:
        return ",".join(c.get("image", "") for c in at(doc, f"{spec_path}.containers") or [])

    return TableColumn("Containers", names, wide=True), TableColumn("Images", images, wide=True)


def _selector(path: str = "spec.selector", *, empty: str = "<none>") -> TableColumn:
    return TableColumn("Selector", lambda doc, _now: selector_text(at(doc, path), empty=empty), wide=True)


def _ready_of(doc: Document, _now: Instant) -> Cell:
    return f"{at(doc, 'status.readyReplicas', 0)}/{at(doc, 'spec.replicas', 0)}"


def _controller(doc: Document, _now: Instant) -> Cell:
    for owner in doc["metadata"].get("ownerReferences", ()):
        if owner.get("controller"):
            group = owner.get("apiVersion", "").rpartition("/")[0]
            kind = owner.get("kind", "").lower()
            name = owner.get("name", "")
            return f"{kind}.{group}/{name}" if group else f"{kind}/{name}"
    return "<none>"


def _job_status(doc: Document, _now: Instant) -> Cell:
    conditions = {c.get("type") for c in at(doc, "status.conditions") or [] if c.get("status") == "True"}
    if "Complete" in conditions:
        return "Complete"
    if "Failed" in conditions:
        return "Failed"
    if doc["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for name, shown in (
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ):
        if name in conditions:
            return shown
    return "Running"


def _job_completions(doc: Document, _now: Instant) -> Cell:
    done, wanted = at(doc, "status.succeeded", 0), at(doc, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = at(doc, "spec.parallelism", 0)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(doc: Document, now: Instant) -> Cell:
    start, end = at(doc, "status.startTime"), at(doc, "status.completionTime")
    if not start:
        return ""
    return human_span((from_time(end) if end else now) - from_time(start))


def _suspended(doc: Document, _now: Instant) -> Cell:
    found = at(doc, "spec.suspend")
    return "<unset>" if found is None else str(found)


def _last_schedule(doc: Document, now: Instant) -> Cell:
    found = at(doc, "status.lastScheduleTime")
    return age(found, now) if found else "<none>"


_REPLICAS: Final = (
    name_column(),
    number("Desired", "spec.replicas"),
    number("Current", "status.replicas"),
    number("Ready", "status.readyReplicas"),
    age_column(),
    *_containers("spec.template.spec"),
)

WORKLOAD_COLUMNS: Final[Mapping[str, tuple[TableColumn, ...]]] = {
    "daemonsets.apps": (
        name_column(),
        number("Desired", "status.desiredNumberScheduled"),
        number("Current", "status.currentNumberScheduled"),
        number("Ready", "status.numberReady"),
        number("Up-to-date", "status.updatedNumberScheduled"),
        number("Available", "status.numberAvailable"),
        TableColumn("Node Selector", lambda doc, _now: joined_labels(at(doc, "spec.template.spec.nodeSelector"))),
        age_column(),
        *_containers("spec.template.spec"),
        _selector(),
    ),
    "deployments.apps": (
        name_column(),
        TableColumn("Ready", _ready_of),
        TableColumn("Up-to-date", lambda doc, _now: at(doc, "status.updatedReplicas", 0)),
        TableColumn("Available", lambda doc, _now: at(doc, "status.availableReplicas", 0)),
        age_column(),
        *_containers("spec.template.spec"),
        _selector(empty=""),
    ),
    "replicasets.apps": (*_REPLICAS, _selector()),
    "replicationcontrollers": (
        *_REPLICAS,
        TableColumn("Selector", lambda doc, _now: joined_labels(at(doc, "spec.selector")), wide=True),
    ),
    "statefulsets.apps": (
        name_column(),
        TableColumn("Ready", _ready_of),
        age_column(),
        *_containers("spec.template.spec"),
    ),
    "controllerrevisions.apps": (
        name_column(),
        TableColumn("Controller", _controller),
        TableColumn("Revision", lambda doc, _now: doc.get("revision", 0)),
        age_column(),
    ),
    "jobs.batch": (
        name_column(),
        TableColumn("Status", _job_status),
        TableColumn("Completions", _job_completions),
        TableColumn("Duration", _job_duration),
        age_column(),
        *_containers("spec.template.spec"),
        _selector(),
    ),
    "cronjobs.batch": (
        name_column(),
        text("Schedule", "spec.schedule"),
        text("Timezone", "spec.timeZone", empty="<none>"),
        TableColumn("Suspend", _suspended, type="boolean"),
        TableColumn("Active", lambda doc, _now: len(at(doc, "status.active") or []), type="integer"),
        TableColumn("Last Schedule", _last_schedule),
        age_column(),
        *_containers("spec.jobTemplate.spec.template.spec"),
        _selector("spec.jobTemplate.spec.selector"),
    ),
    "podtemplates": (
        name_column(),
        TableColumn("Containers", _containers("template.spec")[0].cell),
        TableColumn("Images", _containers("template.spec")[1].cell),
        TableColumn("Pod Labels", lambda doc, _now: joined_labels(at(doc, "template.metadata.labels"))),
    ),
}
