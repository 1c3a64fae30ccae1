"""What a column is, and the cells many kinds share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from doorman.api.machinery.label_selectors import format_selector
from doorman.api.views.meta import LabelSelector, to_view
from doorman.base.clock import Instant
from doorman.base.durations import human_span
from doorman.base.instants import from_time
from doorman.base.json_types import Document

Cell = Any  # a JSON scalar
CellOf = Callable[[Document, Instant], Cell]


class TableColumn(msgspec.Struct, frozen=True):
    name: str
    cell: CellOf
    type: str = "string"
    format: str = ""
    wide: bool = False
    """Shown only with `-o wide`."""
    description: str = ""
    is_untitled: bool = False
    """Upstream gives the cell, and says nothing of the column: kubectl does not show it."""


def name_column() -> TableColumn:
    return TableColumn("Name", lambda doc, _now: doc["metadata"].get("name", ""), format="name", description=_NAME)


def age_column() -> TableColumn:
    return TableColumn("Age", lambda doc, now: age(doc["metadata"].get("creationTimestamp"), now), description=_AGE)


def age(time: str | None, now: Instant) -> str:
    """
    >>> age("2026-01-01T00:00:00Z", 1767225660.0), age(None, 0.0)
    ('60s', '<unknown>')
    """
    return human_span(now - from_time(time)) if time else "<unknown>"


def at(doc: Document, path: str, default: Any = None) -> Any:  # any JSON value
    """The member at a dotted path."""
    found: Any = doc
    for step in path.split("."):
        if not isinstance(found, dict) or step not in found:
            return default
        found = found[step]
    return found


def state_of(doc: Document, states: Sequence[str], otherwise: str) -> str:
    """The first of these conditions that holds.

    >>> state_of({"status": {"conditions": [{"type": "Failed", "status": "True"}]}}, ("Issued", "Failed"), "Pending")
    'Failed'
    """
    holds = {one.get("type") for one in at(doc, "status.conditions") or () if one.get("status") == "True"}
    return next((state for state in states if state in holds), otherwise)


def joined_labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "<none>"


def text(name: str, path: str, *, empty: str = "", wide: bool = False) -> TableColumn:
    """A member as it is."""
    return TableColumn(name, lambda doc, _now: at(doc, path) or empty, wide=wide)


def number(name: str, path: str) -> TableColumn:
    return TableColumn(name, lambda doc, _now: at(doc, path, 0), type="integer")


def boolean(name: str, path: str) -> TableColumn:
    return TableColumn(name, lambda doc, _now: bool(at(doc, path, False)), type="boolean")


def selector_text(selector: Any, *, empty: str = "<none>") -> str:  # a LabelSelector as JSON
    if not selector:
        return empty
    try:
        return format_selector(to_view(selector, LabelSelector)) or empty
    except (ValueError, msgspec.ValidationError):
        return "<error>"


_NAME = "The object's name, unique among its kind in its namespace."
_AGE = "How long ago the object was created."
