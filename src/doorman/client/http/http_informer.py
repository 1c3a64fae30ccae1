"""An informer over HTTP: fills its cache from a list, follows a watch, and tells the same changes as one in process."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Sequence, Sized
from typing import Any, Final

import msgspec

from doorman.base.clock import Clock, sleep
from doorman.base.errors import ApiError
from doorman.base.reader_faults import ReaderFaults
from doorman.client.controller_contract import ObjectChange
from doorman.client.http.list_watch import ListWatch, Resumption, WatchedEvent, decide_next
from doorman.client.http.unseen_writes import NotedWrite
from doorman.client.informer_cache import InformerCache
from doorman.client.informers import INFORMER_READER, NOTHING_NEEDED, Listener

BACKOFF_SECONDS: Final = 0.8
BACKOFF_SECONDS_MAX: Final = 30.0
BACKOFF_FORGOTTEN_SECONDS: Final = 120.0
LEFT_OUT_SECONDS: Final = 30.0
"""A kind that the server does not have, or may not show, is asked for again so often."""
SHORT_WATCH_SECONDS: Final = 1.0
EVENTS_PER_TURN_MAX: Final = 512
"""After so many the loop gets a turn."""

_log: Final = logging.getLogger("doorman.informer")


INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] = {}


class _Versioned(msgspec.Struct, frozen=True):
    metadata: _Version = _Version()


_decode_version: Final = msgspec.json.Decoder(_Versioned).decode


class WatchBackoff:
    """0.8 s, doubled to 30 s, plus as much again at random; forgotten after two minutes without a failure."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._seconds = BACKOFF_SECONDS
        self._failed_at = float("-inf")

    def next(self) -> float:
        now = self._clock.now()
        if now - self._failed_at > BACKOFF_FORGOTTEN_SECONDS:
            self._seconds = BACKOFF_SECONDS
        self._failed_at = now
        wait = self._seconds * (1.0 + self._rng.random())
        self._seconds = min(self._seconds * 2, BACKOFF_SECONDS_MAX)
        return wait


class HttpInformer:
    def __init__(
        self,
        resource: str,
        source: ListWatch,
        cache: InformerCache[Any],
        decode: Callable[[bytes], Any],
        clock: Clock,
        rng: random.Random,
        faults: ReaderFaults,
        *,
        is_optional: bool = False,
        keeps_documents: bool = False,
        is_streamed: bool = True,
    ) -> None:
        """`is_optional`: who may not read it goes without. `keeps_documents`: bytes are kept besides views.

        `is_streamed`: it is filled by a watch as long as the server does so.
        """
        self._is_streamed = is_streamed
        self.resource = resource
        self.cache = cache
        self.filled = asyncio.Event()
        self.documents: dict[str, bytes] | None = {} if keeps_documents else None
        self.trouble = ""
        """What last went wrong, until it is filled again."""
        self._source = source
        self._decode = decode
        self._clock = clock
        self._faults = faults
        self._is_optional = is_optional
        self._listeners: list[tuple[Listener, str, Sized]] = []
        self._backoff = WatchBackoff(clock, rng)
        self._task: asyncio.Task[None] | None = None
        self._version = ""
        """Of the last list, event or bookmark: where a watch goes on."""
        self._waiting: list[tuple[NotedWrite, asyncio.Future[None]]] = []
        self._told: set[str] = set()

    @property
    def is_following(self) -> bool:
        return self._task is not None

    @property
    def is_read(self) -> bool:
        """False: not yet, or it is gone without."""
        return bool(self._version)

    @property
    def revision(self) -> int:
        return int(self._version) if self._version.isdecimal() else 0

    def listen(self, listener: Listener, reader: str = INFORMER_READER, needed: Sized = NOTHING_NEEDED) -> None:
        self._listeners.append((listener, reader, needed))

    def forget(self, reader: str) -> None:
        self._listeners = [one for one in self._listeners if one[1] != reader]

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def announce(self, reader: str = "") -> None:
        listeners = [one for one in self._listeners if not reader or one[1] == reader]
        for view in self.cache.list():
            self._tell(ObjectChange(self.resource, None, view), listeners)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def seen(self, written: NotedWrite) -> "asyncio.Future[None] | None":
        """Done when the cache shows that write; None when it does."""
        if not self.filled.is_set() or self._task is None or self._shows(written):
            return None
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((written, future))
        return future

    def _shows(self, written: NotedWrite) -> bool:
        if written.gone_uid:
            found = self.cache.get(written.key)
            return found is None or found.metadata.uid != written.gone_uid
        return self.revision >= written.version

    def _wake_waiting(self) -> None:
        if self._waiting:
            left = []
            for written, future in self._waiting:
                if future.done():
                    continue
                if self._shows(written):
                    future.set_result(None)
                else:
                    left.append((written, future))
            self._waiting = left

    async def _run(self) -> None:
        following = Resumption.FILL
        while True:
            try:
                if following is not Resumption.FOLLOW and not (self._is_streamed and await self._fill_by_stream()):
                    await self._fill()
                following = Resumption.FOLLOW
                if await self._follow():
                    continue
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001  whatever it is, the kind is followed again
                following = decide_next(error, is_filled=bool(self._version))
                if await self._left_out(following, error):
                    continue
                self._report(error)
            await sleep(self._clock, self._backoff.next())

    async def _left_out(self, following: Resumption, error: Exception) -> bool:
        """Whether the kind is gone without for a while."""
        if following is Resumption.ABSENT or (following is Resumption.REFUSED and self._is_optional):
            if not self._told:
                _log.info("%s is left out: %s", self.resource, error)
                self._told.add("absent")
            self._replace({})
            self._version = ""
            self.filled.set()
        elif following is Resumption.REFUSED:
            self.trouble = str(error)
            if "refused" not in self._told:
                _log.warning('a right is missing: verbs ["list","watch"] on %s: %s', self.resource, error)
                self._told.add("refused")
        else:
            return False
        await sleep(self._clock, LEFT_OUT_SECONDS)
        return True

    def _report(self, error: Exception) -> None:
        self.trouble = str(error)
        if isinstance(error, ApiError):
            _log.info("%s is followed again: %s", self.resource, error)
        else:
            self._faults.caught(INFORMER_READER, error, about=f"{self.resource} is listed again")

    async def _fill(self) -> None:
        items, version = await self._source.read(self._version)
        found: dict[str, tuple[Any, bytes]] = {}
        for number, item in enumerate(items):
            content = bytes(item)
            view = self._view(content)
            if view is not None:
                found[view.metadata.key] = (view, content)
            if number % EVENTS_PER_TURN_MAX == EVENTS_PER_TURN_MAX - 1:
                await asyncio.sleep(0)
        self._replace(found)
        self._version = version
        self.filled.set()
        self.trouble = ""
        self._wake_waiting()

    async def _fill_by_stream(self) -> bool:
        """Fill from a watch that tells everything first, and follow it; whether it got so far."""
        found: dict[str, tuple[Any, bytes]] = {}
        is_whole = False
        watch = self._source.watch(self._version, initial=True)
        try:
            async with contextlib.aclosing(watch):
                async for events in watch:
                    for event in events:
                        if is_whole:
                            self._take(event)
                        else:
                            is_whole = self._gather(event, found)
                    self._wake_waiting()
                    await asyncio.sleep(0)
        except ApiError as error:
            if is_whole:
                raise
            if error.code in (400, 422):
                _log.info("%s is listed from now on: %s", self.resource, error)
                self._is_streamed = False
            elif error.code in (403, 404, 405, 429):
                raise
        return is_whole

    def _gather(self, event: WatchedEvent, found: dict[str, tuple[Any, bytes]]) -> bool:
        """One of the first events of a stream; whether this is all."""
        content = bytes(event.object)
        if event.type == "BOOKMARK":
            metadata = _decode_version(content).metadata
            if metadata.annotations.get(INITIAL_EVENTS_END) != "true":
                return False
            self._replace(found)
            found.clear()
            self._version = metadata.resource_version
            self.filled.set()
            self.trouble = ""
            return True
        view = self._view(content)
        if view is not None and event.type == "DELETED":
            found.pop(view.metadata.key, None)
        elif view is not None and event.type in ("ADDED", "MODIFIED"):
            found[view.metadata.key] = (view, content)
        return False

    def _replace(self, found: dict[str, tuple[Any, bytes]]) -> None:
        """Tell what is different now."""
        for key in [key for key in self.cache.objects if key not in found]:
            self._remove(key)
        for key, (view, content) in found.items():
            old = self.cache.get(key)
            if old is not None and old.metadata.uid != view.metadata.uid:
                self._remove(key)
            # Not only what is newer: a server that was set up anew counts from the beginning.
            if old is None or old.metadata.resource_version != view.metadata.resource_version:
                self._store(key, view, content)

    async def _follow(self) -> bool:
        """Until the stream ends; whether it was worth it."""
        began = self._clock.now()
        count = 0
        watch = self._source.watch(self._version)
        async with contextlib.aclosing(watch):
            async for events in watch:
                count += len(events)
                for event in events:
                    self._take(event)
                self._wake_waiting()
        return count > 0 or self._clock.now() - began >= SHORT_WATCH_SECONDS

    def _take(self, event: WatchedEvent) -> None:
        content = bytes(event.object)
        if event.type == "BOOKMARK":
            self._version = _decode_version(content).metadata.resource_version or self._version
            return
        if event.type not in ("ADDED", "MODIFIED", "DELETED"):
            _log.warning("%s: an event of type %s is passed over", self.resource, event.type)
            return
        version = _decode_version(content).metadata.resource_version
        view = self._view(content)
        if view is not None:
            if event.type == "DELETED":
                self._remove(view.metadata.key)
            else:
                self._put(view, content)
        self._version = version or self._version

    def _view(self, content: bytes) -> Any:  # a view of the kind
        try:
            return self._decode(content)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            self._faults.caught(INFORMER_READER, error, about=f"an object of {self.resource} is left out")
            return None

    def _put(self, view: Any, content: bytes) -> None:  # a view of the kind
        key, version = view.metadata.key, view.metadata.resource_version
        old = self.cache.get(key)
        if old is not None and not _is_newer(version, old.metadata.resource_version):
            return
        self._store(key, view, content)

    def _store(self, key: str, view: Any, content: bytes) -> None:  # a view of the kind
        if self.documents is not None:
            self.documents[key] = content
        self._tell(ObjectChange(self.resource, self.cache.put(key, view), view))

    def _remove(self, key: str) -> None:
        if self.documents is not None:
            self.documents.pop(key, None)
        old = self.cache.remove(key)
        if old is not None:
            self._tell(ObjectChange(self.resource, old, None))

    def _tell(self, change: ObjectChange, listeners: Sequence[tuple[Listener, str, Sized]] | None = None) -> None:
        for listener, reader, needed in self._listeners if listeners is None else listeners:
            if not needed:
                continue
            try:
                listener(change)
            except Exception as error:  # noqa: BLE001  the others hear of it all the same
                self._faults.caught(reader, error, key=f"{self.resource}/{change.newest.metadata.key}")


def _is_newer(version: str, known: str) -> bool:
    """
    >>> _is_newer("10", "9"), _is_newer("9", "9"), _is_newer("a", "b")
    (True, False, True)
    """
    if version.isdecimal() and known.isdecimal():
        return int(version) > int(known)
    return version != known
