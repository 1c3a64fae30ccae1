"""An event loop on a thread of its own, for callers that know nothing of event loops, or have one themselves."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from doorman.runtime.clock.idle_loop import IdleLoop

T = TypeVar("T")


class LoopThread:
    def __init__(self) -> None:
        self.loop = IdleLoop()
        self._thread = threading.Thread(target=self._run, name="doorman", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:  # a coroutine's own types
        """Run it there and wait for what it gives."""
        assert threading.current_thread() is not self._thread, "this thread would wait for itself"
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the caller was interrupted: nobody waits for it any more
            raise

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            self.loop.close()
