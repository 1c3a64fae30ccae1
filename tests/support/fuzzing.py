"""Sending fuzzed requests to a server, and judging its answers."""

import http.client
import json
import multiprocessing
import re
import socket
import ssl
import time
import urllib.parse
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from support.fuzzed_requests import NAMESPACE, FuzzedRequest, Requests
from support.server import Server, authority_of

http.client._MAXHEADERS = 1_000  # type: ignore[attr-defined]  # a hundred warnings are upstream's own
KEPT = Path(__file__).parents[1] / "fuzz" / "kept"
CLEAN_AFTER = 5
"""So many requests what decides about other requests may stay."""
SLOW_MILLISECONDS = 100
FAULT = b"the server could not handle the request"
SAID_ABOVE_500 = tuple(
    re.compile(pattern)
    for pattern in (
        rb"failed calling webhook|failed to call webhook",
        rb"cannot merge lists without merge key|The order in patch list",
        rb"Too large resource version",
        rb"failed to create typed patch object|failed to convert (new|old) object",
        rb"unknown patch type: |does not contain declared merge key",
        rb"merging lists cannot yet be specified|list element types are not identical",
        rb"expected a \[\]interface {}, but received a |expected slice or array type, but got: ",
        rb"unable to find api field in struct ",
        rb'"resourceVersion: Invalid value: ',  # of a watch
        rb"target\.(kind|name): ",  # a binding is validated where refusals have no code of their own
    )
)
"""Answers above 500 that Kubernetes gives as well; what cannot be done with nodes that are simulated is a 501."""


class Line:
    """A connection, opened anew when it is closed."""

    def __init__(self, server: Server) -> None:
        config = yaml.safe_load(server.kubeconfig.read_text())
        self.token: str = config["users"][0]["user"]["token"]
        address = urllib.parse.urlsplit(server.address)
        self._place = (str(address.hostname), address.port or 443)
        self._context = ssl.create_default_context(cadata=authority_of(config))
        self._socket: ssl.SSLSocket | None = None

    def ask(self, request: FuzzedRequest) -> tuple[int, bytes]:
        """Status 0: the server closed the connection without a word."""
        if request.raw:
            return self._ask_raw(request.raw)
        lines = [f"{request.method} {request.path} HTTP/1.1", "Host: h", f"Authorization: Bearer {self.token}"]
        lines += [f"{name}: {value}" for name, value in request.headers]
        lines.append(f"Content-Length: {len(request.body)}")
        head = "\r\n".join((*lines, "", "")).encode("utf-8", "replace")
        for is_fresh in (self._socket is None, True):
            if self._socket is None:
                self._socket = self._open()
            try:
                self._socket.sendall(head + request.body)
                answer = http.client.HTTPResponse(self._socket, method=request.method)
                answer.begin()
                body = answer.read()
                if answer.will_close:
                    self.close()
            except (http.client.BadStatusLine, ConnectionError, ssl.SSLError):
                self.close()
                if is_fresh:
                    return 0, b""
            else:
                return answer.status, body
        raise AssertionError("one of the two was fresh")

    def _ask_raw(self, raw: bytes) -> tuple[int, bytes]:
        own = self._open()
        try:
            own.sendall(raw.replace(b"TOKEN", self.token.encode()))
            own.settimeout(0.02)
            with suppress(TimeoutError, OSError):
                found = own.recv(65536)
                if match := re.match(rb"HTTP/1.1 (\d+) ", found):
                    return int(match[1]), found
        except OSError:
            pass
        finally:
            own.close()
        return -1, b""

    def _open(self) -> ssl.SSLSocket:
        plain = socket.create_connection(self._place, timeout=60)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._context.wrap_socket(plain, server_hostname=self._place[0])

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def plain(method: str, path: str, doc: Any = None) -> FuzzedRequest:
    body = b"" if doc is None else json.dumps(doc).encode()
    return FuzzedRequest(method, path, (("Content-Type", "application/json"),), body)


class Session:
    def __init__(self, server: Server) -> None:
        self.line = Line(server)
        self.codes: Counter[int] = Counter()
        self.faults: dict[str, str] = {}
        """What was answered, and to what."""
        self.slow: list[tuple[int, str]] = []
        """Requests that took long, in milliseconds."""
        self._token = ""
        self._to_clean: deque[tuple[int, str]] = deque()
        self.line.ask(plain("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}))

    def run(self, requests: Iterable[tuple[str, FuzzedRequest]]) -> None:
        for number, (label, request) in enumerate(requests):
            self.one(label, request)
            if request.cleans:
                self._to_clean.append((number + CLEAN_AFTER, request.cleans))
            while self._to_clean and self._to_clean[0][0] <= number:
                self._clean(self._to_clean.popleft()[1])

    def stream(self, seed: int, numbers: range) -> Iterator[tuple[str, FuzzedRequest]]:
        requests = Requests(seed)
        for number in numbers:
            yield f"{seed}/{number}", requests.make(number, self._token)

    def one(self, label: str, request: FuzzedRequest) -> None:
        began = time.perf_counter()
        status, body = self.line.ask(request)
        took = (time.perf_counter() - began) * 1000
        if took > SLOW_MILLISECONDS:
            self.slow.append((round(took), label))
        self.codes[status] += 1
        if b'"continue":"' in body and (found := re.search(rb'"continue":"([^"]+)"', body)):
            self._token = found[1].decode()
        is_said = status == 501 or (any(pattern.search(body) for pattern in SAID_ABOVE_500) and FAULT not in body)
        if status == 0 or (status >= 500 and not is_said):
            what = re.sub(r"[0-9a-f-]{8,}|\d+", "N", body.decode(errors="replace"))[:160]
            asked = f"{request.method} {request.path} {request.body[:300]!r}"
            self.faults.setdefault(f"{status} {request.method} {what}", f"{label}: {asked}: {body[:300]!r}")

    def _clean(self, path: str) -> None:
        body = b'{"metadata":{"finalizers":null}}'
        self.line.ask(FuzzedRequest("PATCH", path, (("Content-Type", "application/merge-patch+json"),), body))
        self.line.ask(plain("DELETE", path))

    def reader_faults(self) -> list[str]:
        text = self.line.ask(plain("GET", "/metrics"))[1].decode()
        found = (line for line in text.splitlines() if line.startswith("doorman_reader_faults_total"))
        return [line for line in found if not line.endswith(" 0")]


def kept_requests(file: Path) -> list[tuple[str, FuzzedRequest]]:
    rows = json.loads(file.read_text())
    return [(f"{file.stem}/{number}", FuzzedRequest.unpacked(row)) for number, row in enumerate(rows)]


class Found(NamedTuple):
    codes: Counter[int]
    faults: dict[str, str]
    megabytes: list[float]
    """Of the server, after each tenth of the requests."""
    waits: list[float]
    """How long each request of another client took, in milliseconds, the shortest first."""
    slow: list[tuple[int, str]]
    """Requests of the seed that took long themselves, the longest first."""


def fuzz(folder: Path, seed: int, numbers: range, say: Callable[[str], None] = lambda _: None) -> Found:
    """Send requests of a seed and all that were kept to a server of its own, and start it once more."""
    began, megabytes = time.monotonic(), []
    with (folder / "log").open("w") as log, Server(folder, "--nodes", "2", in_memory=False, log=log) as server:
        session, other = Session(server), Other(server)
        part = max(len(numbers) // 10, 1)
        for start in range(0, len(numbers), part):
            session.run(session.stream(seed, numbers[start : start + part]))
            megabytes.append(_resident_megabytes(server.process.pid))
            told = f"{start + part} requests, {time.monotonic() - began:.0f} s, {megabytes[-1]:.0f} MB"
            say(f"{told}, {len(session.faults)} faults")
        for file in sorted(KEPT.glob("*.json")):
            session.run(kept_requests(file))
        waits = other.end()
        for fault in session.reader_faults():
            session.faults[fault] = "a reader could not take what was stored"
        session.line.close()
    with (folder / "log").open("a") as log, Server(folder, in_memory=False, log=log) as again:
        line = Line(again)
        status, body = line.ask(plain("GET", "/readyz?verbose"))
        line.close()
        if status != 200:
            session.faults[f"restart: {status}"] = body.decode(errors="replace")
    for block in tracebacks((folder / "log").read_text()):
        session.faults.setdefault(f"log: {block[-1][:200]}", "\n   ".join(block[-9:]))
    return Found(session.codes, session.faults, megabytes, waits, sorted(session.slow, reverse=True))


class Other:
    """Another client, in a process of its own, that reads one namespace again and again."""

    def __init__(self, server: Server) -> None:
        context = multiprocessing.get_context("fork")
        self._is_over = context.Event()
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_read_until, args=(Line(server), self._is_over, theirs))
        self._process.start()

    def end(self) -> list[float]:
        self._is_over.set()
        waits: list[float] = self._ours.recv()
        self._process.join()
        return waits


def _read_until(line: Line, is_over: Any, told: Any) -> None:  # an event, and one end of a pipe
    waits = []
    while not is_over.wait(0.005):
        began = time.perf_counter()
        status, _ = line.ask(plain("GET", "/api/v1/namespaces/default"))
        assert status == 200, status
        waits.append((time.perf_counter() - began) * 1000)
    line.close()
    told.send(sorted(waits))


def _resident_megabytes(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 2**20


def tracebacks(log: str) -> list[list[str]]:
    found: list[list[str]] = []
    is_inside = False
    for line in log.splitlines():
        if line.startswith("Traceback "):
            found.append([])
            is_inside = True
        if is_inside:
            found[-1].append(line)
            is_inside = line.startswith((" ", "Traceback "))
    return found
