"""Runs controllers: each with the client of who it acts as, woken by the informers of the kinds it names."""

import time
from collections.abc import Callable
from typing import TypeGuard, TypeVar

from doorman.api.kinds import Kinds
from doorman.base.clock import Clock
from doorman.base.reader_faults import ReaderFaults
from doorman.client.client import Client, Recorder, Renewer
from doorman.client.controller_contract import Controller, KindFollower, Source
from doorman.client.controller_runner import ControllerRunner
from doorman.client.executor import Executor
from doorman.client.informers import NOTHING_NEEDED, Informers
from doorman.client.recorder import QUEUE_EVENTS_MAX, EventRecorder
from doorman.runtime.metrics.workqueue_names import QUEUE_NAMES

T = TypeVar("T")


class ControllerManager:
    def __init__(
        self,
        informers: Informers,
        kinds: Kinds,
        clock: Clock,
        faults: ReaderFaults,
        *,
        host: str,
        recorder: Recorder | None = None,
        new_executor: Callable[[Client, Recorder, Renewer | None], Executor] = Executor,
        events_max: int = QUEUE_EVENTS_MAX,
    ) -> None:
        """`recorder` takes all events; None: they are written, and `events_max` of a controller may wait for it.

        `new_executor` makes who carries out actions.
        """
        self._informers = informers
        self._kinds = kinds
        self._clock = clock
        self._faults = faults
        self._host = host
        self._recorder = recorder
        self._new_executor = new_executor
        self._events_max = events_max
        self._followed: dict[str, None] = {}
        """Custom kinds that controllers were told of."""
        self.runners: list[ControllerRunner] = []

    def add(self, controller: Controller, client: Client, renewer: Renewer | None = None) -> None:
        """`client` acts as the controller does; `renewer` carries out renewals of leases, for who has them."""
        recorder = self._recorder or EventRecorder(
            client, self._clock, host=self._host, faults=self._faults, queue_max=self._events_max
        )
        runner = ControllerRunner(
            controller,
            self._new_executor(client, recorder, renewer),
            self._clock,
            queue_names=QUEUE_NAMES.get(controller.name),
            stopwatch=time.perf_counter,
            faults=self._faults,
        )
        for source in controller.sources:
            self._listen(runner, source)
        self.runners.append(runner)

    def join(self, controller: Controller, client: Client, renewer: Renewer | None = None) -> None:
        """The same while the others run: it is told of all that is there, and starts."""
        self.add(controller, client, renewer)
        runner = self.runners[-1]
        for resource in self._followed:
            self._follow(runner, resource)
        for resource in dict.fromkeys((*(source.resource for source in controller.sources), *self._followed)):
            informer = self._informers.of(resource)
            if not informer.is_following:
                informer.start()
            informer.announce(controller.name)
        runner.start()

    def leave(self, runner: ControllerRunner) -> None:
        """It acts no more, and hears of nothing."""
        runner.stop()
        self.runners.remove(runner)
        for informer in self._informers.all():
            informer.forget(runner.controller.name)

    def start(self) -> None:
        for runner in self.runners:
            runner.start()

    def stop(self) -> None:
        for runner in self.runners:
            runner.stop()

    def find(self, can: Callable[[object], TypeGuard[T]]) -> T | None:
        """The controller that can do something, if one that can runs."""
        return next((runner.controller for runner in self.runners if can(runner.controller)), None)

    def follow_kind(self, resource: str) -> None:
        """A custom kind is served from now on: controllers that look after every kind look after it, too."""
        informer = self._informers.of(resource)
        if informer.is_following:
            return
        for runner in self.runners if resource not in self._followed else ():
            self._follow(runner, resource)
        self._followed[resource] = None
        informer.start()
        informer.announce()

    def _follow(self, runner: ControllerRunner, resource: str) -> None:
        controller, informer = runner.controller, self._informers.of(resource)
        if isinstance(controller, KindFollower):
            namespaced = self._kinds.named(resource).namespaced
            for source in controller.add_kind(resource, informer.cache, namespaced=namespaced):
                self._listen(runner, source)

    def _listen(self, runner: ControllerRunner, source: Source) -> None:
        needed = self._informers.lister(source.only_with).objects if source.only_with else NOTHING_NEEDED
        self._informers.of(source.resource).listen(runner.listener(source), runner.controller.name, needed)
