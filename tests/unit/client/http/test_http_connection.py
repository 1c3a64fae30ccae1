"""Answers of HTTP/1.1 in every form in which servers send them, and cut at every byte."""

import asyncio
import gzip

import pytest

from doorman.client.http.http_connection import Answer, BrokenConnection, connect
from support.scripted_http import answer, events, scripted

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def asked(content: bytes) -> Answer:
    async def story() -> Answer:
        async with scripted(lambda _: content) as (_, access):
            connection = await connect(access)
            try:
                async with asyncio.timeout(20):
                    return await connection.ask(REQUEST)
            finally:
                connection.close()

    return asyncio.run(story())


@pytest.mark.parametrize(
    "content",
    [
        answer(200, b"hello"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + answer(200, b"hello"),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nTrailer: z\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
        answer(200, gzip.compress(b"hello"), "Content-Encoding: gzip"),
    ],
    ids=["length", "continue", "chunks", "until the end", "gzip"],
)
def test_body_is_read_whole(content: bytes) -> None:
    found = asked(content)
    assert (found.code, found.body) == (200, b"hello")


def test_no_content_has_no_body() -> None:
    assert asked(b"HTTP/1.1 204 No Content\r\n\r\n").code == 204


@pytest.mark.parametrize("size", range(len(answer(200, b"hello"))))
def test_answer_that_is_cut_anywhere_is_no_answer(size: int) -> None:
    whole = answer(200, b"hello", "Connection: close")
    cut = whole[: len(whole) - 1 - size]
    with pytest.raises(BrokenConnection):
        asked(cut if b"Connection: close" in cut else b"")


def test_what_is_no_http_is_told() -> None:
    with pytest.raises(BrokenConnection, match="no answer of HTTP"):
        asked(b"SSH-2.0-server\r\n\r\n")


def test_connection_is_used_again_unless_the_server_ends_it() -> None:
    async def is_reusable(content: bytes) -> bool:
        async with scripted(lambda _: content) as (_, access):
            connection = await connect(access)
            await connection.ask(REQUEST)
            try:
                return connection.is_open
            finally:
                connection.close()

    assert asyncio.run(is_reusable(answer(200, b"")))
    assert not asyncio.run(is_reusable(answer(200, b"", "Connection: close")))
    assert not asyncio.run(is_reusable(events()))
