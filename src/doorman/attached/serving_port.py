"""A component's own port: health checks for everybody, metrics and configuration for who may see them."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec
from prometheus_client import disable_created_metrics
from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest

from doorman.api.well_known import JSON
from doorman.attached.access.delegated_access import Asker, DelegatedAccess
from doorman.base.histograms import MetricsSource
from doorman.base.reader_faults import ReaderFaults

HEAD_BYTES_MAX: Final = 1 << 15
HEAD_SECONDS_MAX: Final = 30.0
TEXT: Final = "text/plain; charset=utf-8"
METRICS_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_WORDS: Final = {200: "OK", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"}

# Series of when others began: upstream has none.
disable_created_metrics()  # type: ignore[no-untyped-call]  # it says nothing of types

Check = Callable[[], bool]
Configuration = Mapping[str, Any]
"""By group of the configuration's kind, as JSON."""
Page = tuple[int, str, bytes]
"""Code, content type and body."""


class Health:
    """Checks by name, some of which only say whether it is ready."""

    def __init__(self, alive: Mapping[str, Check], ready: Mapping[str, Check]) -> None:
        self._alive = {"ping": lambda: True, **alive}
        self._ready = {**self._alive, **ready}

    def page(self, path: str, *, verbose: bool) -> Page | None:
        """None: there is no such path."""
        root, _, name = path.removeprefix("/").partition("/")
        checks = self._ready if root == "readyz" else self._alive
        if name:
            if name not in checks:
                return None
            checks = {name: checks[name]}
        failed = [name for name, check in checks.items() if not check()]
        if not failed and not verbose:
            return 200, TEXT, b"ok"
        lines = [f"[-]{name} failed: reason withheld" if name in failed else f"[+]{name} ok" for name in checks]
        last = f"{root} check {'failed' if failed else 'passed'}"
        return (500 if failed else 200), TEXT, "\n".join((*lines, last, "")).encode()


class MetricsPage:
    def __init__(self, sources: Iterable[MetricsSource], faults: ReaderFaults) -> None:
        self._sources = tuple(sources)
        self._faults = faults

    def page(self) -> Page:
        return 200, METRICS_TEXT, generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        """All families, as prometheus_client takes them from a registry."""
        for source in self._sources:
            try:
                yield from list(source())
            except Exception as error:  # noqa: BLE001  the others are told
                self._faults.caught("metrics", error)


class ConfigurationPage:
    """What the component was told: `/configz`."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def page(self) -> Page:
        return 200, JSON, msgspec.json.encode(self._configuration)


class ServingPort:
    def __init__(
        self, health: Health, metrics: MetricsPage, configuration: ConfigurationPage, access: DelegatedAccess
    ) -> None:
        self._health = health
        self._metrics = metrics
        self._configuration = configuration
        self._access = access
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()

    async def open(self, address: str, port: int, tls: ssl.SSLContext) -> None:
        """Raises OSError when the port is not to be had."""
        self._server = await asyncio.start_server(self._serve, address, port, ssl=tls, limit=HEAD_BYTES_MAX)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._connections:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, ValueError):
                while True:
                    async with asyncio.timeout(HEAD_SECONDS_MAX):
                        head = await reader.readuntil(b"\r\n\r\n")
                    code, content_type, body = await self._answer(head, _certified(writer))
                    word = _WORDS.get(code, "Error")
                    top = (
                        f"HTTP/1.1 {code} {word}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
                    )
                    writer.write(top.encode() + body)
                    await writer.drain()
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _answer(self, head: bytes, certified: Asker | None) -> Page:
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        if method != "GET":
            return 405, TEXT, b"only GET is served here\n"
        parts = urlsplit(target)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        token = headers.get("authorization", "").removeprefix("Bearer ")
        code, why = await self._access.code_for(parts.path, token, certified)
        if code != 200:
            return code, TEXT, f"{why}\n".encode()
        page: Page | None = None
        if parts.path.partition("/")[2].partition("/")[0] in ("healthz", "livez", "readyz"):
            page = self._health.page(parts.path, verbose="verbose" in parse_qs(parts.query, keep_blank_values=True))
        elif parts.path == "/metrics":
            page = self._metrics.page()
        elif parts.path == "/configz":
            page = self._configuration.page()
        return page or (404, TEXT, b"404 page not found\n")


def _certified(writer: asyncio.StreamWriter) -> Asker | None:
    """Who a client's certificate says they are, if they have one."""
    certificate = writer.get_extra_info("peercert")
    if not certificate:
        return None
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    names = [value for name, value in pairs if name == "commonName"]
    groups = [value for name, value in pairs if name == "organizationName"]
    return Asker(names[0], (*groups, "system:authenticated")) if names else None
