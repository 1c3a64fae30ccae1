"""A watch tells everything, in order, also where somebody who goes on from a bookmark begins."""

import asyncio
import json
import random

from doorman.client.actions import Create
from doorman.server.codec.negotiation import Accepted
from doorman.server.codec.rendering import Renderer
from doorman.server.request import Query
from doorman.server.watching import Watch
from support.cluster import Story, run_story

Told = list[tuple[str, int]]
"""Types of events and their revisions."""

QUERY = "watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion="


def opened(cluster: Story) -> Watch:
    registry = cluster.cluster.registry
    renderer = Renderer(Accepted(), pretty=False, include_object="", now=cluster.clock.now())
    query = Query(QUERY + str(registry.cache.revision))
    kind = cluster.cluster.kinds.named("configmaps")
    return Watch(registry, kind, "default", "", query, renderer, random.Random(1))


async def make(cluster: Story, name: str) -> None:
    await cluster.client.create(Create(resource="configmaps", namespace="default", body={"metadata": {"name": name}}))


def told_by(lines: bytes) -> Told:
    events = [json.loads(line) for line in lines.splitlines()]
    return [(event["type"], int(event["object"]["metadata"]["resourceVersion"])) for event in events]


def test_bookmark_is_not_ahead_of_what_was_sent() -> None:
    """Something is written while a reader takes its time over the lines before the bookmark."""

    async def story(cluster: Story) -> None:
        watch = opened(cluster)
        told: Told = []
        await cluster.advance(1.5)  # a bookmark is due
        await make(cluster, "first")
        async for lines in watch.lines():
            told += told_by(lines)
            if len(told) == 1:
                await cluster.advance(1.5)
                await make(cluster, "second")
        assert [kind for kind, _ in told if kind == "ADDED"] == ["ADDED", "ADDED"]
        marks = [index for index, (kind, _) in enumerate(told) if kind == "BOOKMARK"]
        assert marks
        for index in marks:
            assert all(revision > told[index][1] for kind, revision in told[index:] if kind == "ADDED"), told

    run_story(story, nodes=0)


def test_watch_that_is_ended_says_nothing_of_what_it_did_not_send() -> None:
    """The server stops while an event waits for its moment, and a bookmark is due."""

    async def story(cluster: Story) -> None:
        watch = opened(cluster)
        told: Told = []

        async def read() -> None:
            async for lines in watch.lines():
                told.extend(told_by(lines))

        reading = asyncio.create_task(read())
        await cluster.advance(1.5)  # a bookmark is due
        await make(cluster, "first")
        await asyncio.sleep(0.001)
        await make(cluster, "second")
        newest = cluster.cluster.registry.cache.revision
        watch.close()
        await reading
        assert [kind for kind, _ in told if kind == "ADDED"] == ["ADDED"]
        assert all(revision < newest for _, revision in told), told

    run_story(story, nodes=0)
