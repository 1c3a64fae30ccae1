"""How the zones are doing, as the node lifecycle controller sees them: `kubectl get zones`."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeGuard, runtime_checkable

from doorman.base.errors import GroupResource, not_found
from doorman.base.json_types import Document
from doorman.controllers.node.node_zones import ZoneReport

ZONES: Final = "zones.doorman.dev"
_ZONES: Final = GroupResource("doorman.dev", "zones")


@runtime_checkable
class ZoneReporter(Protocol):
    """A controller that keeps an eye on zones."""

    def zones(self) -> Sequence[ZoneReport]: ...


def reports_zones(controller: object) -> TypeGuard[ZoneReporter]:
    return isinstance(controller, ZoneReporter)


def zones_document(reporter: ZoneReporter | None, name: str) -> Document:
    """One of them, or all as `items`; none when nobody looks after zones. Raises 404."""
    reports = reporter.zones() if reporter is not None else ()
    if not name:
        return {"items": [_zone(report) for report in reports]}
    for report in reports:
        if report.zone == name:
            return {"kind": "Zone", "apiVersion": "doorman.dev/v1", **_zone(report)}
    raise not_found(_ZONES, name)


def _zone(report: ZoneReport) -> Document:
    return {
        "metadata": {"name": report.zone},
        "state": report.state,
        "ready": report.nodes - report.unhealthy,
        "notReady": report.unhealthy,
        "waiting": list(report.waiting),
        "nodesPerSecond": report.nodes_per_second,
        "haltedBecause": report.halted_because,
    }
