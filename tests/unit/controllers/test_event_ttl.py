"""event-ttl: an hour after the last write."""

from typing import Any

import msgspec
import pytest

from doorman.api.events import Event
from doorman.base.instants import from_time
from doorman.client.actions import Create, Patch, PatchType
from doorman.controllers.event_ttl import decide_expired
from support.cluster import Story, run_story

NOW = from_time("2026-01-01T01:00:00Z")


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}, True, id="an-hour-old"),
        pytest.param({"metadata": {"creationTimestamp": "2026-01-01T00:00:01Z"}}, False, id="a-second-younger"),
        pytest.param(
            {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "lastTimestamp": "2026-01-01T00:30:00Z"},
            False,
            id="counted-again",
        ),
        pytest.param(
            {
                "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
                "eventTime": "2026-01-01T00:00:00.000000Z",
                "series": {"count": 2, "lastObservedTime": "2026-01-01T00:30:00.000000Z"},
            },
            False,
            id="series-goes-on",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "eventTime": None, "series": None},
            True,
            id="nulls",
        ),
    ],
)
def test_expired(event: dict[str, Any], expected: bool) -> None:
    assert bool(decide_expired([msgspec.convert(event, Event)], NOW)) is expected


def test_events_go_from_the_cluster_and_renewed_ones_stay() -> None:
    async def story(cluster: Story) -> None:
        involved = {"kind": "Pod", "name": "p", "namespace": "default"}
        for name in ("old", "renewed"):
            body = {"metadata": {"name": name}, "involvedObject": involved, "reason": "R"}
            await cluster.client.create(Create(resource="events", namespace="default", body=body))
        await cluster.advance(3000)
        renewed = {"lastTimestamp": "2026-01-01T00:50:00Z", "count": 2}
        await cluster.client.patch(
            Patch(resource="events", namespace="default", name="renewed", body=renewed, type=PatchType.MERGE)
        )
        await cluster.advance(540)
        lister = cluster.cluster.informers.lister("events")
        assert lister.get("default/old") is not None, "not before its time"
        await cluster.advance(180)
        assert lister.get("default/old") is None
        assert lister.get("default/renewed") is not None

    run_story(story, nodes=0)
