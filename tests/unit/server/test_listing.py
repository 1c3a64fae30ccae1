"""Lists: options, pages, revisions."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

from doorman.registry.cache import collection as watchcache
from doorman.registry.cache.selection import Selection
from doorman.server import listing
from doorman.server.listing import list_page, parse_list_options
from doorman.server.request import Query
from support.api import Api, running_api

MAPS = "/api/v1/namespaces/default/configmaps"


def run(story: Any) -> None:
    async def main() -> None:
        async with running_api() as api:
            for name in "abcde":
                body = {"metadata": {"name": name, "labels": {"vowel": str(name in "ae").lower()}}}
                await api.given("configmaps", body, namespace="default")
            await story(api)

    asyncio.run(main())


async def listed(api: Api, query: str = "") -> tuple[list[str], Any]:
    status, answer = await api.call("GET", f"{MAPS}?{query}")
    assert status == 200, answer
    return [item["metadata"]["name"] for item in answer["items"]], answer["metadata"]


def test_pages_follow_each_other_in_order_and_count_what_is_left() -> None:
    async def story(api: Api) -> None:
        names, first = await listed(api, "limit=2")
        assert (names, first["remainingItemCount"]) == (["a", "b"], 3)
        names, second = await listed(api, f"limit=2&continue={first['continue']}")
        assert (names, second["remainingItemCount"]) == (["c", "d"], 1)
        names, last = await listed(api, f"limit=2&continue={second['continue']}")
        assert names == ["e"]
        assert "continue" not in last
        assert first["resourceVersion"] == second["resourceVersion"] == last["resourceVersion"]

    run(story)


def test_later_page_shows_what_was_there_at_the_first() -> None:
    async def story(api: Api) -> None:
        _, first = await listed(api, "limit=2")
        await api.call("DELETE", f"{MAPS}/d")
        await api.given("configmaps", {"metadata": {"name": "cc"}}, namespace="default")
        assert (await listed(api, f"continue={first['continue']}"))[0] == ["c", "d", "e"]
        assert (await listed(api))[0] == ["a", "b", "c", "cc", "e"]

    run(story)


def test_what_is_left_is_not_counted_under_a_selector() -> None:
    async def story(api: Api) -> None:
        names, page = await listed(api, "limit=1&labelSelector=vowel%3Dfalse")
        assert names == ["b"]
        assert "remainingItemCount" not in page
        names, _ = await listed(api, f"labelSelector=vowel%3Dfalse&continue={page['continue']}")
        assert names == ["c", "d"]

    run(story)


def test_token_is_readable_as_kubernetes_writes_it() -> None:
    async def story(api: Api) -> None:
        _, page = await listed(api, "limit=2")
        raw = base64.urlsafe_b64decode(page["continue"] + "=" * (-len(page["continue"]) % 4))
        assert json.loads(raw) == {
            "v": "meta.k8s.io/v1",
            "rv": int(page["resourceVersion"]),
            "start": "default/b\x00",
        }

    run(story)


def test_revisions() -> None:
    async def story(api: Api) -> None:
        _, then = await listed(api)
        await api.call("DELETE", f"{MAPS}/a")
        exact = f"resourceVersion={then['resourceVersion']}&resourceVersionMatch=Exact"
        assert (await listed(api, exact))[0] == ["a", "b", "c", "d", "e"]
        fresh = f"resourceVersion={then['resourceVersion']}&resourceVersionMatch=NotOlderThan"
        assert (await listed(api, fresh))[0] == ["b", "c", "d", "e"]
        assert (await listed(api, "resourceVersion=0&limit=1"))[0] == ["b", "c", "d", "e"], "the limit does not hold"

    run(story)


@pytest.mark.parametrize(
    ("query", "code", "reason"),
    [
        pytest.param("resourceVersion=99999", 504, "Timeout", id="a-revision-to-come"),
        pytest.param("resourceVersion=1&resourceVersionMatch=Exact", 200, None, id="the-first-revision"),
        pytest.param("continue=x", 400, "BadRequest", id="no-token"),
        pytest.param("limit=-1", 200, None, id="negative-limit"),
        pytest.param("resourceVersion=-1", 400, "BadRequest", id="negative-revision"),
    ],
)
def test_answers(query: str, code: int, reason: str | None) -> None:
    async def story(api: Api) -> None:
        status, answer = await api.call("GET", f"{MAPS}?{query}")
        assert (status, answer.get("reason")) == (code, reason)

    run(story)


class _Counting:
    """A label selector that admits everything and counts what it was asked about."""

    def __init__(self) -> None:
        self.asked = 0

    def matches(self, _: Mapping[str, str]) -> bool:
        self.asked += 1
        return True


class _ShortTurn:
    """Over at every opportunity; others do something before the next one."""

    def __init__(self, meanwhile: Callable[[], Awaitable[Any]]) -> None:
        self._meanwhile = meanwhile

    def is_over(self) -> bool:
        return True

    async def next(self) -> None:
        await self._meanwhile()


async def filled(api: Api, count: int) -> None:
    for i in range(count):
        await api.given("configmaps", {"metadata": {"name": f"m{i:05}"}}, namespace="default")


def test_page_looks_at_what_it_shows_and_not_at_the_whole_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchcache, "WINDOW_KEYS", 10)

    async def story(api: Api) -> None:
        await filled(api, 100)
        registry = api.cluster.registry
        kind, counting = registry.kinds.named("configmaps"), _Counting()
        options = parse_list_options(kind, "", Query("limit=5"))
        selected = msgspec.structs.replace(options, selection=Selection(storage=kind.storage, labels=counting))
        page = await list_page(registry, kind, selected)
        assert (len(page.items), counting.asked) == (5, 10)
        await api.call("DELETE", f"{MAPS}/m00050")
        after = msgspec.structs.replace(selected, continue_token=page.continue_token)
        assert len((await list_page(registry, kind, after)).items) == 5
        assert counting.asked == 20

    run(story)


def test_page_that_takes_several_turns_is_of_one_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchcache, "WINDOW_KEYS", 2)

    async def story(api: Api) -> None:
        gone = iter(("d", "e"))

        async def meanwhile() -> None:
            name = next(gone, "")
            if name:
                await api.call("DELETE", f"{MAPS}/{name}")
                await api.given("configmaps", {"metadata": {"name": f"x{name}"}}, namespace="default")

        monkeypatch.setattr(listing, "Turn", lambda: _ShortTurn(meanwhile))
        assert (await listed(api, "labelSelector=vowel"))[0] == ["a", "b", "c", "d", "e"]
        monkeypatch.undo()
        assert (await listed(api))[0] == ["a", "b", "c", "xd", "xe"]

    run(story)


def test_newest_page_begins_anew_when_too_much_happens_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchcache, "WINDOW_KEYS", 2)
    monkeypatch.setattr(watchcache, "CHANGES_MAX", 3)

    async def story(api: Api) -> None:
        left = iter(range(1))

        async def meanwhile() -> None:
            if next(left, None) is not None:
                await filled(api, 10)

        monkeypatch.setattr(listing, "Turn", lambda: _ShortTurn(meanwhile))
        assert len((await listed(api))[0]) == 15

    run(story)
