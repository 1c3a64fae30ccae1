"""The columns of ResourcePoolStatusRequests: how many devices of a driver there are, and how far the answer is."""

from collections.abc import Callable
from typing import Final

from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.server.tables.column import Cell, TableColumn, age, at, name_column, text


def _condition(doc: Document, wanted: str) -> Document | None:
    conditions = at(doc, "status.conditions") or []
    return next((one for one in conditions if one.get("type") == wanted and one.get("status") == "True"), None)


def _sum(member: str) -> Callable[[Document, Instant], Cell]:
    def cell(doc: Document, _now: Instant) -> Cell:
        if "status" not in doc or _is_failed(doc):
            return "-"
        return str(sum(pool.get(member) or 0 for pool in at(doc, "status.pools") or []))

    return cell


def _errors(doc: Document, _now: Instant) -> Cell:
    if "status" not in doc or _is_failed(doc):
        return "-"
    return str(sum(pool.get("validationError") is not None for pool in at(doc, "status.pools") or []))


def _is_failed(doc: Document) -> bool:
    return _condition(doc, "Complete") is None and _condition(doc, "Failed") is not None


def _state(doc: Document, _now: Instant) -> Cell:
    if _condition(doc, "Complete") is None:
        return "Failed" if _is_failed(doc) else "Pending"
    shown, count = len(at(doc, "status.pools") or []), at(doc, "status.poolCount") or 0
    return f"Complete ({shown}/{count} pools)" if count > shown else "Complete"


def _completed(doc: Document, now: Instant) -> Cell:
    complete = _condition(doc, "Complete")
    since = (complete or {}).get("lastTransitionTime")
    return age(since, now) if since else "<none>"


POOL_REQUEST_COLUMNS: Final = (
    name_column(),
    text("Driver", "spec.driver"),
    TableColumn("Total", _sum("totalDevices")),
    TableColumn("Available", _sum("availableDevices")),
    TableColumn("Allocated", _sum("allocatedDevices")),
    TableColumn("Unavailable", _sum("unavailableDevices")),
    TableColumn("Errors", _errors),
    TableColumn("Pools", lambda doc, _now: at(doc, "status.poolCount") or 0, type="integer"),
    TableColumn("Status", _state),
    TableColumn("Completed", _completed),
)
