"""The events about an object, at the end of what is told of it."""

from typing import Any

from doorman.base.clock import Instant
from doorman.cli.describe.description import Description
from doorman.cli.objects.event_rows import in_order, interval


def describe_events(out: Description, events: list[dict[str, Any]], now: Instant) -> None:
    if not events:
        out.pair("Events", "<none>")
        return
    out.line("Events:")
    out.line("Type\tReason\tAge\tFrom\tMessage", 1)
    out.line("----\t------\t----\t----\t-------", 1)
    for event in in_order(events):
        message = (event.get("message") or "").strip()
        part = (event.get("involvedObject") or {}).get("fieldPath")
        if part:
            message = f"{part}: {message}"
        cells = (event.get("type") or "", event.get("reason") or "", interval(event, now), _source(event), message)
        out.line("\t".join(cells), 1)


def _source(event: dict[str, Any]) -> str:
    source = event.get("source") or {}
    return source.get("component") or event.get("reportingComponent") or ""
