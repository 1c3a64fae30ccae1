"""How the zones are doing, as the node lifecycle controller sees them: `kubectl get zones`."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeGuard, runtime_checkable

from doorman.api.machinery.schema import Document
from doorman.controllers.node.node_zones import ZoneReport

ZONES: Final = "zones.doorman.dev"


@runtime_checkable
class ZoneReporter(Protocol):
    """A controller that keeps an eye on zones."""

    def zones(self) -> Sequence[ZoneReport]: ...


def reports_zones(controller: object) -> TypeGuard[ZoneReporter]:
    return isinstance(controller, ZoneReporter)


def zone_list(reporter: ZoneReporter | None) -> Document:
    """Empty when nobody looks after zones."""
    reports = reporter.zones() if reporter is not None else ()
    return {
        "items": [
            {
                "metadata": {"name": report.zone},
                "state": report.state,
                "ready": report.nodes - report.unhealthy,
                "notReady": report.unhealthy,
                "waiting": list(report.waiting),
                "nodesPerSecond": report.nodes_per_second,
                "haltedBecause": report.halted_because,
            }
            for report in reports
        ]
    }
