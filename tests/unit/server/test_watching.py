"""A watch tells everything, in order, also where somebody who goes on from a bookmark begins."""

import json
import random

from doorman.client.actions import Create
from doorman.server.codec.negotiation import Accepted
from doorman.server.codec.rendering import Renderer
from doorman.server.request import Query
from doorman.server.watching import Watch
from support.cluster import Story, run_story

QUERY = "watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion="


def test_bookmark_is_not_ahead_of_what_was_sent() -> None:
    """Something is written while a reader takes its time over the lines before the bookmark."""

    async def story(cluster: Story) -> None:
        registry, kinds = cluster.cluster.registry, cluster.cluster.kinds

        async def make(name: str) -> None:
            await cluster.client.create(
                Create(resource="configmaps", namespace="default", body={"metadata": {"name": name}})
            )

        renderer = Renderer(Accepted(), pretty=False, include_object="", now=cluster.clock.now())
        query = Query(QUERY + str(registry.cache.revision))
        watch = Watch(registry, kinds.named("configmaps"), "default", "", query, renderer, random.Random(1))
        told: list[tuple[str, int]] = []
        await cluster.advance(1.5)  # a bookmark is due
        await make("first")
        async for lines in watch.lines():
            events = [json.loads(line) for line in lines.splitlines()]
            told += [(event["type"], int(event["object"]["metadata"]["resourceVersion"])) for event in events]
            if len(told) == 1:
                await cluster.advance(1.5)
                await make("second")
        assert [kind for kind, _ in told if kind == "ADDED"] == ["ADDED", "ADDED"]
        marks = [index for index, (kind, _) in enumerate(told) if kind == "BOOKMARK"]
        assert marks
        for index in marks:
            assert all(revision > told[index][1] for kind, revision in told[index:] if kind == "ADDED"), told

    run_story(story, nodes=0)
