"""Writes that informers have yet to show.

In process an informer knows of a write before whoever made it goes on. Over HTTP it lags behind, and a controller that
looked again too early would create the same pod twice. So whoever carries out the actions of a key notes what was
written, and the key is under way until the informers have seen all of it (`RemoteExecutor`).
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final

import msgspec

from doorman.client.actions import Action
from doorman.client.client import Client, Recorder, Renewer
from doorman.client.executor import Executor

UNSEEN_SECONDS_MAX: Final = 30.0
"""Should an informer not get to see a write in this time, the key is looked at all the same."""


class NotedWrite(msgspec.Struct, frozen=True):
    """One object that was written: at which version, or gone."""

    resource: str
    key: str
    version: int
    gone_uid: str = ""
    """It was deleted, with this uid."""


_noted: ContextVar[list[NotedWrite] | None] = ContextVar("doorman-noted-writes", default=None)

Seen = Callable[[NotedWrite], "asyncio.Future[None] | None"]
"""What is done when an informer has seen it; None: it has already, or nobody follows that kind."""


def note(resource: str, namespace: str, document: Any, deleted: str = "") -> None:  # the answer to a write
    """What the server answered to a write. `deleted`: the name of what was to go."""
    noted = _noted.get()
    if noted is None or not isinstance(document, dict):
        return
    metadata = document.get("metadata") or {}
    version = metadata.get("resourceVersion") or ""
    if document.get("kind") == "Status":
        uid = (document.get("details") or {}).get("uid") or ""
        if uid:
            noted.append(NotedWrite(resource, f"{namespace}/{deleted}" if namespace else deleted, 0, uid))
    elif version.isdecimal():
        name = metadata.get("name") or deleted
        noted.append(NotedWrite(resource, f"{namespace}/{name}" if namespace else name, int(version)))


class RemoteExecutor(Executor):
    """Carries out actions, and returns when informers show what they did."""

    def __init__(self, client: Client, recorder: Recorder, renewer: Renewer | None, seen: Seen) -> None:
        super().__init__(client, recorder, renewer)
        self._seen = seen

    async def run(self, actions: Iterable[Action]) -> None:
        noted: list[NotedWrite] = []
        token = _noted.set(noted)
        try:
            await super().run(actions)
        finally:
            _noted.reset(token)
            waits = [wait for written in noted if (wait := self._seen(written)) is not None]
            if waits:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(UNSEEN_SECONDS_MAX):
                        await asyncio.gather(*waits)
