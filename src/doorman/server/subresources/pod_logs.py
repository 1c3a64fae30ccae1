"""pods/log: which lines of a container's log are asked for, and the stream that follows it.

What a container wrote is told by whoever runs it (`LogsOf`); here is chosen from it, as a kubelet does.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

import msgspec

from doorman.api.machinery.field_selectors import FieldTerm
from doorman.base.clock import Clock, Instant
from doorman.base.errors import ApiError, FieldError, bad_request, forbidden, invalid, invalid_object
from doorman.base.instants import from_time, to_micro_time
from doorman.base.json_types import Document
from doorman.registry.cache.collection import Collection
from doorman.registry.cache.selection import Selection
from doorman.registry.cache.streams import EventType
from doorman.semantics.pods.run_logs import LINES_MAX, LogLine, RunLog, lines_of, next_line_at
from doorman.server.request import Query, Response

TEXT: Final = "text/plain"
LATE_SECONDS_MAX: Final = 2.0
"""A line may be known so late: a status tells whole seconds, and comes about after what it tells."""

LogsOf = Callable[[Document, str, bool], RunLog | str | None]
"""From a pod, a container and whether the run before the last is meant to its log, or to why there is none.
None: it is not known, the pod is on a node of somebody else.
"""


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since_seconds: int | None = None
    since: Instant | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None


def parse_log_options(name: str, query: Query) -> LogOptions:
    """Raises ApiError. `name` is the pod's."""
    options = LogOptions(
        container=query.get("container"),
        follow=query.flag("follow"),
        previous=query.flag("previous"),
        timestamps=query.flag("timestamps"),
        since_seconds=query.integer_or_none("sinceSeconds"),
        since=_time_or_none(query.get("sinceTime")),
        tail_lines=query.integer_or_none("tailLines"),
        limit_bytes=query.integer_or_none("limitBytes"),
    )
    errors: list[FieldError] = []
    if options.tail_lines is not None and options.tail_lines < 0:
        errors.append(invalid("tailLines", options.tail_lines, "must be greater than or equal to 0"))
    if options.limit_bytes is not None and options.limit_bytes < 1:
        errors.append(invalid("limitBytes", options.limit_bytes, "must be greater than 0"))
    if options.since_seconds is not None:
        if options.since is not None:
            errors.append(forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
        elif options.since_seconds < 1:
            errors.append(invalid("sinceSeconds", options.since_seconds, "must be greater than 0"))
    if query.has("stream"):
        errors.append(forbidden("stream", "may not be specified"))
    if errors:
        raise invalid_object("PodLogOptions", "", name, errors)
    return options


class PodLogs:
    """Answers of pods/log."""

    def __init__(self, pods: Collection, logs_of: LogsOf, clock: Clock) -> None:
        self._pods = pods
        self._logs_of = logs_of
        self._clock = clock

    def answer(self, pod: Document, options: LogOptions) -> Response | None:
        """None: the pod's logs are not known here. Raises ApiError, with what a kubelet says."""
        found = self._logs_of(pod, container_of(pod, options), options.previous)
        if isinstance(found, str):
            raise bad_request(found)
        if found is None:
            return None
        first = _chosen(found, options, self._clock.now())
        if not options.follow or found.ended is not None:
            return Response(content_type=TEXT, body=_Writer(options).written(first))
        stream = FollowedLog(pod, found, first, options, self._logs_of, self._pods, self._clock)
        return Response(content_type=TEXT, stream=stream)


class FollowedLog:
    """What is there, then every line as it is written, until the run or the pod ends."""

    def __init__(
        self,
        pod: Document,
        log: RunLog,
        first: Sequence[LogLine],
        options: LogOptions,
        logs_of: LogsOf,
        pods: Collection,
        clock: Clock,
    ) -> None:
        meta = pod["metadata"]
        self._uid = meta["uid"]
        self._log = log
        self._first = first
        self._told_until = now = clock.now()
        self._told = set(lines_of(log, since=now - LATE_SECONDS_MAX, until=now))
        """Lines of the last moments that are told, or were not asked for."""
        self._options = options
        self._logs_of = logs_of
        self._clock = clock
        self._writer = _Writer(options)
        fields = (FieldTerm("metadata.name", meta["name"], is_equal=True),)
        self._stream = pods.follow(Selection(storage="pods", namespace=meta["namespace"], fields=fields), None)

    async def lines(self) -> AsyncIterator[bytes]:
        wake = asyncio.Event()
        self._stream.on_event(wake.set)
        try:
            if some := self._writer.written(self._first):
                yield some
            is_over = False
            while not is_over and not self._writer.is_full and not self._stream.is_closed:
                wake.clear()
                is_over = self._look()
                if some := self._writer.written(self._new_lines()):
                    yield some
                if not is_over:
                    await self._wait(wake)
        finally:
            self._stream.close()

    def close(self) -> None:
        self._stream.close()

    def _look(self) -> bool:
        """Whether nothing more will come, as far as the pod tells."""
        for event in self._stream.take():
            pod = event.object.document()
            if pod["metadata"]["uid"] != self._uid:
                return True
            try:
                found = self._logs_of(pod, container_of(pod, self._options), False)
            except ApiError:  # its node cannot be asked any more: nothing is heard
                found = None
                self._log = msgspec.structs.replace(self._log, repeated=())
            if isinstance(found, RunLog):
                if found.began != self._log.began:
                    # It has started again meanwhile: of the run that was followed the end is known now.
                    ended = self._logs_of(pod, container_of(pod, self._options), True)
                    self._log = ended if isinstance(ended, RunLog) else self._log
                    return True
                self._log = found
            if event.type == EventType.DELETED:
                return True
        return self._log.ended is not None

    async def _wait(self, wake: asyncio.Event) -> None:
        due = next_line_at(self._log, self._told_until)
        alarm = self._clock.call_at(due, wake.set) if due is not None else None
        try:
            await wake.wait()
        finally:
            if alarm is not None:
                alarm.cancel()

    def _new_lines(self) -> list[LogLine]:
        now = self._clock.now()
        found = lines_of(self._log, since=self._told_until - LATE_SECONDS_MAX, until=now)
        new = [line for line in found if line not in self._told]
        self._told_until = now
        self._told = {line for line in found if line.at >= now - LATE_SECONDS_MAX}
        return new


class _Writer:
    """Lines as bytes, and no more of them than were asked for."""

    def __init__(self, options: LogOptions) -> None:
        self._timestamps = options.timestamps
        self._left = options.limit_bytes

    @property
    def is_full(self) -> bool:
        return self._left == 0

    def written(self, lines: Sequence[LogLine]) -> bytes:
        text = "".join(f"{_stamp(line.at)} {line.text}\n" if self._timestamps else f"{line.text}\n" for line in lines)
        content = text.encode()
        if self._left is not None:
            content = content[: self._left]
            self._left -= len(content)
        return content


def container_of(pod: Document, options: LogOptions) -> str:
    """The one that is named, or the only one there is."""
    return options.container or str(pod["spec"]["containers"][0]["name"])


def _chosen(log: RunLog, options: LogOptions, now: Instant) -> list[LogLine]:
    since = log.began
    if options.since_seconds is not None:
        since = now - options.since_seconds
    elif options.since is not None:
        since = options.since
    count = LINES_MAX if options.tail_lines is None else min(options.tail_lines, LINES_MAX)
    return lines_of(log, since=since, until=now, count_max=count)


def _stamp(instant: Instant) -> str:
    """
    >>> _stamp(1767225600.25)
    '2026-01-01T00:00:00.250000000Z'
    """
    return f"{to_micro_time(instant)[:-1]}000Z"


def _time_or_none(text: str) -> Instant | None:
    if not text:
        return None
    try:
        return from_time(text)
    except ValueError:
        layout = "2006-01-02T15:04:05Z07:00"
        raise bad_request(f'parsing time "{text}" as "{layout}": cannot parse "{text}" as "2006"') from None
