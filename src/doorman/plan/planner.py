"""`plan`: what happens to a cluster when something is done to it.

    snapshot ─► ClusterCopy (real components, virtual time) ─► settle ─► do the action ─► follow ─► Plan

The copy goes on until nothing more can happen, or until the horizon.
"""

import asyncio
import gc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeGuard, runtime_checkable

from doorman.base.clock import ManualClock
from doorman.plan.action_runner import ActionRunner, words
from doorman.plan.cluster_copy import ClusterCopy
from doorman.plan.plan_actions import ApplyObjects, PlanError, Step
from doorman.plan.plan_options import PlanOptions, PlanProgress
from doorman.plan.plan_result import Plan
from doorman.plan.trails.cluster_trail import ClusterTrail
from doorman.runtime.virtual_time import run_virtual
from doorman.snapshot.object_restoration import Restored, restored
from doorman.snapshot.snapshot_format import Snapshot

QUIET_PASSES: Final = 3
"""So many looks at all nodes, after the grace in which a silent node may still speak, without anything new."""


MOMENT_SECONDS: Final = 1e-6


@runtime_checkable
class TimedEvictions(Protocol):
    """A controller that evicts pods later."""

    @property
    def timers_pending(self) -> int: ...


@runtime_checkable
class TimedDetachments(Protocol):
    """A controller that detaches volumes later."""

    @property
    def detachments_pending(self) -> int: ...


def has_detachment_timers(controller: object) -> TypeGuard[TimedDetachments]:
    return isinstance(controller, TimedDetachments)


def has_eviction_timers(controller: object) -> TypeGuard[TimedEvictions]:
    return isinstance(controller, TimedEvictions)


def plan(
    snapshot: Snapshot,
    steps: Sequence[Step],
    options: PlanOptions | None = None,
    *,
    progress: PlanProgress = lambda _what, _share: None,
) -> Plan:
    """What happens when these steps are done; without any, what happens anyway.

    Raises `PlanError` for what cannot be done, and `SnapshotError` for what cannot be taken up.
    """
    options = options if options is not None else PlanOptions()
    check_steps(steps, options)
    progress("taking up the snapshot", 0.0)
    found = restored(snapshot)
    run = _Run(found, steps, options, progress, redacts=snapshot.redacted)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run.made()
    # Somebody's loop is running in this thread, and a thread runs one at a time.
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(run.made).result()


def check_steps(steps: Sequence[Step], options: PlanOptions) -> None:
    if options.horizon_seconds <= 0:
        raise PlanError("the horizon must be more than nothing", "--horizon 1h is the default")
    before = 0.0
    for step in steps:
        if step.at_seconds < before:
            raise PlanError(
                f"time goes backwards: {words(step.action)} at {step.at_seconds:g}s comes after {before:g}s",
                "put the steps in the order of their times",
            )
        before = step.at_seconds
    if before > options.horizon_seconds:
        raise PlanError(
            f"the last step, at {before:g}s, is after the horizon of {options.horizon_seconds:g}s",
            "give a longer --horizon",
        )


class _Run:
    """One plan being made."""

    def __init__(
        self, found: Restored, steps: Sequence[Step], options: PlanOptions, progress: PlanProgress, *, redacts: bool
    ) -> None:
        self._found = found
        self._steps = list(steps)
        self._options = options
        self._redacts = redacts
        self._progress = progress
        self._clock = ManualClock(found.resumed_at)

    def made(self) -> Plan:
        gc.disable()  # what is made here stays until the end
        try:
            return run_virtual(self._main(), clock=self._clock)
        finally:
            gc.enable()

    async def _main(self) -> Plan:
        copy = ClusterCopy(
            self._found,
            self._options.settings,
            self._clock,
            seed=self._options.seed,
            may_begin_rollouts=any(isinstance(step.action, ApplyObjects) for step in self._steps),
        )
        await copy.prepare()
        trail = ClusterTrail(copy)
        copy.plane.start()
        trail.begin()
        self._progress("letting it settle", 0.0)
        await copy.settle()
        # Whatever comes now comes after the snapshot: nothing of it was under way then.
        await copy.sleep_until(self._clock.now() + MOMENT_SECONDS)
        runner = ActionRunner(copy.plane, copy.client, self._clock, redacts=self._redacts)
        try:
            await self._follow(copy, trail, runner)
            return trail.told(
                action="; ".join(_step_words(step) for step in self._steps) or "nothing is done",
                options=self._options,
                notes=tuple(runner.notes),
            )
        finally:
            runner.stop()
            await copy.plane.stop()

    async def _follow(self, copy: ClusterCopy, trail: ClusterTrail, runner: ActionRunner) -> None:
        begun = self._clock.now()
        end = begun + self._options.horizon_seconds
        period = self._options.settings.node_lifecycle.node_monitor_period_seconds
        due = list(self._steps)
        trail.look()
        next_look = begun
        while True:
            now = self._clock.now()
            while due and begun + due[0].at_seconds <= now:
                await runner.do(due.pop(0).action)
                await copy.settle()
            runner.check()
            if now >= end or (self._options.until_quiet and not due and self._is_quiet(copy, trail, runner)):
                return
            if now >= next_look:
                trail.look()
                next_look = now + period
                self._progress("following what happens", (now - begun) / (end - begun))
            await copy.sleep_until(min(next_look, end, *(begun + step.at_seconds for step in due[:1])))

    def _is_quiet(self, copy: ClusterCopy, trail: ClusterTrail, runner: ActionRunner) -> bool:
        """Whether nothing more can happen but what always does."""
        settings = self._options.settings.node_lifecycle
        patience = settings.node_monitor_grace_period_seconds + QUIET_PASSES * settings.node_monitor_period_seconds
        if runner.is_busy or self._clock.now() - trail.changed_at <= patience:
            return False
        timers = copy.plane.find(has_eviction_timers)
        detachments = copy.plane.find(has_detachment_timers)
        return (
            not trail.is_waiting()
            and (timers is None or timers.timers_pending == 0)
            and (detachments is None or detachments.detachments_pending == 0)
        )


def _step_words(step: Step) -> str:
    return words(step.action) if step.at_seconds == 0 else f"at {step.at_seconds:g}s {words(step.action)}"
