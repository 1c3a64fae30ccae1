"""The world of a simulation: one clock, processes with an event loop each, and everything that is yet to happen.

Nothing runs beside anything else. Of the processes that have something to do one is chosen by the seed, and does one
thing; when none has, time goes on to the next timer or event. A process that dies is never run again: nothing of it is
cancelled or cleaned up.
"""

import asyncio
import asyncio.events
import contextlib
import contextvars
import hashlib
import heapq
import random
from asyncio import base_events
from collections import deque
from collections.abc import Callable
from typing import Any

from doorman.base.clock import Alarm, Instant, ManualClock

TRACE_LINES = 60
CLOSE_TRIES = 20


class SimulationFailed(AssertionError):
    """Something that must hold does not."""


class SimClock:
    """What a machine takes for the time of day; it may jump."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.ahead_seconds = 0.0

    def now(self) -> Instant:
        return self._world.clock.now() + self.ahead_seconds

    def steady(self) -> float:
        return self._world.now()

    def call_at(self, instant: Instant, callback: Callable[[], object]) -> Alarm:
        loop = asyncio.get_running_loop()
        return loop.call_at(loop.time() + max(instant - self.now(), 0.0), callback)


class SimLoop(base_events.BaseEventLoop):
    """The event loop of one process. It knows sockets of the simulated network and no others."""

    def __init__(self, world: "World", name: str) -> None:
        super().__init__()
        self.world = world
        self.name = name
        self.machine: Any = None
        """What it runs on, if that is simulated."""
        self.is_alive = True
        self.stopped_until = 0.0
        """Until then it does nothing, as after SIGSTOP."""
        self.signals: dict[int, Callable[[], object]] = {}
        self.set_exception_handler(self._unhandled)

    def time(self) -> float:
        return self.world.clock.now() - self.world.began

    def _write_to_self(self) -> None:
        """There is no other thread."""

    def _process_events(self, event_list: Any) -> None:
        """There are none."""

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:
        self.signals[sig] = lambda: callback(*args)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":  # type: ignore[override]
        future: asyncio.Future[Any] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  it is for whoever awaits it
            future.set_exception(error)
        return future

    async def create_connection(self, protocol_factory: Any, *_: Any, sock: Any = None, **__: Any) -> Any:
        protocol = protocol_factory()
        transport = sock.attach(protocol, self)
        await asyncio.sleep(0)
        return transport, protocol

    # For the world.

    @property
    def is_ready(self) -> bool:
        return bool(self._ready)

    def next_timer(self) -> float | None:
        while self._scheduled and self._scheduled[0]._cancelled:
            self._timer_cancelled_count -= 1
            handle = heapq.heappop(self._scheduled)
            handle._scheduled = False
        return self._scheduled[0]._when if self._scheduled else None

    def take_due(self) -> int:
        """Timers that are due become ready. How many they were."""
        now, count = self.time(), 0
        while (when := self.next_timer()) is not None and when <= now:
            handle = heapq.heappop(self._scheduled)
            handle._scheduled = False
            self._ready.append(handle)
            count += 1
        return count

    def run_one(self) -> None:
        handle = self._ready.popleft()
        if not handle._cancelled:
            asyncio.events._set_running_loop(self)
            try:
                handle._run()
            finally:
                asyncio.events._set_running_loop(None)

    def inside(self, function: Callable[[], Any]) -> Any:
        """Call something as this process: it may look for the running loop."""
        outer = asyncio.events._get_running_loop()
        asyncio.events._set_running_loop(self)
        try:
            return function()
        finally:
            asyncio.events._set_running_loop(outer)

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if self.is_alive:
            self._ready.append(handle)
        return handle

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        if self.is_alive:
            return super().call_at(when, callback, *args, context=context)
        return asyncio.TimerHandle(when, callback, args, self, context)

    def die(self) -> None:
        """Nothing of it is run any more. What Python wants to clean up in its coroutines happens now, and to nobody:
        left to the garbage collector it would happen some time, and to others.
        """
        self.is_alive = False
        self._ready.clear()
        self._scheduled.clear()
        self.world.is_inert = True
        try:
            for task in [task for task in asyncio.tasks._all_tasks if task.get_loop() is self]:
                task._log_destroy_pending = False
                _close(task.get_coro())
        finally:
            self.world.is_inert = False

    def _unhandled(self, _: Any, context: dict[str, Any]) -> None:
        if self.is_alive and not self.world.is_over:
            self.world.unhandled.append(f"{self.name}: {context.get('message')} {context.get('exception')!r}")


def _close(coroutine: Any) -> None:
    """However often it awaits something more on its way out."""
    for _ in range(CLOSE_TRIES):
        with contextlib.suppress(Exception):
            coroutine.close()
            return


class World:
    def __init__(self, seed: object) -> None:
        self.rng = random.Random(f"world {seed}")
        self.clock = ManualClock()
        self.began = self.clock.now()
        self.loops: list[SimLoop] = []
        self.steps = 0
        self.folder = "FOLDER"
        """What is called otherwise in every run."""
        self.is_over = False
        self.is_inert = False
        """Whatever is done now is done by the dead."""
        self.unhandled: list[str] = []
        self.failure: SimulationFailed | None = None
        """The first: it may be raised where somebody would take it for his own."""
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._digest = hashlib.sha256()
        self._trace: deque[str] = deque(maxlen=TRACE_LINES)
        self._spent = 0.0

    def process(self, name: str) -> SimLoop:
        loop = SimLoop(self, name)
        self.loops.append(loop)
        return loop

    def end(self, loop: SimLoop) -> None:
        loop.die()
        if loop in self.loops:
            self.loops.remove(loop)

    def now(self) -> float:
        return self.clock.now() - self.began

    def at(self, instant: float, callback: Callable[[], None]) -> None:
        if self.is_inert:
            return
        self._count += 1
        heapq.heappush(self._events, (max(instant, self.now()), self._count, callback))

    def after(self, seconds: float, callback: Callable[[], None]) -> None:
        self.at(self.now() + seconds, callback)

    def note(self, what: str) -> None:
        """Something that happened: one run of a seed notes the same as another."""
        if self.is_inert:
            return
        line = f"{self.now():.6f} {what.replace(self.folder, 'FOLDER')}"
        self._digest.update(line.encode())
        self._trace.append(line)

    def fail(self, why: str) -> None:
        if self.failure is None:
            text = "\n".join((f"after {self.steps} steps: {why}", "what happened last:", *self._trace))
            self.failure = SimulationFailed(text)
        raise self.failure

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def spent(self) -> float:
        """For whoever measures how long work takes: each look at it is a quarter of a millisecond later."""
        self._spent += 0.00025
        return self._spent

    def run(self, until: Callable[[], bool], seconds_max: float) -> bool:
        """Until something holds; False: it did not within that time."""
        end = self.now() + seconds_max
        while not until():
            if self.failure is not None:
                raise self.failure
            if self.now() > end or not self.advance():
                return False
        return True

    def advance(self) -> bool:
        """One thing happens. False: there is nothing more to happen, ever."""
        now = self.now()
        ready = [loop for loop in self.loops if loop._ready and loop.stopped_until <= now]
        if ready:
            loop = ready[0] if len(ready) == 1 else self.rng.choice(ready)
            # A few things at a time: it is quicker, and the others still come in between everywhere.
            for _ in range(self.rng.randrange(1, 8)):
                if not loop._ready:
                    break
                loop.run_one()
            if self.unhandled:
                self.fail(self.unhandled[0])
            return True
        return self._pass_time()

    def _pass_time(self) -> bool:
        now = self.now()
        going = [loop for loop in self.loops if loop.stopped_until <= now]
        timers = [when for loop in going if (when := loop.next_timer()) is not None]
        timers += [loop.stopped_until for loop in self.loops if loop.stopped_until > now]
        if self._events:
            timers.append(self._events[0][0])
        if not timers:
            return False
        next_instant = min(timers)
        if next_instant > self.now():
            self.clock.advance_to(max(self.began + next_instant, self.clock.now()))
            if self.now() < next_instant:  # less than the clock can show
                self.clock.advance_to(self.clock.now() + 1e-6)
        for loop in self.loops:
            if loop.stopped_until <= self.now():
                self.steps += loop.take_due()
        while self._events and self._events[0][0] <= self.now():
            _, _, callback = heapq.heappop(self._events)
            self.steps += 1
            contextvars.Context().run(callback)
        return True
