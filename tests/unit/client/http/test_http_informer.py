"""An informer over HTTP comes to the same end whatever happens to its streams."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from doorman.api.kinds import Kinds, builtin_kinds
from doorman.base.clock import ManualClock, SystemClock, sleep
from doorman.base.errors import ApiError
from doorman.base.reader_faults import ReaderFaults
from doorman.client.client import Disconnected
from doorman.client.controller_contract import ObjectChange
from doorman.client.http import http_informer, list_watch
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_informer import HttpInformer, WatchBackoff
from doorman.client.http.http_informers import HttpInformers
from doorman.client.http.unseen_writes import NotedWrite
from doorman.client.informer_cache import InformerCache
from doorman.runtime.virtual_time import run_virtual
from support.scripted_http import Asked, ScriptedHttp, answer, events, refusal, scripted

MAPS = "/api/v1/configmaps"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_informer, "BACKOFF_SECONDS", 0.001)
    monkeypatch.setattr(http_informer, "BACKOFF_SECONDS_MAX", 0.001)
    monkeypatch.setattr(http_informer, "LEFT_OUT_SECONDS", 0.001)


def config_map(name: str, version: int, uid: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}


def event(type_: str, document: dict[str, Any]) -> dict[str, Any]:
    return {"type": type_, "object": document}


def listed(version: int, *items: dict[str, Any], more: str = "") -> bytes:
    metadata = {"resourceVersion": str(version), **({"continue": more} if more else {})}
    return answer(200, {"kind": "ConfigMapList", "metadata": metadata, "items": list(items)})


class Story:
    """Answers in order; what is asked after them is answered with an empty watch that stays open."""

    def __init__(self, *answers: bytes | Callable[[Asked], bytes]) -> None:
        self._answers = list(answers)
        self.over = asyncio.Event()

    def __call__(self, asked: Asked) -> bytes:
        if not self._answers:
            self.over.set()
            return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        said = self._answers.pop(0)
        return said if isinstance(said, bytes) else said(asked)


def told(
    *answers: bytes | Callable[[Asked], bytes], is_streamed: bool = False
) -> tuple[list[str], dict[str, str], ScriptedHttp]:
    """Changes that were told, what is in the cache in the end (versions by key), and what was asked."""

    async def run() -> tuple[list[str], dict[str, str], ScriptedHttp]:
        story = Story(*answers)
        heard: list[str] = []

        def listen(change: ObjectChange) -> None:
            what = "added" if change.old is None else "deleted" if change.new is None else "changed"
            heard.append(f"{what} {change.newest.metadata.name}@{change.newest.metadata.resource_version}")

        async with scripted(story) as (server, access):
            requests = ApiRequests(access, SystemClock(), component="test")
            informer = informer_on(requests, is_streamed=is_streamed)
            informer.listen(listen)
            informer.start()
            async with asyncio.timeout(20):
                await story.over.wait()
            informer.stop()
            requests.close()
            return heard, versions(informer), server

    return asyncio.run(run())


def informer_on(requests: ApiRequests, *, is_streamed: bool = False) -> HttpInformer:
    informers = HttpInformers(
        requests,
        Kinds(builtin_kinds().rows),
        SystemClock(),
        ReaderFaults(),
        lambda _: InformerCache(),
        is_streamed=is_streamed,
    )
    return informers.of("configmaps")


def versions(informer: HttpInformer) -> dict[str, str]:
    return {key: view.metadata.resource_version for key, view in informer.cache.objects.items()}


def test_list_then_watch() -> None:
    heard, found, server = told(
        listed(5, config_map("a", 3), config_map("b", 4)),
        events(
            event("MODIFIED", config_map("a", 6)),
            event("DELETED", config_map("b", 7)),
            event("ADDED", config_map("c", 8)),
        ),
    )
    assert heard == ["added a@3", "added b@4", "changed a@6", "deleted b@4", "added c@8"]
    assert found == {"default/a": "6", "default/c": "8"}
    first, second, third = server.asked
    assert first.query == {"resourceVersion": "0", "limit": "500"}
    assert (second.query["watch"], second.query["resourceVersion"]) == ("1", "5")
    assert third.query["resourceVersion"] == "8", "a stream that ends is followed from where it was"


def test_bookmark_moves_where_it_goes_on_and_tells_nothing() -> None:
    bookmark = {"kind": "ConfigMap", "metadata": {"resourceVersion": "90"}}
    heard, _, server = told(listed(5), events(event("BOOKMARK", bookmark)))
    assert heard == []
    assert server.asked[-1].query["resourceVersion"] == "90"


def test_pages_are_one_list() -> None:
    heard, found, server = told(listed(5, config_map("a", 3), more="token"), listed(5, config_map("b", 4)))
    assert found == {"default/a": "3", "default/b": "4"}
    assert server.asked[1].query == {"limit": "500", "continue": "token"}
    assert heard == ["added a@3", "added b@4"]


def test_page_that_has_expired_is_listed_anew_without_pages() -> None:
    _, found, server = told(
        listed(5, config_map("a", 3), more="token"),
        refusal(410, "Expired"),
        listed(6, config_map("a", 3), config_map("b", 6)),
    )
    assert found == {"default/a": "3", "default/b": "6"}
    assert server.asked[2].query == {}


EXPIRED = event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})


@pytest.mark.parametrize("gone", [events(EXPIRED), refusal(410, "Gone")], ids=["event", "answer"])
def test_expired_watch_is_filled_again_and_tells_the_difference(gone: bytes) -> None:
    heard, found, server = told(
        listed(5, config_map("a", 3), config_map("b", 4)), gone, listed(9, config_map("a", 3), config_map("c", 8))
    )
    assert heard == ["added a@3", "added b@4", "deleted b@4", "added c@8"]
    assert found == {"default/a": "3", "default/c": "8"}
    assert server.asked[2].query == {"resourceVersion": "5"}, "not older than what is known"


def test_version_that_is_not_there_yet_is_listed_consistently() -> None:
    too_large = refusal(504, "Timeout", details={"causes": [{"reason": "ResourceVersionTooLarge"}]})
    _, found, server = told(listed(5, config_map("a", 3)), events(EXPIRED), too_large, listed(2, config_map("a", 2)))
    assert server.asked[3].query == {}
    assert found == {"default/a": "2"}, "a server that was set up anew counts from the beginning"


@pytest.mark.parametrize("broken", [b"", refusal(429, "TooManyRequests")], ids=["broken", "busy"])
def test_passing_trouble_keeps_the_cache_and_follows_from_where_it_was(broken: bytes) -> None:
    heard, found, server = told(listed(5, config_map("a", 3)), broken, events(event("MODIFIED", config_map("a", 6))))
    assert heard == ["added a@3", "changed a@6"]
    assert found == {"default/a": "6"}
    assert [asked.query.get("resourceVersion") for asked in server.asked] == ["0", "5", "5", "6"]


def test_stream_cut_at_every_byte_comes_to_the_same_end() -> None:
    whole = events(event("MODIFIED", config_map("a", 6)), event("ADDED", config_map("b", 7)))
    for size in range(0, len(whole), 7):
        _, found, _ = told(listed(5, config_map("a", 3)), whole[:size] if size > 70 else b"", whole)
        assert found == {"default/a": "6", "default/b": "7"}, size


def all_told(version: int) -> dict[str, Any]:
    annotations = {"k8s.io/initial-events-end": "true"}
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}})


def test_stream_tells_everything_first() -> None:
    heard, found, server = told(
        events(
            event("ADDED", config_map("a", 3)),
            event("ADDED", config_map("b", 4)),
            all_told(5),
            event("MODIFIED", config_map("a", 6)),
        ),
        is_streamed=True,
    )
    assert heard == ["added a@3", "added b@4", "changed a@6"]
    assert found == {"default/a": "6", "default/b": "4"}
    first, second = server.asked
    assert (first.query["sendInitialEvents"], first.query["resourceVersionMatch"]) == ("true", "NotOlderThan")
    assert "resourceVersion" not in first.query
    assert second.query["resourceVersion"] == "6", "the same stream was followed"


def test_stream_that_ends_early_tells_nothing_and_is_listed() -> None:
    heard, found, server = told(
        events(event("ADDED", config_map("b", 4))), listed(5, config_map("a", 3)), is_streamed=True
    )
    assert heard == ["added a@3"]
    assert found == {"default/a": "3"}
    assert server.asked[1].query["resourceVersion"] == "0"


@pytest.mark.parametrize("said", [refusal(422, "Invalid"), refusal(400, "BadRequest")])
def test_server_without_such_streams_is_listed_for_good(said: bytes) -> None:
    _, found, server = told(
        said, listed(5, config_map("a", 3)), events(EXPIRED), listed(7, config_map("a", 6)), is_streamed=True
    )
    assert found == {"default/a": "6"}
    assert ["sendInitialEvents" in asked.query for asked in server.asked] == [True, False, False, False, False]


def test_expired_stream_is_filled_by_another_from_what_is_known() -> None:
    heard, found, server = told(
        events(event("ADDED", config_map("a", 3)), event("ADDED", config_map("b", 4)), all_told(5), EXPIRED),
        events(event("ADDED", config_map("a", 3)), all_told(9)),
        is_streamed=True,
    )
    assert heard == ["added a@3", "added b@4", "deleted b@4"]
    assert found == {"default/a": "3"}
    assert server.asked[1].query["resourceVersion"] == "5"


def test_old_news_is_dropped() -> None:
    heard, _, _ = told(
        listed(9, config_map("a", 9)),
        events(event("MODIFIED", config_map("a", 8)), event("ADDED", config_map("a", 9))),
    )
    assert heard == ["added a@9"]


def test_namesake_is_told_as_another() -> None:
    heard, _, _ = told(listed(5, config_map("a", 3)), events(EXPIRED), listed(9, config_map("a", 8, uid="another")))
    assert heard == ["added a@3", "deleted a@3", "added a@8"]


def test_kind_that_is_not_served_counts_as_empty_and_is_tried_again() -> None:
    heard, found, _ = told(refusal(404, "NotFound"), listed(5, config_map("a", 3)))
    assert heard == ["added a@3"]
    assert found == {"default/a": "3"}


def test_nonsense_is_listed_again() -> None:
    _, found, _ = told(answer(200, b"nonsense"), listed(5, config_map("a", 3)))
    assert found == {"default/a": "3"}


@pytest.mark.parametrize(
    ("written", "is_shown"),
    [
        (NotedWrite("configmaps", "default/a", 5), True),
        (NotedWrite("configmaps", "default/a", 6), False),
        (NotedWrite("configmaps", "default/a", 0, "uid-a"), False),
        (NotedWrite("configmaps", "default/a", 0, "another"), True),
        (NotedWrite("configmaps", "default/z", 0, "uid-z"), True),
    ],
)
def test_write_is_seen_when_the_cache_shows_it(written: NotedWrite, is_shown: bool) -> None:
    async def run() -> None:
        story = Story(listed(5, config_map("a", 3)))
        async with scripted(story) as (_, access):
            requests = ApiRequests(access, SystemClock(), component="test")
            informer = informer_on(requests)
            assert informer.seen(written) is None, "nobody waits for what is not followed yet"
            informer.start()
            await informer.filled.wait()
            assert (informer.seen(written) is None) is is_shown
            informer.stop()
            requests.close()

    asyncio.run(run())


def test_waits_grow_and_are_forgotten() -> None:
    async def story() -> list[float]:
        backoff = WatchBackoff(clock, random.Random(1))
        waits = [backoff.next() for _ in range(3)]
        await sleep(clock, 121.0)
        return [*waits, backoff.next()]

    clock = ManualClock()
    first, second, _, last = run_virtual(story(), clock=clock)
    assert first <= 2 * http_informer.BACKOFF_SECONDS
    assert second <= 2 * http_informer.BACKOFF_SECONDS_MAX
    assert last <= 2 * http_informer.BACKOFF_SECONDS


def test_interruptions_are_judged() -> None:
    judge = list_watch.decide_next
    assert judge(Disconnected("x"), is_filled=False) is list_watch.Resumption.FILL
    assert judge(ApiError(403, "Forbidden", ""), is_filled=True) is list_watch.Resumption.REFUSED
    assert judge(ApiError(500, "InternalError", ""), is_filled=True) is list_watch.Resumption.FILL
