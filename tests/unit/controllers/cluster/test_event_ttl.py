"""event-ttl: an hour after the last write."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.core import Event
from doorman.base.instants import from_time
from doorman.client.actions import Create, Patch, PatchType
from doorman.controllers.cluster.event_ttl import EventTtlController, decide_expired
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


class Log:
    """Events by key, each with the revision of its last write."""

    def __init__(self, **written: int) -> None:
        self.revision = max(written.values(), default=0)
        self._written = dict(written)
        self.read: list[str] = []

    def write(self, key: str) -> None:
        self.revision += 1
        self._written[key] = self.revision

    def until(self, revision: int) -> list[str]:
        return [key for key, last in self._written.items() if last <= revision]

    def get(self, key: str) -> Event:
        self.read.append(key)
        made = {"namespace": "x", "name": key.removeprefix("x/"), "creationTimestamp": "2026-01-01T00:00:30Z"}
        return msgspec.convert({"metadata": made}, Event)


def test_revisions_tell_how_old_events_are() -> None:
    log = Log()
    controller = EventTtlController(log)
    controller.start(NOW)
    log.write("x/a")
    going: dict[int, list[str]] = {}
    for minute in range(1, 65):
        if minute == 2:
            log.write("x/b")
        if minute == 3:
            log.write("x/a")
        wakes = controller.reconcile("sweep", NOW + minute * 60).wakes
        assert wakes[-1] == ("sweep", NOW + minute * 60 + 60)
        if len(wakes) > 1:
            going[minute] = [key for key, _ in wakes[:-1]]
    assert going == {62: ["event/x/b"], 63: ["event/x/a", "event/x/b"], 64: ["event/x/a", "event/x/b"]}
    assert log.read == [], "nothing was decoded for it"


def test_events_from_before_the_start_say_when_they_were_written() -> None:
    controller = EventTtlController(Log(**{"x/old": 3}))
    controller.start(NOW)
    assert [len(controller.reconcile("sweep", NOW + seconds).wakes) for seconds in (0, 29, 30, 4000)] == [1, 1, 2, 2]


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
        events = cluster.cluster.informers.live("events")
        assert events.get("default/old") is not None, "not before its time"
        await cluster.advance(180)
        assert events.get("default/old") is None
        assert events.get("default/renewed") is not None

    run_story(story, nodes=0)
