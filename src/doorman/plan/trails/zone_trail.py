"""Zones while a plan is made: their states over time, as the node-lifecycle-controller sees them."""

from collections.abc import Iterator

from doorman.base.clock import Instant
from doorman.controllers.node.node_zones import ZoneReport
from doorman.plan.plan_result import ZoneHistory, ZoneMoment
from doorman.runtime.in_process.zone_reports import ZoneReporter


class ZoneTrails:
    def __init__(self, reporter: ZoneReporter | None, begun: Instant) -> None:
        """`reporter` is None when nobody looks after zones."""
        self._reporter = reporter
        self._begun = begun
        self._moments: dict[str, list[ZoneMoment]] = {}
        self.is_waiting = False
        """Whether some node waits for its taint and will get it."""

    def look(self, now: Instant) -> None:
        """Note what has changed."""
        reports = self._reporter.zones() if self._reporter is not None else ()
        self.is_waiting = any(report.waiting and report.nodes_per_second > 0 for report in reports)
        for report in reports:
            moment = _moment(report, round(now - self._begun, 1))
            moments = self._moments.setdefault(report.zone, [])
            if not moments or not _is_same(moments[-1], moment):
                moments.append(moment)

    def histories(self) -> Iterator[ZoneHistory]:
        for zone, moments in sorted(self._moments.items()):
            yield ZoneHistory(zone=zone, moments=tuple(moments))


def _moment(report: ZoneReport, at_seconds: float) -> ZoneMoment:
    return ZoneMoment(
        at_seconds=at_seconds,
        state=report.state,
        nodes=report.nodes,
        not_ready=report.unhealthy,
        waiting=len(report.waiting),
        nodes_per_second=report.nodes_per_second,
        halted_because=report.halted_because,
    )


def _is_same(one: ZoneMoment, other: ZoneMoment) -> bool:
    """But for how many wait, which changes with every node that is tainted."""
    return (one.state, one.nodes, one.not_ready, one.nodes_per_second, one.halted_because) == (
        other.state, other.nodes, other.not_ready, other.nodes_per_second, other.halted_because
    )  # fmt: skip
