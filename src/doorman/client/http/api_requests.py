"""Requests to one API server: connections that are kept, who asks, retries, errors as `ApiError`."""

import asyncio
import contextlib
import copy
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, Self
from urllib.parse import quote, urlencode

import msgspec

from doorman.api.well_known import JSON
from doorman.base.clock import Clock, sleep
from doorman.base.errors import ApiError
from doorman.base.histograms import Histogram
from doorman.client.client import Disconnected
from doorman.client.command_line.api_client import error_of
from doorman.client.http.http_connection import Answer, BrokenConnection, HttpConnection, connect
from doorman.client.http.request_limit import RequestLimit
from doorman.client.http.server_access import RequestCredentials, ServerAccess
from doorman.version import __version__

TIMEOUT_SECONDS: Final = 30.0
RETRIES_MAX: Final = 10
BROKEN_SECONDS: Final = 1.0
"""After so long a read is tried again whose connection ended."""
IDLE_SECONDS_MAX: Final = 30.0
"""A connection that was idle for longer may be about to be closed by the server."""
CONNECTIONS_MAX: Final = 32
LATENCY_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)

_log: Final = logging.getLogger("doorman.client")


class RequestCounts:
    """What was asked and how long that took, for metrics."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.codes: Counter[tuple[str, str]] = Counter()
        """By method and code."""
        self.seconds: dict[str, Histogram] = {}

    def answered(self, method: str, code: str, seconds: float) -> None:
        self.codes[method, code] += 1
        if method not in self.seconds:
            self.seconds[method] = Histogram(LATENCY_BUCKETS)
        self.seconds[method].observe(seconds)


class _Connections:
    """Those of one process to one server."""

    def __init__(self, access: ServerAccess, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._idle: list[tuple[float, HttpConnection]] = []
        self._places = asyncio.Semaphore(CONNECTIONS_MAX)

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncIterator[HttpConnection]:
        async with self._places:
            connection = self._pop() or await connect(self._access)
            try:
                yield connection
            except BaseException:
                connection.close()  # in the middle of an answer, perhaps
                raise
            if connection.is_open:
                self._idle.append((self._clock.now(), connection))
            else:
                connection.close()

    def _pop(self) -> HttpConnection | None:
        oldest = self._clock.now() - IDLE_SECONDS_MAX
        while self._idle:
            since, connection = self._idle.pop()
            if since >= oldest and connection.is_open:
                return connection
            connection.close()
        return None

    def close(self) -> None:
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()


class ApiRequests:
    def __init__(
        self,
        access: ServerAccess,
        clock: Clock,
        *,
        component: str,
        qps: float = 0.0,
        burst: int = 1,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.access = access
        self.counts = RequestCounts(f"{access.host}:{access.port}")
        self._clock = clock
        self._agent = f"doorman-{component}/{__version__}"
        self._bucket = RequestLimit(clock, qps=qps, burst=burst)
        self._connections = _Connections(access, clock)
        self._credentials: RequestCredentials = access.credentials
        self._headers: Mapping[str, str] = {}
        self._may_act: Callable[[], bool] | None = None
        self._timeout = timeout_seconds
        self._retries_max = RETRIES_MAX

    def variant(
        self,
        *,
        qps: float | None = None,
        burst: int = 1,
        credentials: RequestCredentials | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        retries_max: int | None = None,
    ) -> Self:
        """The same server and connections with a limit, credentials, headers or a timeout of its own."""
        other = copy.copy(self)
        if qps is not None:
            other._bucket = RequestLimit(self._clock, qps=qps, burst=burst)
        other._credentials = credentials or self._credentials
        other._headers = {**self._headers, **(headers or {})}
        other._timeout = timeout_seconds or self._timeout
        other._retries_max = self._retries_max if retries_max is None else retries_max
        return other

    def only_while(self, may_act: Callable[[], bool]) -> Self:
        """A copy, which sends writes only as long as whoever acts may: it holds a lease, or did before it slept."""
        other = copy.copy(self)
        other._may_act = may_act
        return other

    def close(self) -> None:
        self._connections.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        content_type: str = JSON,
        accept: str = JSON,
    ) -> bytes:
        """The answer's body; a Status of failure is raised as the ApiError it was."""
        for attempt in range(self._retries_max + 1):
            await self._bucket.take()
            try:
                answer = await self._once(method, path, query or {}, body, content_type, accept)
            except BrokenConnection as error:
                if method != "GET" or attempt == self._retries_max:
                    raise Disconnected(f"{method} {path}: {error}") from error
                await sleep(self._clock, BROKEN_SECONDS)
                continue
            if answer.code < 400:
                return answer.body
            wait = _retry_after(answer)
            if answer.code == 401:
                self._credentials.refused()
                if attempt == 0 and self._retries_max:
                    continue
            if wait is None or attempt == self._retries_max:
                raise error_of(answer.code, answer.body)
            await sleep(self._clock, wait)
        raise AssertionError("the last attempt returns or raises")

    async def document(self, method: str, path: str, **more: Any) -> Any:  # JSON of whatever shape the answer has
        content = await self.request(method, path, **more)
        return msgspec.json.decode(content) if content else None

    @contextlib.asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """The pieces of an answer that does not end, on a connection of its own."""
        await self._bucket.take()
        try:
            connection = await connect(self.access)
        except BrokenConnection as error:
            raise Disconnected(str(error)) from error
        try:
            try:
                async with asyncio.timeout(self._timeout):
                    answer = await connection.begin(await self._raw("GET", path, query, b"", JSON, JSON, gzip=False))
            except TimeoutError as error:
                raise Disconnected(f"GET {path}: no answer within {self._timeout:g} s") from error
            except BrokenConnection as error:
                raise Disconnected(str(error)) from error
            self.counts.answered("GET", str(answer.code), 0.0)
            if answer.code >= 400:
                if answer.code == 401:
                    self._credentials.refused()
                content = b"".join([piece async for piece in connection.pieces(answer)])
                raise error_of(answer.code, content)
            yield connection.pieces(answer)
        finally:
            connection.close()

    async def _once(
        self, method: str, path: str, query: Mapping[str, str], body: bytes, content_type: str, accept: str
    ) -> Answer:
        began = time.perf_counter()
        code = "<error>"
        raw = await self._raw(method, path, query, body, content_type, accept, gzip=method == "GET")
        try:
            async with asyncio.timeout(self._timeout), self._connections.one() as connection:
                # Last of all: whoever slept until now finds out before anything is sent.
                if method != "GET" and self._may_act is not None and not self._may_act():
                    raise ApiError(500, "", "leader election lost")
                answer = await connection.ask(raw)
            code = str(answer.code)
        except TimeoutError as error:
            raise BrokenConnection(f"no answer within {self._timeout:g} s") from error
        finally:
            self.counts.answered(method, code, time.perf_counter() - began)
        return answer

    async def _raw(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes,
        content_type: str,
        accept: str,
        *,
        gzip: bool,
    ) -> bytes:
        authorization = await self._credentials.authorization()
        target = f"{self.access.prefix}{path}" + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        lines = [
            f"{method} {target} HTTP/1.1",
            f"Host: {self.access.host}:{self.access.port}",
            f"User-Agent: {self._agent}",
            f"Accept: {accept}",
        ]
        if gzip:
            lines.append("Accept-Encoding: gzip")
        if authorization:
            lines.append(f"Authorization: {authorization}")
        lines += (f"{name}: {value}" for name, value in self._headers.items())
        if body or method in ("POST", "PUT", "PATCH"):
            lines += (f"Content-Type: {content_type}", f"Content-Length: {len(body)}")
        return "\r\n".join((*lines, "", "")).encode() + body


def _retry_after(answer: Answer) -> float | None:
    """How long to wait before it is tried again; None: it is not."""
    if answer.code != 429 and answer.code < 500:
        return None
    said = answer.headers.get("retry-after", "")
    if said.isdecimal():
        return float(said)
    return 1.0 if answer.code == 429 else None
