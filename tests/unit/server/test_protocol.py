"""Connections that keep us waiting are cut off, others are not."""

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from doorman.server import protocol
from doorman.server.protocol import ApiProtocol, sweep


class _Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.state = "open"

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.state != "open"

    def close(self) -> None:
        self.state = "closed"

    def abort(self) -> None:
        self.state = "aborted"

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def _app(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def connected() -> tuple[ApiProtocol, _Transport, float]:
    made = ApiProtocol(uvicorn.Config(_app, log_config=None), ServerState(), {})
    transport = _Transport()
    made.connection_made(transport)
    return made, transport, asyncio.get_running_loop().time()


@pytest.mark.parametrize(
    ("sent", "seconds", "state"),
    [
        pytest.param(b"", 29, "open", id="silent-for-a-while"),
        pytest.param(b"", 31, "aborted", id="silent"),
        pytest.param(b"GET / HTTP/1.1\r\nX-A: b\r\n", 31, "aborted", id="head-without-end"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", 31, "open", id="body-on-its-way"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", 61, "aborted", id="body-without-end"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 1000, "open", id="answered"),
    ],
)
async def test_slow_clients_are_cut_off(sent: bytes, seconds: float, state: str) -> None:
    made, transport, now = connected()
    if sent:
        made.data_received(sent)
    await asyncio.sleep(0)
    sweep([made], now + seconds)
    assert transport.state == state
    made.connection_lost(ConnectionResetError())


async def test_answer_that_nobody_takes_is_cut_off() -> None:
    made, transport, now = connected()
    made.data_received(b"GET / HTTP/1.1\r\n\r\n")
    await asyncio.sleep(0)
    made.pause_writing()
    assert sweep([made], now + 59) == 0
    assert sweep([made], now + 62) == 1
    assert transport.state == "aborted"
    made.connection_lost(ConnectionResetError())


async def test_head_is_bounded_also_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_BYTES_MAX", 1000)
    made, transport, _ = connected()
    made.data_received(b"GET / HTTP/1.1\r\nX-A: ")
    for _ in range(100):
        made.data_received(b"a" * 10)
    assert transport.written.startswith(b"HTTP/1.1 431 ")
    assert transport.state == "closed"
    made.connection_lost(ConnectionResetError())


async def test_each_request_of_a_connection_has_the_whole_head_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_BYTES_MAX", 100)
    made, transport, _ = connected()
    for _ in range(5):
        made.data_received(b"GET / HTTP/1.1\r\nX-A: " + b"a" * 60 + b"\r\n\r\n")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert transport.written.count(b"HTTP/1.1 200 OK") == 5
    made.connection_lost(None)
