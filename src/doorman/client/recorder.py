"""Events, as Kubernetes' recorders write them.

Two styles. The classic one (core/v1, used by controllers): a repeat patches count, lastTimestamp and message of
the first event; from the tenth on, similar ones with less than ten minutes between them are combined; a source that
floods one object is cut off. The newer one (events.k8s.io/v1, used by the scheduler: actions with `action` set): a
repeat starts a series.

Recording is never in anybody's way: events wait in a bounded queue, and one that cannot be written is dropped. They are
written one after the other, as upstream does, so that a flood of them does not slow down what it tells of.
"""

import asyncio
import zlib
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from doorman.base.clock import Clock, Instant, sleep
from doorman.base.errors import ApiError
from doorman.base.instants import to_micro_time, to_time
from doorman.base.reader_faults import ReaderFaults
from doorman.client.actions import Create, ObjectReference, Patch, RecordEvent
from doorman.client.client import Client, Disconnected

QUEUE_EVENTS_MAX: Final = 100_000
REMEMBERED_MAX: Final = 4096
TELLER_NANOSECONDS_MAX: Final = 1_000_000
SPAM_BURST: Final = 25
SPAM_REFILL_SECONDS: Final = 300.0
SIMILAR_MAX: Final = 10
SIMILAR_SECONDS: Final = 600.0
SERIES_SECONDS: Final = 360.0


ATTEMPTS_MAX: Final = 12
ATTEMPT_SECONDS: Final = 10.0
"""An event that could not be written for want of a connection is tried again so often, so far apart."""
REMOTE_QUEUE_EVENTS_MAX: Final = 1000
"""Of a process that writes them over HTTP."""


class _Known(msgspec.Struct):
    """An event that was written and may repeat."""

    name: str
    namespace: str
    count: int
    seen: Instant
    first: Instant


class _Similar(msgspec.Struct):
    messages: dict[str, None]
    last: Instant


class _Bucket(msgspec.Struct):
    tokens: float
    at: Instant


class EventRecorder:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        host: str = "",
        faults: ReaderFaults | None = None,
        queue_max: int = QUEUE_EVENTS_MAX,
    ) -> None:
        self._queue_max = queue_max
        self.dropped = 0
        """For want of a place in the queue."""
        self._client = client
        self._faults = faults or ReaderFaults()
        self._clock = clock
        self._host = host
        self._known: OrderedDict[tuple[str, ...], _Known] = OrderedDict()
        self._similar: OrderedDict[tuple[str, ...], _Similar] = OrderedDict()
        self._buckets: OrderedDict[tuple[str, ...], _Bucket] = OrderedDict()
        self._stamp = 0
        self._waiting: deque[tuple[RecordEvent, Instant]] = deque()
        self._writer: asyncio.Task[None] | None = None
        """While there is something to write."""

    def record(self, action: RecordEvent) -> None:
        if len(self._waiting) >= self._queue_max:
            self.dropped += 1
            return
        self._waiting.append((action, self._clock.now()))
        if self._writer is None:
            self._writer = asyncio.ensure_future(self._write_waiting())

    @property
    def is_idle(self) -> bool:
        return self._writer is None

    async def _write_waiting(self) -> None:
        """One after the other, until none waits."""
        try:
            while self._waiting:
                action, now = self._waiting.popleft()
                try:
                    write = self._series(action, now) if action.action else self._classic(action, now)
                    if write is None:
                        continue
                    try:
                        await write()
                    except Disconnected:
                        await self._try_again(write)
                    except ApiError:
                        pass  # refused: it is dropped
                except Exception as error:  # noqa: BLE001  of one event: the next one is written
                    self._faults.caught("recorder", error, about=f"{action.reason} of {action.regarding.name} is left")
                else:
                    # A store that answers at once leaves nobody else a turn.
                    await asyncio.sleep(0)
        finally:
            self._writer = None

    async def _try_again(self, write: Callable[[], Awaitable[None]]) -> None:
        """While nobody answers, up to a bound. A refusal is final."""
        for _ in range(ATTEMPTS_MAX - 1):
            await sleep(self._clock, ATTEMPT_SECONDS)
            try:
                await write()
            except Disconnected:
                continue
            except ApiError:
                return
            return

    # The classic recorder

    def _classic(self, action: RecordEvent, now: Instant) -> Callable[[], Awaitable[None]] | None:
        about = action.regarding
        source = (action.component, action.host, about.kind, about.namespace, about.name, about.uid)
        if not self._may_speak(source, now):
            return None
        message, key = self._combined(action, source, now)
        known = self._known.get(key)
        if known is not None:
            known.count += 1
            self._known.move_to_end(key)
            return self._repeat(action, known, message, now)
        known = _Known(self._name(action, now), about.namespace or "default", 1, now, now)
        _remember(self._known, key, known)
        return self._create("events", known.namespace, _classic_body(action, known, message, now))

    def _may_speak(self, source: tuple[str, ...], now: Instant) -> bool:
        bucket = self._buckets.get(source)
        if bucket is None:
            bucket = _Bucket(float(SPAM_BURST), now)
            _remember(self._buckets, source, bucket)
        bucket.tokens = min(float(SPAM_BURST), bucket.tokens + (now - bucket.at) / SPAM_REFILL_SECONDS)
        bucket.at = now
        if bucket.tokens < 1.0:
            return False
        bucket.tokens -= 1.0
        return True

    def _combined(self, action: RecordEvent, source: tuple[str, ...], now: Instant) -> tuple[str, tuple[str, ...]]:
        """The message to write and the key under which repeats are recognised."""
        group = (*source, action.type, action.reason)
        similar = self._similar.get(group)
        if similar is None or now - similar.last > SIMILAR_SECONDS:
            similar = _Similar({}, now)
            _remember(self._similar, group, similar)
        similar.last = now
        similar.messages[action.message] = None
        if len(similar.messages) < SIMILAR_MAX:
            return action.message, (*group, action.message)
        similar.messages.pop(next(iter(similar.messages)))
        return f"(combined from similar events): {action.message}", (*group, "combined")

    def _repeat(self, action: RecordEvent, known: _Known, message: str, now: Instant) -> Callable[[], Awaitable[None]]:
        patch = {"count": known.count, "lastTimestamp": to_time(now), "message": message}
        body = _classic_body(action, known, message, now)

        async def write() -> None:
            try:
                await self._client.patch(
                    Patch(resource="events", namespace=known.namespace, name=known.name, body=patch)
                )
            except ApiError as error:
                if error.code != 404:
                    raise
                # It has expired meanwhile: it is told anew, and goes on counting.
                await self._client.create(
                    Create(resource="events", namespace=known.namespace, body=body, is_given_away=True)
                )

        return write

    # The newer recorder

    def _series(self, action: RecordEvent, now: Instant) -> Callable[[], Awaitable[None]] | None:
        about = action.regarding
        related = action.related or ObjectReference()
        key = (
            action.type, action.action, action.reason, action.component, about.kind, about.namespace, about.name,
            about.uid, about.resource_version, related.kind, related.namespace, related.name, related.uid,
        )  # fmt: skip
        known = self._known.get(key)
        if known is not None and now - known.seen < SERIES_SECONDS:
            known.count += 1
            known.seen = now
            if known.count != 2:
                return None  # counted; written when the series ends
            return self._start_series(known, now)
        name, namespace = self._name(action, now), about.namespace or "default"
        _remember(self._known, key, _Known(name, namespace, 1, now, now))
        note = action.message.encode()
        body: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "regarding": msgspec.to_builtins(about),
            "reason": action.reason,
            "note": action.message if len(note) <= 1024 else note[:1020].decode(errors="ignore") + " ...",
            "type": action.type,
            "action": action.action,
            "eventTime": to_micro_time(now),
            "reportingController": action.component,
            "reportingInstance": f"{action.component}-{self._host}",
        }
        if action.related is not None:
            body["related"] = msgspec.to_builtins(action.related)
        return self._create("events.events.k8s.io", namespace, body)

    def _start_series(self, known: _Known, now: Instant) -> Callable[[], Awaitable[None]]:
        body = {"series": {"count": known.count, "lastObservedTime": to_micro_time(now)}}

        async def write() -> None:
            await self._client.patch(
                Patch(resource="events.events.k8s.io", namespace=known.namespace, name=known.name, body=body)
            )

        return write

    def _create(self, resource: str, namespace: str, body: dict[str, Any]) -> Callable[[], Awaitable[None]]:
        async def write() -> None:
            await self._client.create(Create(resource=resource, namespace=namespace, body=body, is_given_away=True))

        return write

    def _name(self, action: RecordEvent, now: Instant) -> str:
        """`<object>.<nanoseconds in hex>`, never twice the same.

        Several recorders may tell of one object at one instant, where a clock stands still: who tells it shows in
        the last digits.
        """
        teller = zlib.crc32(f"{action.component} {action.host}".encode()) % TELLER_NANOSECONDS_MAX
        self._stamp = max(self._stamp + 1, int(now * 1_000_000_000) + teller)
        return f"{action.regarding.name}.{self._stamp:x}"


def _classic_body(action: RecordEvent, known: _Known, message: str, now: Instant) -> dict[str, Any]:  # an Event as JSON
    source = {"component": action.component}
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": known.name, "namespace": known.namespace},
        "involvedObject": msgspec.to_builtins(action.regarding),
        "reason": action.reason,
        "message": message,
        "source": source,
        "firstTimestamp": to_time(known.first),
        "lastTimestamp": to_time(now),
        "count": known.count,
        "type": action.type,
        "reportingComponent": action.component,
    }
    if action.host:
        source["host"] = body["reportingInstance"] = action.host
    return body


def _remember(memory: "OrderedDict[tuple[str, ...], Any]", key: tuple[str, ...], value: Any) -> None:  # any record
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > REMEMBERED_MAX:
        memory.popitem(last=False)
