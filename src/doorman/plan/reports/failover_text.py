"""Failover times as a page for a terminal."""

from collections.abc import Iterator
from typing import Final

from doorman.plan.failover import PHASES, SETTINGS, Failover, FailoverReport
from doorman.plan.reports.plan_text import span, table_lines

ROWS_MAX: Final = 20


def failover_text(report: FailoverReport) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: FailoverReport) -> Iterator[str]:
    if not report.failovers:
        yield "no workload has pods on what is lost"
        return
    rows = [("WORKLOAD", "LOST", "PODS", "WHOLE AFTER", *(phase.upper() for phase in PHASES), "DOMINANT")]
    rows += [_row(one) for one in report.failovers[:ROWS_MAX]]
    yield from table_lines(rows)
    if len(report.failovers) > ROWS_MAX:
        yield f"and {len(report.failovers) - ROWS_MAX} more: -o json has all"
    yield ""
    for name in dict.fromkeys(one.dominant for one in report.failovers):
        yield f"{name} is changed by {SETTINGS[name]}"
    for one in report.failovers[:ROWS_MAX]:
        if one.stuck:
            yield f"{one.workload}: {one.stuck}"
    if report.target_seconds is not None:
        yield ""
        yield f"to be whole within {span(report.target_seconds)}:"
        yield from (f"  {proposal}" for proposal in report.proposals)


def _row(one: Failover) -> tuple[str, ...]:
    seconds = {phase.name: span(phase.seconds) for phase in one.phases}
    whole = span(one.total_seconds) if one.total_seconds is not None else "never"
    return (one.workload, one.lost, str(one.pods_lost), whole, *(seconds.get(p, "-") for p in PHASES), one.dominant)
