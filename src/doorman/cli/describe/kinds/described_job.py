"""Jobs and CronJobs as kubectl describes them."""

from typing import Final

from doorman.base.durations import human_span
from doorman.base.instants import from_time
from doorman.cli.describe.description import (
    NOTHING,
    UNSET,
    Description,
    Doc,
    Line,
    capital_truth,
    date,
    member,
    truth,
)
from doorman.cli.describe.kinds.described_template import describe_owner, describe_template, set_selector_text
from doorman.cli.describe.related_objects import RelatedObjects

_INDEXES_LENGTH: Final = 50


def _seconds(value: object) -> str:
    return f"{value}s"


_JOB: Final = (
    Line("Parallelism", "spec.parallelism"),
    Line("Completions", "spec.completions", absent=UNSET),
    Line("Completion Mode", "spec.completionMode"),
    Line("Suspend", "spec.suspend", truth),
    Line("Backoff Limit", "spec.backoffLimit"),
    Line("TTL Seconds After Finished", "spec.ttlSecondsAfterFinished"),
    Line("Start Time", "status.startTime", date),
    Line("Completed At", "status.completionTime", date),
)
_CRON_JOB: Final = (
    Line("Schedule", "schedule", absent=""),
    Line("Concurrency Policy", "concurrencyPolicy", absent=""),
    Line("Suspend", "suspend", capital_truth, absent=UNSET),
    Line("Time Zone", "timeZone", absent=UNSET),
    Line("Successful Job History Limit", "successfulJobsHistoryLimit", absent=UNSET),
    Line("Failed Job History Limit", "failedJobsHistoryLimit", absent=UNSET),
    Line("Starting Deadline Seconds", "startingDeadlineSeconds", _seconds, absent=UNSET),
    Line("Selector", "jobTemplate.spec.selector", set_selector_text, absent=UNSET),
    Line("Parallelism", "jobTemplate.spec.parallelism", absent=UNSET),
    Line("Completions", "jobTemplate.spec.completions", absent=UNSET),
    Line("Active Deadline Seconds", "jobTemplate.spec.activeDeadlineSeconds", _seconds),
)


def describe_job(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    spec, status = doc["spec"], doc.get("status") or {}
    out.pair("Name", doc["metadata"]["name"])
    out.pair("Namespace", doc["metadata"].get("namespace", ""))
    out.pair("Selector", set_selector_text(spec.get("selector")))
    out.labels("Labels", doc["metadata"].get("labels"))
    out.annotations(doc["metadata"].get("annotations"))
    describe_owner(out, doc)
    out.lines(doc, _JOB)
    if status.get("startTime") and status.get("completionTime"):
        out.pair("Duration", human_span(from_time(status["completionTime"]) - from_time(status["startTime"])))
    out.lines(doc, [Line("Active Deadline Seconds", "spec.activeDeadlineSeconds", _seconds)])
    active, succeeded, failed = (status.get(name) or 0 for name in ("active", "succeeded", "failed"))
    ready = f" ({status['ready']} Ready)" if status.get("ready") is not None else ""
    out.pair("Pods Statuses", f"{active} Active{ready} / {succeeded} Succeeded / {failed} Failed")
    if spec.get("completionMode") == "Indexed":
        out.pair("Completed Indexes", shortened_indexes(status.get("completedIndexes") or ""))
    describe_template(out, spec["template"])


def describe_cron_job(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc)
    out.lines(doc["spec"], _CRON_JOB)
    describe_template(out, doc["spec"]["jobTemplate"]["spec"]["template"])
    out.pair("Last Schedule Time", date(member(doc, "status", "lastScheduleTime")))
    active = member(doc, "status", "active") or ()
    out.pair("Active Jobs", ", ".join(one["name"] for one in active) or NOTHING)


def shortened_indexes(indexes: str) -> str:
    """Of a long list, as much as ends with a comma after some fifty characters.

    >>> shortened_indexes(""), shortened_indexes("0-3,5"), shortened_indexes("1" * 50 + "2,4")
    ('<none>', '0-3,5', '111111111111111111111111111111111111111111111111112,...')
    """
    if not indexes:
        return NOTHING
    end = indexes.find(",", _INDEXES_LENGTH)
    return indexes if end < 0 else indexes[: end + 1] + "..."
