"""Runs one controller: a queue of keys, actions under way, wakes, retries.

A key is reconciled by one caller at a time: while its actions are under way a further wake only marks it to be looked
at again. Reconciling is synchronous, so keys without actions cost no task.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol, runtime_checkable

from doorman.base.clock import Alarm, Clock, ClockSteps, Instant
from doorman.base.errors import ApiError
from doorman.base.reader_faults import ReaderFaults
from doorman.base.timers import TimerHeap
from doorman.client.controller_contract import (
    ClockFollower,
    Controller,
    FailureListener,
    LooksLast,
    ObjectChange,
    Result,
    Source,
)
from doorman.client.executor import Executor
from doorman.client.workqueue_metrics import WorkqueueMetrics

KEYS_PER_TURN_MAX: Final = 256
"""After so many keys the loop gets a turn, so that requests are answered meanwhile."""

_log: Final = logging.getLogger("doorman.controller")


@runtime_checkable
class HasLastCalls(Protocol):
    """An event loop in virtual time."""

    def call_last(self, callback: Callable[[], None]) -> None: ...


class ControllerRunner:
    def __init__(
        self,
        controller: Controller,
        executor: Executor,
        clock: Clock,
        *,
        queue_names: Mapping[str, str] | None = None,
        stopwatch: Callable[[], float] = float,
        faults: ReaderFaults | None = None,
    ) -> None:
        """`queue_names` are for metrics: by kind of key (what comes before the first slash), "" for all others.
        `stopwatch` gives seconds from any beginning.
        """
        self.controller = controller
        self._faults = faults or ReaderFaults()
        self._executor = executor
        self._clock = clock
        self._clock_steps = ClockSteps(clock)
        self._stopwatch = stopwatch
        self._queue: OrderedDict[str, float] = OrderedDict()
        """Keys that wait, and since when by the stopwatch."""
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._attempts: dict[str, int] = {}
        self._began: dict[str, float] = {}
        """Of keys whose actions are under way: when somebody began to look at them."""
        names = {"": controller.name, **(queue_names or {})}
        by_name = {name: WorkqueueMetrics(name) for name in names.values()}
        self._metrics = {kind: by_name[name] for kind, name in names.items()}
        self._default_metrics = self._metrics[""]
        self._wakes: TimerHeap[str] = TimerHeap()
        self._timer: Alarm | None = None
        self._timer_due: Instant = 0.0
        self._is_turn_due = False
        self._is_stopped = False
        self._loop = asyncio.get_running_loop()
        self._call_soon: Callable[[Callable[[], None]], object] = self._loop.call_soon
        is_patient = isinstance(controller, LooksLast) and controller.looks_last
        if is_patient and isinstance(self._loop, HasLastCalls):
            self._call_soon = self._loop.call_last

    @property
    def depth(self) -> int:
        """Keys that wait."""
        return len(self._queue)

    @property
    def metrics(self) -> Iterable[WorkqueueMetrics]:
        """Of each of its queues."""
        return dict.fromkeys(self._metrics.values())

    def depths(self) -> Counter[str]:
        """Keys that wait, by queue."""
        return Counter(self._metrics_of(key).name for key in self._queue)

    def under_way_seconds(self) -> dict[str, list[float]]:
        """For how long keys have been worked on that are not done yet, by queue."""
        now = self._stopwatch()
        found: dict[str, list[float]] = {}
        for key, began in self._began.items():
            found.setdefault(self._metrics_of(key).name, []).append(now - began)
        return found

    def last_wake(self) -> Instant | None:
        """The last instant at which it wants a key looked at, of those it knows of."""
        return self._wakes.last_due()

    def start(self) -> None:
        try:
            result = self.controller.start(self._now())
        except Exception as error:  # noqa: BLE001  a server starts whatever is stored
            self._caught(error, "")
            return
        self._take(result, "")

    def _caught(self, error: Exception, key: str) -> None:
        self._faults.caught(self.controller.name, error, about=f"key {key!r} is left" if key else "")

    def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._under_way.values()):
            task.cancel()

    def listener(self, source: Source) -> Callable[[ObjectChange], None]:
        """Who is to hear of the changes of a source."""
        keys, add = source.keys, self.add

        def changed(change: ObjectChange) -> None:
            for key in keys(change):
                add(key)

        return changed

    def add(self, key: str) -> None:
        if key in self._under_way:
            self._again.add(key)
            return
        if key not in self._queue:
            self._queue[key] = self._stopwatch()
            self._metrics_of(key).adds += 1
        self._soon()

    def _metrics_of(self, key: str) -> WorkqueueMetrics:
        if len(self._metrics) == 1:
            return self._default_metrics
        return self._metrics.get(key.partition("/")[0], self._default_metrics)

    def _soon(self) -> None:
        if not self._is_turn_due and not self._is_stopped:
            self._is_turn_due = True
            self._call_soon(self._turn)

    def _turn(self) -> None:
        self._is_turn_due = False
        now = self._now()
        for _ in range(KEYS_PER_TURN_MAX):
            if not self._queue or len(self._under_way) >= self.controller.workers or self._is_stopped:
                return
            key, since = self._queue.popitem(last=False)
            began = self._stopwatch()
            metrics = self._metrics_of(key)
            metrics.waited.observe(began - since)
            try:
                result = self.controller.reconcile(key, now)
            except Exception as error:  # noqa: BLE001  a bug with one key must not stop the others
                self._caught(error, key)
                continue
            self._take(result, key)
            if result.actions:
                self._began[key] = began
            else:
                metrics.worked.observe(self._stopwatch() - began)
        if self._queue:
            self._soon()

    def _take(self, result: Result, key: str) -> None:
        if result.wakes:
            now = self._clock.now()
            for wake_key, due in result.wakes:
                if due <= now:
                    self.add(wake_key)
                else:
                    self._wakes.add(wake_key, due)
            self._arm()
        if result.actions:
            task = self._loop.create_task(self._act(result, key))
            self._under_way[key] = task
        else:
            self._attempts.pop(key, None)

    async def _act(self, result: Result, key: str) -> None:
        try:
            await self._executor.run(result.actions)
        except ApiError as error:
            try:
                self._failed(result, key, error)
            except Exception as fault:  # noqa: BLE001  the same: what it makes of a failure is its own
                self._caught(fault, key)
        except asyncio.CancelledError:
            return
        except Exception as error:  # noqa: BLE001  a bug in one controller must not stop the others
            self._caught(error, key)
        else:
            self._attempts.pop(key, None)
        finally:
            self._under_way.pop(key, None)
            began = self._began.pop(key, None)
            if began is not None:
                self._metrics_of(key).worked.observe(self._stopwatch() - began)
            if key in self._again:
                self._again.discard(key)
                self.add(key)
            self._soon()

    def _failed(self, result: Result, key: str, error: ApiError) -> None:
        attempts = self._attempts.get(key, 0) + 1
        retry = result.retry
        if attempts >= retry.attempts_max:
            self._attempts.pop(key, None)
            _log.info("%s gave up on %s: %s", self.controller.name, key, error)
            self.controller.gave_up(key, error, self._now())
            return
        if isinstance(self.controller, FailureListener):
            self.controller.failed(key, error)
        self._attempts[key] = attempts
        self._metrics_of(key).retries += 1
        delay = min(retry.delay_seconds * retry.factor ** (attempts - 1), retry.delay_seconds_max)
        self._wakes.add(key, self._now() + delay)
        self._arm()

    def _now(self) -> Instant:
        """The time of day. Of a clock that was set, those hear first who count durations by it."""
        step = self._clock_steps.take()
        if step:
            self._wakes.shift(step)
            self._timer_due += step
            if isinstance(self.controller, ClockFollower):
                self.controller.clock_was_set(step)
        return self._clock.now()

    def _arm(self) -> None:
        due = self._wakes.next_due()
        if self._timer is not None:
            if due is not None and self._timer_due <= due:
                return
            self._timer.cancel()
            self._timer = None
        if due is not None and not self._is_stopped:
            self._timer_due = due
            self._timer = self._clock.call_at(due, self._fire)

    def _fire(self) -> None:
        self._timer = None
        for key in self._wakes.pop_due(self._now()):
            self.add(key)
        self._arm()
