"""A plan as a page for a terminal: the summary first, then the first of everything.

Pods of one workload that leave a node together, for the same reason, are one line.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from doorman.base.durations import format_duration
from doorman.plan.plan_result import Because, Plan, PodMove, Summary, ZoneMoment

ROWS_MAX: Final = 10
NODES_SHOWN_MAX: Final = 3
GAP: Final = 2
KUBERNETES_PREFIX: Final = "node.kubernetes.io/"
SUMMARY_NAMES: Final = {
    "evicted": "evicted",
    "pending": "pending",
    "budgets_broken": "budgets broken",
    "workloads_below": "workloads below desired",
    "preempted": "preempted",
    "not_replaced": "not replaced",
    "nodes_full": "nodes full",
}

TextRow = tuple[str, ...]


def plan_text(plan: Plan) -> str:
    return "\n".join(_lines(plan)) + "\n"


def comparison_text(before: Plan, after: Plan) -> str:
    """Two plans side by side."""
    rows: list[TextRow] = [("", f"as it is: {before.action}", f"with the change: {after.action}")]
    for member, name in SUMMARY_NAMES.items():
        rows.append((name, str(getattr(before.summary, member)), str(getattr(after.summary, member))))
    rows.append(("quiet after", _quiet(before), _quiet(after)))
    effects = {(one.kind, one.namespace, one.name): one for one in after.workloads}
    known = {(one.kind, one.namespace, one.name): one for one in before.workloads}
    for key in sorted({*effects, *known})[:ROWS_MAX]:
        kind, namespace, name = key
        cells = [
            f"lowest {one.lowest_ready}/{one.desired}, {span(one.below_desired_seconds)} below" if one else "untouched"
            for one in (known.get(key), effects.get(key))
        ]
        rows.append((f"{namespace}/{kind}/{name}", *cells))
    return "\n".join(table_lines(rows)) + "\n"


def span(seconds: float) -> str:
    """
    >>> span(350.1), span(0.0), span(4000)
    ('5m50s', '0s', '1h6m40s')
    """
    return format_duration(float(int(seconds)) if seconds >= 1 or seconds == 0 else round(seconds, 1))


def because_text(because: Because) -> str:
    taint = (because.taint or "").removeprefix(KUBERNETES_PREFIX)
    match because.reason:
        case "NotTolerated":
            return f"{taint}, not tolerated"
        case "TolerationSecondsOver":
            seconds = (because.toleration or {}).get("tolerationSeconds", 0)
            return f"{taint}, tolerated for {seconds}s"
        case _:
            return because.reason.lower()


def _lines(plan: Plan) -> Iterator[str]:
    yield f"plan: {plan.action}"
    quiet = f"until quiet, after {_quiet(plan)}" if plan.summary.quiet_at_seconds is not None else "to the horizon"
    yield (
        f"cluster of {plan.snapshot_time}: {plan.nodes} nodes, {plan.pods_total} pods; "
        f"followed {quiet} (horizon {span(plan.horizon_seconds)}, seed {plan.seed})"
    )
    yield ""
    yield from _summary(plan.summary)
    yield from _leaving(plan)
    yield from _pending(plan)
    yield from _effects(plan)
    yield from _zones(plan)
    if plan.full_nodes:
        shown = plan.full_nodes[:ROWS_MAX]
        rows: list[TextRow] = [("NODE", "RESOURCE", "BEFORE", "AFTER")]
        rows += [(one.name, one.resource, f"{one.percent_before}%", f"{one.percent_after}%") for one in shown]
        yield from _titled("nodes that fill up", rows, len(plan.full_nodes), len(shown))
    if plan.notes:
        yield ""
        yield "notes"
        yield from (f"  {note}" for note in plan.notes[:ROWS_MAX])


def _summary(summary: Summary) -> Iterator[str]:
    parts = [f"{name} {getattr(summary, member)}" for member, name in SUMMARY_NAMES.items()]
    yield "  " + "   ".join(parts[:4])
    yield "  " + "   ".join(parts[4:])


def _leaving(plan: Plan) -> Iterator[str]:
    if not plan.pods:
        yield ""
        yield "no pod leaves"
        return
    rows: list[TextRow] = [("AT", "WHO", "FROM", "BECAUSE", "TO")]
    told = 0
    for _, group in groupby(plan.pods, key=_alike):
        moves = list(group)
        if len(rows) > ROWS_MAX:
            break
        told += len(moves)
        first = moves[0]
        who = f"{first.namespace}/{first.name}"
        if len(moves) > 1 or first.owner is not None:
            who = f"{len(moves)} of {first.namespace}/{first.owner or 'nobody'}"
        rows.append((span(first.at_seconds), who, first.node, because_text(first.because), _places(moves)))
    yield from _titled("pods that leave", rows, len(plan.pods), told)
    if any(move.gone_at_seconds is None for move in plan.pods):
        stuck = sum(move.gone_at_seconds is None for move in plan.pods)
        yield f"  {stuck} of them stay Terminating: their nodes cannot say that they have stopped"


def _alike(move: PodMove) -> TextRow:
    alone = move.name if move.owner is None else ""
    return span(move.at_seconds), move.namespace, move.owner or "", alone, move.node, because_text(move.because)


def _places(moves: Sequence[PodMove]) -> str:
    found = [move.replacement for move in moves if move.replacement is not None]
    nodes = list(dict.fromkeys(new.node for new in found if new.node is not None))
    parts = [", ".join(nodes[:NODES_SHOWN_MAX]) + (", …" if len(nodes) > NODES_SHOWN_MAX else "")] if nodes else []
    pending = sum(new.node is None for new in found)
    if pending:
        parts.append(f"{pending} PENDING")
    missing = len(moves) - len(found)
    if missing:
        parts.append("nobody makes it again" if moves[0].owner is None else f"{missing} not replaced")
    late = [new.ready_at_seconds for new in found if new.ready_at_seconds is not None]
    if late and max(late) > moves[0].at_seconds:
        parts.append(f"ready {span(max(late))}")
    return "; ".join(parts)


def _pending(plan: Plan) -> Iterator[str]:
    if not plan.pending:
        return
    yield ""
    yield f"pending at the end ({len(plan.pending)})"
    told: set[tuple[str, str]] = set()
    for one in plan.pending:
        place = (one.namespace, one.owner or one.name)
        if place in told or len(told) >= ROWS_MAX:
            continue
        told.add(place)
        count = sum((other.namespace, other.owner or other.name) == place for other in plan.pending)
        since = "before" if one.since_seconds < 0 else span(one.since_seconds)
        message = one.message.partition(" preemption:")[0]
        yield f"  {count} of {one.namespace}/{one.owner or one.name}, since {since}: {message}"
        yield from (f"    would fit with: {need}" for need in one.needs)


def _effects(plan: Plan) -> Iterator[str]:
    if plan.workloads:
        rows: list[TextRow] = [("WORKLOAD", "DESIRED", "READY BEFORE", "LOWEST", "BELOW FOR", "AFTER")]
        for one in plan.workloads[:ROWS_MAX]:
            counts = map(str, (one.desired, one.ready_before, one.lowest_ready))
            name = f"{one.namespace}/{one.kind}/{one.name}"
            rest = "+" if one.ready_after < one.desired else ""  # it is not over yet
            rows.append((name, *counts, span(one.below_desired_seconds) + rest, str(one.ready_after)))
        yield from _titled("workloads", rows, len(plan.workloads), len(rows) - 1)
    if plan.budgets:
        rows = [("BUDGET", "AT", "FOR", "WANTS", "LOWEST")]
        for broken in plan.budgets[:ROWS_MAX]:
            times = (span(broken.at_seconds), span(broken.seconds))
            healthy = (str(broken.desired_healthy), str(broken.lowest_healthy))
            rows.append((f"{broken.namespace}/{broken.name}", *times, *healthy))
        yield from _titled("budgets broken", rows, len(plan.budgets), len(rows) - 1)
    if plan.preemptions:
        rows = [("AT", "VICTIM", "NODE", "FOR")]
        rows += [
            (span(victim.at_seconds), f"{victim.namespace}/{victim.name}", victim.node, victim.preemptor)
            for victim in plan.preemptions[:ROWS_MAX]
        ]
        yield from _titled("preemptions", rows, len(plan.preemptions), len(rows) - 1)


def _zones(plan: Plan) -> Iterator[str]:
    moving = [zone for zone in plan.zones if len(zone.moments) > 1 or zone.moments[0].not_ready]
    if not moving:
        return
    rows: list[TextRow] = [("ZONE", "AT", "STATE", "NOT READY", "NODES/S", "")]
    rows += [(zone.zone, *_moment(moment)) for zone in moving for moment in zone.moments]
    yield from _titled("zones", rows[: ROWS_MAX + 1], len(rows) - 1, min(len(rows) - 1, ROWS_MAX))


def _moment(moment: ZoneMoment) -> TextRow:
    halted = f"evictions halted, because {moment.halted_because}" if moment.halted_because else ""
    counts = f"{moment.not_ready}/{moment.nodes}"
    return span(moment.at_seconds), moment.state, counts, f"{moment.nodes_per_second:g}", halted


def _titled(title: str, rows: Sequence[TextRow], total: int, told: int) -> Iterator[str]:
    yield ""
    yield f"{title} ({total})"
    yield from (f"  {line}" for line in table_lines(rows))
    if total > told:
        yield f"  and {total - told} more: -o json and -o html have all"


def table_lines(rows: Sequence[TextRow]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "".join(cell.ljust(width + GAP) for cell, width in zip(row, widths, strict=True)).rstrip()


def _quiet(plan: Plan) -> str:
    at = plan.summary.quiet_at_seconds
    return span(at) if at is not None else f"not within {span(plan.horizon_seconds)}"
