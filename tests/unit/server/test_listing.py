"""Lists: options, pages, revisions."""

import asyncio
import base64
import json
from typing import Any

import pytest

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
