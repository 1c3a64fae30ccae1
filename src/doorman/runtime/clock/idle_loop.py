"""An event loop that can be asked when nothing more happens."""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class IdleLoop(asyncio.SelectorEventLoop):
    """Real connections and real time; `until_idle` waits until nothing is ready and nobody else is waited for."""

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        self._idle: list[asyncio.Future[None]] = []
        self._last: list[Callable[[], None]] = []
        self._executing = 0
        self.awaits_others: Callable[[], bool] = lambda: False
        """Whether something is on its way from another process: a disk's answer, a webhook's."""
        super().__init__(selector or _WatchingSelector(self))

    async def until_idle(self) -> None:
        """Until nothing more happens at the present instant."""
        future = self.create_future()
        self._idle.append(future)
        await future

    def call_last(self, callback: Callable[[], None]) -> None:
        """When nothing else is to be done at the present instant, before anybody who waits for that is woken."""
        self._last.append(callback)

    def run_last(self) -> bool:
        """Whether something was left for this moment, when nothing is ready."""
        callbacks, self._last = self._last, []
        for callback in callbacks:
            self.call_soon(callback)
        return bool(callbacks)

    def wake_idle(self) -> bool:
        """Whether somebody waited for this moment, when nothing is ready."""
        if not self._idle or self._executing or self.awaits_others():
            return False
        waiting, self._idle = self._idle, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
        return bool(waiting)

    def run_in_executor(  # type: ignore[override]  # gives the future that its kind of loop gives
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._executing += 1
        future.add_done_callback(self._executed)
        return future

    def _executed(self, _: "asyncio.Future[Any]") -> None:
        self._executing -= 1


class _WatchingSelector(selectors.DefaultSelector):
    """Tells its loop when it is about to wait."""

    def __init__(self, loop: IdleLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0 or self._loop.run_last() or self._loop.wake_idle():
            return ready
        return super().select(timeout)
