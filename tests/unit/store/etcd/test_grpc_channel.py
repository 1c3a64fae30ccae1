"""Calls and streams to a server that another implementation of HTTP/2 makes, and to none."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import h2.config
import h2.connection
import h2.events
import pytest

from doorman.store.etcd.grpc_channel import GrpcChannel, GrpcError, GrpcStream
from support.etcd import free_ports

OK = [("grpc-status", "0")]
HEAD = [(":status", "200"), ("content-type", "application/grpc")]


def prefixed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


class Server(asyncio.Protocol):
    """Calls `asked(self, stream, path)` when a request has come whole, or its first message on a stream."""

    def __init__(self, asked: "Callable[[Server, int, str], None]") -> None:
        self._asked = asked
        self.http2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.paths: dict[int, str] = {}
        self.data: dict[int, bytes] = {}
        self.fields: dict[str, str] = {}
        self.reset = asyncio.Event()
        self._left: dict[int, bytes] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self.http2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        for event in self.http2.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self.fields = {str(name): str(value) for name, value in event.headers or ()}
                self.paths[event.stream_id] = self.fields[":path"]
                self.data[event.stream_id] = b""
            elif isinstance(event, h2.events.DataReceived):
                self.data[event.stream_id] += event.data
                self.http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if self.paths[event.stream_id].startswith("/stream"):
                    self._asked(self, event.stream_id, self.paths[event.stream_id])
            elif isinstance(event, h2.events.StreamEnded):
                self._asked(self, event.stream_id, self.paths[event.stream_id])
            elif isinstance(event, h2.events.StreamReset):
                self.reset.set()
            elif isinstance(event, h2.events.WindowUpdated):
                for stream in tuple(self._left):
                    self.pump(stream)
        self.flush()

    def flush(self) -> None:
        self.transport.write(self.http2.data_to_send())

    def answer(self, stream: int, message: bytes, trailers: list[tuple[str, str]] = OK) -> None:
        self.http2.send_headers(stream, HEAD)
        self.trailers = trailers
        self._left[stream] = prefixed(message)
        self.pump(stream)

    def pump(self, stream: int) -> None:
        while left := self._left[stream]:
            room = min(self.http2.local_flow_control_window(stream), self.http2.max_outbound_frame_size, len(left))
            if room == 0:
                return
            self.http2.send_data(stream, left[:room])
            self._left[stream] = left[room:]
        del self._left[stream]
        self.http2.send_headers(stream, self.trailers, end_stream=True)


@contextlib.asynccontextmanager
async def serving(asked: Callable[[Server, int, str], None]) -> AsyncIterator[tuple[GrpcChannel, list[Server]]]:
    servers: list[Server] = []

    def make() -> Server:
        servers.append(Server(asked))
        return servers[-1]

    listening = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    channel = GrpcChannel(f"127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    try:
        yield channel, servers
    finally:
        await channel.close()
        listening.close()


def echo(server: Server, stream: int, _: str) -> None:
    server.answer(stream, server.data[stream][5:])


@pytest.mark.parametrize("size", [0, 1, 16_384, 3_000_000])
async def test_message_is_answered_whatever_its_size(size: int) -> None:
    async with serving(echo) as (channel, servers):
        message = bytes(range(256)) * (size // 256 + 1)
        assert await channel.call("/a/b", message[:size], 5.0) == message[:size]
        assert servers[0].fields["grpc-timeout"] == "5000m"
        assert servers[0].fields["te"] == "trailers"


async def test_calls_share_a_connection_and_do_not_wait_for_each_other() -> None:
    held: list[int] = []

    def asked(server: Server, stream: int, path: str) -> None:
        if path == "/first":
            held.append(stream)
        else:
            echo(server, stream, path)
            echo(server, held.pop(), path)

    async with serving(asked) as (channel, servers):
        found = await asyncio.gather(channel.call("/first", b"1", 5.0), channel.call("/second", b"2", 5.0))
        assert found == [b"1", b"2"]
        assert len(servers) == 1


async def test_refusal_is_told_in_its_words() -> None:
    def asked(server: Server, stream: int, _: str) -> None:
        trailers = [*HEAD, ("grpc-status", "8"), ("grpc-message", "100%25 full")]
        server.http2.send_headers(stream, trailers, end_stream=True)

    async with serving(asked) as (channel, _):
        with pytest.raises(GrpcError) as caught:
            await channel.call("/a", b"", 5.0)
    assert (caught.value.code, caught.value.text, caught.value.is_unsent) == ("RESOURCE_EXHAUSTED", "100% full", False)


async def test_what_is_not_grpc_is_told() -> None:
    def asked(server: Server, stream: int, _: str) -> None:
        server.http2.send_headers(stream, [(":status", "503")])
        server.http2.send_data(stream, b"not here", end_stream=True)

    async with serving(asked) as (channel, _):
        with pytest.raises(GrpcError, match="HTTP status 503") as caught:
            await channel.call("/a", b"", 5.0)
    assert caught.value.code == "UNAVAILABLE"


async def test_late_answer_is_not_waited_for() -> None:
    async with serving(lambda *_: None) as (channel, servers):
        with pytest.raises(GrpcError) as caught:
            await channel.call("/a", b"", 0.05)
        assert (caught.value.code, caught.value.is_unsent) == ("DEADLINE_EXCEEDED", False)
        await servers[0].reset.wait()


async def test_call_that_nobody_waits_for_is_given_up() -> None:
    asked = asyncio.Event()
    async with serving(lambda *_: asked.set()) as (channel, servers):
        calling = asyncio.create_task(channel.call("/a", b"", 5.0))
        await asked.wait()
        calling.cancel()
        await servers[0].reset.wait()
        assert (await asyncio.gather(calling, return_exceptions=True))[0].__class__ is asyncio.CancelledError


async def test_connection_that_ends_leaves_calls_undecided_and_another_is_made() -> None:
    def asked(server: Server, stream: int, path: str) -> None:
        if path == "/end":
            server.transport.abort()
        else:
            echo(server, stream, path)

    async with serving(asked) as (channel, servers):
        with pytest.raises(GrpcError) as caught:
            await channel.call("/end", b"", 5.0)
        assert (caught.value.code, caught.value.is_unsent) == ("UNAVAILABLE", False)
        assert await channel.call("/a", b"again", 5.0) == b"again"
        assert len(servers) == 2


async def test_server_that_goes_away_is_asked_on_another_connection() -> None:
    def asked(server: Server, stream: int, path: str) -> None:
        echo(server, stream, path)
        if path == "/last":
            server.http2.close_connection(last_stream_id=stream)

    async with serving(asked) as (channel, servers):
        assert await channel.call("/last", b"1", 5.0) == b"1"
        assert await channel.call("/a", b"2", 5.0) == b"2"
        assert len(servers) == 2


async def test_nobody_there_is_told_at_once_and_nothing_was_sent() -> None:
    channel = GrpcChannel(f"127.0.0.1:{free_ports(1)[0]}")
    for _ in range(3):
        with pytest.raises(GrpcError, match="failed to connect") as caught:
            await channel.call("/a", b"", 60.0)
        assert (caught.value.code, caught.value.is_unsent) == ("UNAVAILABLE", True)
    await channel.close()


async def test_server_that_accepts_and_says_nothing_was_sent_nothing() -> None:
    taken: list[asyncio.StreamWriter] = []
    listening = await asyncio.start_server(lambda _, writer: taken.append(writer), "127.0.0.1", 0)
    channel = GrpcChannel(f"127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    with pytest.raises(GrpcError) as caught:
        await channel.call("/a", b"", 0.1)
    assert (caught.value.code, caught.value.is_unsent) == ("DEADLINE_EXCEEDED", True)
    with pytest.raises(GrpcError) as caught:
        await channel.stream("/stream", {}, b"", 0.1)
    assert (caught.value.code, caught.value.is_unsent) == ("DEADLINE_EXCEEDED", True)
    await channel.close()
    for writer in taken:
        writer.close()
    listening.close()


async def test_stream_carries_messages_both_ways_cut_anywhere() -> None:
    def asked(server: Server, stream: int, _: str) -> None:
        if stream not in server.http2.streams or not server.http2.streams[stream].state_machine.headers_sent:
            server.http2.send_headers(stream, HEAD)
        told, server.data[stream] = server.data[stream], b""
        for at in range(0, len(told), 3):
            server.http2.send_data(stream, told[at : at + 3])

    async with serving(asked) as (channel, servers):
        stream = await channel.stream("/stream", {"hasleader": "true"}, b"first", 5.0)
        assert await stream.read() == [b"first"]
        assert servers[0].fields["hasleader"] == "true"
        assert "grpc-timeout" not in servers[0].fields
        stream.write(b"")
        stream.write(b"x" * 40_000)
        messages = await stream.read()
        while len(messages) < 2:
            messages += await stream.read()
        assert messages == [b"", b"x" * 40_000]
        stream.cancel()
        await servers[0].reset.wait()
        with pytest.raises(GrpcError):
            await stream.read()


async def test_stream_that_ends_says_why() -> None:
    def asked(server: Server, stream: int, _: str) -> None:
        server.http2.send_headers(stream, HEAD)
        server.http2.send_data(stream, prefixed(b"last"))
        trailers = [("grpc-status", "14"), ("grpc-message", "etcdserver: no leader")]
        server.http2.send_headers(stream, trailers, end_stream=True)

    async with serving(asked) as (channel, _):
        stream = await channel.stream("/stream", {}, b"first", 5.0)
        assert await stream.read() == [b"last"]
        with pytest.raises(GrpcError, match="etcdserver: no leader") as caught:
            await stream.read()
    assert caught.value.code == "UNAVAILABLE"


class Paused:
    """A connection that notes whether it is read."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def begin(self, *_: Any, **__: Any) -> None:
        self.calls.append("begin")

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


async def test_connection_is_read_again_after_a_rest_also_when_it_is_cut_short() -> None:
    connection = Paused()
    stream = GrpcStream(cast(Any, connection), {}, b"")
    await stream.rest(0)
    assert connection.calls == ["begin", "pause", "resume"]
    resting = asyncio.create_task(stream.rest(60))
    await asyncio.sleep(0)
    assert connection.calls[3:] == ["pause"]
    resting.cancel()
    await asyncio.gather(resting, return_exceptions=True)
    assert connection.calls[3:] == ["pause", "resume"]
