"""What becomes of requests: errors, retries, credentials, and leaders that may not act."""

import asyncio
from collections.abc import Iterable

import pytest

from doorman.base.clock import SystemClock
from doorman.base.errors import ApiError
from doorman.client.client import Disconnected
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.server_access import ServerAccess
from support.scripted_http import Asked, ScriptedHttp, answer, refusal, scripted


def outcome(answers: Iterable[bytes], method: str = "GET") -> tuple[object, ScriptedHttp]:
    """What one request gives, or raises, when the server says these things one after another."""
    said = iter(answers)

    async def story() -> tuple[object, ScriptedHttp]:
        async with scripted(lambda _: next(said)) as (server, access):
            requests = ApiRequests(access, SystemClock(), component="test")
            try:
                return await requests.document(method, "/api", body=b"{}" if method != "GET" else b""), server
            except ApiError as error:
                return error, server
            finally:
                requests.close()

    return asyncio.run(story())


def test_status_of_failure_is_raised_as_it_was() -> None:
    error, _ = outcome([refusal(409, "AlreadyExists")], "POST")
    assert isinstance(error, ApiError)
    assert (error.code, error.reason) == (409, "AlreadyExists")


def test_failure_without_a_status_is_told_by_its_code() -> None:
    error, _ = outcome([answer(502, b"<html>bad gateway</html>")], "POST")
    assert isinstance(error, ApiError)
    assert (error.code, error.message) == (502, "<html>bad gateway</html>")


@pytest.mark.parametrize("code", [429, 500, 503])
def test_who_is_told_to_come_again_does(code: int) -> None:
    found, server = outcome([answer(code, {}, "Retry-After: 0"), answer(200, {"a": 1})], "POST")
    assert found == {"a": 1}
    assert len(server.asked) == 2


def test_conflict_is_not_tried_again_whatever_it_says() -> None:
    error, server = outcome([answer(409, {"reason": "Conflict"}, "Retry-After: 0")], "PUT")
    assert isinstance(error, ApiError)
    assert len(server.asked) == 1


def test_write_whose_connection_broke_is_not_repeated() -> None:
    error, server = outcome([b""], "POST")
    assert isinstance(error, Disconnected)
    assert len(server.asked) == 1


def test_refused_credentials_are_asked_for_again_once() -> None:
    error, server = outcome([refusal(401, "Unauthorized"), refusal(401, "Unauthorized")])
    assert isinstance(error, ApiError)
    assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer word", "Bearer word"]


def test_nobody_there() -> None:
    async def story(access: ServerAccess) -> None:
        with pytest.raises(Disconnected):
            await ApiRequests(access, SystemClock(), component="test").request("POST", "/api")

    async def run() -> None:
        async with scripted(lambda _: b"") as (_, access):
            pass
        await story(access)

    asyncio.run(run())


def test_who_may_not_act_reads_and_does_not_write() -> None:
    async def story() -> list[Asked]:
        async with scripted(lambda _: answer(200, {})) as (server, access):
            requests = ApiRequests(access, SystemClock(), component="test").only_while(lambda: False)
            await requests.request("GET", "/api")
            with pytest.raises(ApiError, match="leader election lost"):
                await requests.request("POST", "/api", body=b"{}")
            requests.close()
            return server.asked

    assert [asked.method for asked in asyncio.run(story())] == ["GET"]


def test_connections_are_kept() -> None:
    async def story() -> int:
        async with scripted(lambda _: answer(200, {})) as (server, access):
            requests = ApiRequests(access, SystemClock(), component="test")
            for _ in range(5):
                await requests.request("GET", "/api")
            requests.close()
            return server.connections

    assert asyncio.run(story()) == 1
