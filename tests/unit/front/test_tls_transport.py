"""TLS between a client of OpenSSL and a protocol, with the TCP connection in memory and time that is virtual."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from doorman.front.tls_transport import (
    FAREWELL_SECONDS_MAX,
    HANDSHAKE_SECONDS_MAX,
    READ_BYTES,
    RECORD_BYTES,
    UNREAD_SECONDS_MAX,
    TlsTransport,
)
from doorman.runtime.virtual_time import run_virtual
from support.certificates import FOR_SERVERS, authority, key_pem

NOW = 1_800_000_000.0


class _Tcp(asyncio.Transport):
    """A TCP connection: what is written waits for the client."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.unread = 0
        self.calls: list[str] = []

    def get_write_buffer_size(self) -> int:
        return self.unread

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 5) if name == "peername" else default

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def write_eof(self) -> None:
        self.calls.append("eof")

    def abort(self) -> None:
        self.calls.append("abort")

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.calls.append(f"limits {high}")


class _Protocol(asyncio.Protocol):
    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.received = b""
        self.heard: list[str] = []
        self.when_received: Callable[[], None] = lambda: None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self.heard.append("made")

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.when_received()

    def connection_lost(self, _: Exception | None) -> None:
        self.heard.append("lost")

    def pause_writing(self) -> None:
        self.heard.append("pause")

    def resume_writing(self) -> None:
        self.heard.append("resume")


class _Pair:
    """A client and a server's transport, and the bytes between them."""

    def __init__(self, folder: Path) -> None:
        root = authority(now=NOW)
        server = root.signs("server", now=NOW, extensions=(FOR_SERVERS,))
        file = folder / "server.pem"
        file.write_bytes(server.pem + key_pem(server.key))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        self.tcp, self.protocol = _Tcp(), _Protocol()
        self.transport = TlsTransport(context, self.protocol)
        self.transport.connection_made(self.tcp)
        asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        asking.check_hostname = False
        asking.verify_mode = ssl.CERT_NONE
        self._to_client, self._to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = asking.wrap_bio(self._to_client, self._to_server)

    def deliver(self, data: bytes) -> None:
        """To the server, as much at a time as it reads."""
        for start in range(0, len(data), READ_BYTES):
            piece = data[start : start + READ_BYTES]
            self.transport.get_buffer(-1)[: len(piece)] = piece
            self.transport.buffer_updated(len(piece))

    def exchange(self) -> None:
        """Until nobody has anything to say."""
        while self._to_server.pending or self.tcp.written:
            self.deliver(self._to_server.read())
            self._to_client.write(self.tcp.written)
            self.tcp.written = b""

    def shake_hands(self) -> None:
        while True:
            try:
                self.client.do_handshake()
            except ssl.SSLWantReadError:
                self.exchange()
            else:
                self.exchange()
                return

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self.client.write(rest) :]
        self.exchange()

    def read(self) -> bytes:
        self.exchange()
        read = b""
        while True:
            try:
                piece = self.client.read(RECORD_BYTES)
            except ssl.SSLWantReadError:
                return read
            if not piece:
                return read
            read += piece


@pytest.fixture
def story(tmp_path: Path) -> Callable[[Callable[[_Pair], Coroutine[Any, Any, None]]], None]:
    def run(tell: Callable[[_Pair], Coroutine[Any, Any, None]]) -> None:
        async def main() -> None:
            await tell(_Pair(tmp_path))

        run_virtual(main())

    return run


def test_protocol_hears_of_a_connection_after_its_handshake(story: Any) -> None:
    async def tell(pair: _Pair) -> None:
        assert pair.protocol.heard == []
        pair.shake_hands()
        assert pair.protocol.heard == ["made"]
        assert pair.transport.get_extra_info("peername") == ("192.0.2.1", 5)
        assert pair.transport.get_extra_info("ssl_object").version() == pair.client.version()

    story(tell)


@pytest.mark.parametrize("size", [1, RECORD_BYTES, RECORD_BYTES + 1, READ_BYTES + 1, 1_000_000])
def test_bytes_arrive_whole_in_both_directions(story: Any, size: int) -> None:
    data = bytes(each % 251 for each in range(size))

    async def tell(pair: _Pair) -> None:
        pair.shake_hands()
        pair.send(data)
        assert pair.protocol.received == data
        pair.transport.write(memoryview(data))
        assert pair.read() == data

    story(tell)


def test_bytes_that_come_one_at_a_time(story: Any) -> None:
    async def tell(pair: _Pair) -> None:
        pair.shake_hands()
        pair.client.write(b"GET /")
        for each in pair._to_server.read():
            pair.deliver(bytes([each]))
        assert pair.protocol.received == b"GET /"

    story(tell)


def test_nothing_is_handed_on_while_reading_is_paused(story: Any) -> None:
    async def tell(pair: _Pair) -> None:
        pair.shake_hands()
        pair.protocol.when_received = pair.transport.pause_reading
        pair.client.write(b"first")
        pair.client.write(b"second")
        pair.exchange()
        assert pair.protocol.received == b"first"
        assert not pair.transport.is_reading()
        pair.transport.resume_reading()
        await asyncio.sleep(0)
        assert pair.protocol.received == b"firstsecond"
        assert pair.tcp.calls == ["pause", "resume", "pause"]

    story(tell)


def test_close_tells_the_client_and_gives_it_a_moment(story: Any) -> None:
    async def tell(pair: _Pair) -> None:
        pair.shake_hands()
        pair.transport.write(b"last word")
        pair.transport.close()
        pair.transport.write(b"too late")
        assert pair.read() == b"last word"
        assert pair.tcp.calls == ["resume", "eof"]
        await asyncio.sleep(FAREWELL_SECONDS_MAX)
        assert pair.tcp.calls[-1] == "abort"
        pair.transport.connection_lost(None)
        assert pair.protocol.heard == ["made", "lost"]

    story(tell)


@pytest.mark.parametrize("reads_in_the_end", [True, False])
def test_client_that_reads_slowly_has_longer(story: Any, reads_in_the_end: bool) -> None:
    async def tell(pair: _Pair) -> None:
        pair.shake_hands()
        pair.tcp.unread = 100_000
        pair.transport.close()
        await asyncio.sleep(UNREAD_SECONDS_MAX / 2)
        assert pair.tcp.calls == ["resume", "eof"]
        if reads_in_the_end:
            pair.tcp.unread = 0
            await asyncio.sleep(2 * FAREWELL_SECONDS_MAX)
        else:
            await asyncio.sleep(UNREAD_SECONDS_MAX / 2 + 2 * FAREWELL_SECONDS_MAX)
        assert pair.tcp.calls == ["resume", "eof", "abort"]

    story(tell)


def test_client_that_closes_is_answered_with_the_end(story: Any) -> None:
    async def tell(pair: _Pair) -> None:
        pair.shake_hands()
        with pytest.raises(ssl.SSLWantReadError):
            pair.client.unwrap()
        pair.exchange()
        assert pair.tcp.calls == ["resume", "eof"]
        assert pair.transport.is_closing()
        pair.client.unwrap()  # which it now has from both

    story(tell)


def test_client_that_never_finishes_its_handshake_is_cut_off(story: Any) -> None:
    async def tell(pair: _Pair) -> None:
        await asyncio.sleep(HANDSHAKE_SECONDS_MAX - 1)
        assert pair.tcp.calls == []
        await asyncio.sleep(1)
        assert pair.tcp.calls == ["abort"]
        pair.transport.connection_lost(None)
        assert pair.protocol.heard == []

    story(tell)


def test_plain_http_is_told_what_is_spoken_here(story: Any) -> None:
    async def tell(pair: _Pair) -> None:
        pair.deliver(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert pair.tcp.written.startswith(b"HTTP/1.0 400 Bad Request\r\n")
        assert pair.tcp.written.endswith(b"Client sent an HTTP request to an HTTPS server.\n")
        assert pair.tcp.calls == ["resume", "eof"]

    story(tell)


@pytest.mark.parametrize("is_open", [False, True])
def test_bytes_that_are_no_tls_end_the_connection(story: Any, is_open: bool) -> None:
    async def tell(pair: _Pair) -> None:
        if is_open:
            pair.shake_hands()
        pair.deliver(b"\x17\x03\x03\x00\x20" + bytes(32) if is_open else b"\x00" * 50)
        assert pair.tcp.calls == ["resume", "eof"]
        assert pair.protocol.received == b""

    story(tell)


def test_flow_control_reaches_the_protocol(story: Any) -> None:
    async def tell(pair: _Pair) -> None:
        pair.transport.pause_writing()  # during the handshake it is nobody's business
        pair.transport.resume_writing()
        pair.shake_hands()
        pair.transport.set_write_buffer_limits(high=5)
        pair.transport.pause_writing()
        pair.transport.resume_writing()
        assert pair.protocol.heard == ["made", "pause", "resume"]
        assert pair.tcp.calls == ["limits 5"]

    story(tell)


def test_client_that_is_gone_is_written_nothing(story: Any) -> None:
    async def tell(pair: _Pair) -> None:
        pair.shake_hands()
        assert pair.transport.eof_received() is False
        pair.transport.connection_lost(None)
        pair.transport.write(b"nobody")
        pair.transport.close()
        assert pair.tcp.written == b""
        assert pair.protocol.heard == ["made", "lost"]
        assert pair.transport.get_extra_info("peername") is None

    story(tell)
