"""Simulations of a whole server under faults, from one seed each.

    .venv/bin/python tests/sim/simulate.py --seed 1 --steps 1000000
    .venv/bin/python tests/sim/simulate.py --store etcd --seed 1 --steps 200000
    .venv/bin/python tests/sim/simulate.py --replay tests/sim/seeds/NAME.json

One seed gives one run, byte for byte: the digest says so. Many steps are run as seeds of 50,000, on as many processors
as there are. When something does not hold, the run is made small (fewer kinds of faults, fewer clients) and its plan is
written to a file, which belongs to `tests/sim/seeds` when the bug is mended.
"""

import argparse
import gc
import multiprocessing
import os
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from sim.sim_world import SimulationFailed
from sim.simulation import Plan, Report, plan_of, simulate

SEED_STEPS = 50_000
SEEDS = Path(__file__).parent / "seeds"


class Outcome(msgspec.Struct, frozen=True):
    plan: Plan
    report: Report | None
    fault: str


def attempt(plan: Plan) -> Outcome:
    gc.collect()
    try:
        return Outcome(plan, simulate(plan), "")
    except SimulationFailed as failure:
        return Outcome(plan, None, str(failure))


def shrunk(plan: Plan) -> Plan:
    """A smaller plan that fails as well: without kinds of faults and clients that it does not take."""
    for kind in plan.faults:
        fewer = msgspec.structs.replace(plan, faults=tuple(each for each in plan.faults if each != kind))
        if attempt(fewer).fault:
            plan = fewer
    for smaller in (
        msgspec.structs.replace(plan, disturbs=False),
        *(msgspec.structs.replace(plan, clients=count) for count in (1, 2)),
        *(msgspec.structs.replace(plan, watchers=count) for count in (0, 1)),
    ):
        merged = msgspec.structs.replace(
            plan,
            disturbs=min(plan.disturbs, smaller.disturbs),
            clients=min(plan.clients, smaller.clients),
            watchers=min(plan.watchers, smaller.watchers),
        )
        if attempt(merged).fault:
            plan = merged
    return plan


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--steps", type=int, default=SEED_STEPS)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--store", choices=("sqlite", "etcd"), default="sqlite")
    parser.add_argument("--replay", type=Path, help="a plan in a file")
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args()
    if options.replay:
        plans = [msgspec.json.decode(options.replay.read_bytes(), type=Plan)]
    else:
        starts = range(0, options.steps, SEED_STEPS)
        plans = [
            plan_of(options.store, options.seed + number, min(SEED_STEPS, options.steps - start))
            for number, start in enumerate(starts)
        ]
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=1) as pool:
        outcomes = pool.map(attempt, plans, chunksize=1)
    _tell(outcomes, time.monotonic() - began)
    failed = [outcome for outcome in outcomes if outcome.fault]
    for outcome in failed:
        print(f"seed {outcome.plan.seed}: {outcome.fault}", file=sys.stderr)
        plan = outcome.plan if options.no_shrink or options.replay else shrunk(outcome.plan)
        file = Path(f"seed-{plan.seed}.json")
        file.write_bytes(msgspec.json.format(msgspec.json.encode(plan)) + b"\n")
        print(f"again: .venv/bin/python tests/sim/simulate.py --replay {file}", file=sys.stderr)
    return 1 if failed else 0


def _tell(outcomes: list[Outcome], seconds: float) -> None:
    reports = [outcome.report for outcome in outcomes if outcome.report is not None]
    steps, faults, answers = sum(report.steps for report in reports), Counter[str](), Counter[str]()
    for report in reports:
        faults.update(report.faults)
        answers.update(report.answers)
    for outcome in outcomes:
        print(f"seed {outcome.plan.seed}: {outcome.report.digest if outcome.report is not None else 'FAILED'}")
    print(f"{steps} steps, {faults.total()} faults, {answers.total()} requests of clients in {seconds:.0f} s")
    if reports:
        hours = sum(report.virtual_seconds for report in reports) / 3600
        starts, watched = sum(report.starts for report in reports), sum(report.watched for report in reports)
        evictions = sum(report.evictions for report in reports)
        leaders = sum(report.leaders for report in reports)
        print(f"{hours:.1f} h of virtual time, {starts} starts of the server, {watched} events watched", end=", ")
        print(f"{evictions} evictions, {leaders} leaders", end="; ")
        print(f"{steps / seconds:.0f} steps/s, {faults.total() / seconds:.1f} faults/s")
        print(f"faults: {dict(sorted(faults.items()))}")


if __name__ == "__main__":
    sys.exit(main())
