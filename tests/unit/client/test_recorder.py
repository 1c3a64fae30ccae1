"""Events as they arrive at the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from doorman.api.kinds import type_table
from doorman.api.machinery.schema import Schema
from doorman.base.clock import ManualClock, sleep
from doorman.client.actions import Create, Delete, ObjectReference, RecordEvent
from doorman.client.client import Disconnected
from doorman.client.recorder import ATTEMPTS_MAX, EventRecorder
from doorman.runtime.virtual_time import run_virtual
from support.api import Api, running_api

POD = ObjectReference(kind="Pod", api_version="v1", namespace="default", name="p", uid="u")


class Told:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._recorder = EventRecorder(api.admin, api.clock, host="me")

    async def tell(self, message: str, *, after: float = 0.0, about: ObjectReference = POD, **more: str) -> None:
        self._api.clock.advance_to(self._api.clock.now() + after)
        event = RecordEvent(regarding=about, reason="Seen", message=message, component="watcher", **more)
        self._recorder.record(event)
        while not self._recorder.is_idle:
            await asyncio.sleep(0)

    async def events(self) -> list[dict[str, Any]]:
        _, answer = await self._api.call("GET", "/api/v1/namespaces/default/events")
        found: list[dict[str, Any]] = answer["items"]
        return found

    async def counts(self) -> dict[str, int]:
        return {event["message"]: event["count"] for event in await self.events()}

    async def expire(self) -> None:
        for event in await self.events():
            await self._api.admin.delete(Delete(resource="events", namespace="default", name=event["metadata"]["name"]))


@asynccontextmanager
async def told() -> AsyncIterator[Told]:
    async with running_api() as api:
        yield Told(api)


async def test_repeat_counts_up() -> None:
    async with told() as events:
        await events.tell("m")
        await events.tell("m", after=5)
        (event,) = await events.events()
        assert (event["count"], event["firstTimestamp"]) == (2, "2026-01-01T00:00:00Z")
        assert event["lastTimestamp"] == "2026-01-01T00:00:05Z"
        assert event["metadata"]["name"].startswith("p.")
        assert event["source"] == {"component": "watcher"}


async def test_kubelet_says_its_node() -> None:
    async with told() as events:
        await events.tell("m", host="n1")
        (event,) = await events.events()
        assert (event["source"], event["reportingInstance"]) == ({"component": "watcher", "host": "n1"}, "n1")


async def test_tenth_similar_one_is_combined_with_those_after_it() -> None:
    async with told() as events:
        for number in range(12):
            await events.tell(f"m{number}")
        counts = await events.counts()
        assert list(counts.values()) == [*[1] * 9, 3]
        assert "(combined from similar events): m11" in counts


async def test_similar_ones_long_apart_are_not_combined() -> None:
    async with told() as events:
        for number in range(12):
            await events.tell(f"m{number}", after=601)
        assert set((await events.counts()).values()) == {1}


async def test_repeat_of_an_expired_event_is_told_anew() -> None:
    async with told() as events:
        await events.tell("m")
        await events.expire()
        await events.tell("m", after=7200)
        (event,) = await events.events()
        assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (
            2, "2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z",
        )  # fmt: skip


async def test_source_that_floods_one_object_is_cut_off() -> None:
    async with told() as events:
        for _ in range(40):
            await events.tell("m")
        assert await events.counts() == {"m": 25}
        await events.tell("m", after=300)
        assert await events.counts() == {"m": 26}


async def test_event_that_may_not_be_written_is_dropped() -> None:
    async with told() as events:
        await events.tell("m", about=ObjectReference(kind="Pod", namespace="nowhere", name="p"))
        await events.tell("m")
        assert await events.counts() == {"m": 1}


async def test_newer_style_starts_a_series() -> None:
    async with told() as events:
        for _ in range(3):
            await events.tell("m", action="Looking")
        (event,) = await events.events()
        assert (event["series"]["count"], event["reportingInstance"]) == (2, "watcher-me")


class Taker:
    """Takes what is to be created, and nothing else."""

    def __init__(self) -> None:
        self.taken: list[Create] = []

    async def create(self, action: Create) -> None:
        self.taken.append(action)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="classic"),
        pytest.param({"host": "n1"}, id="of-a-node"),
        pytest.param({"action": "Looking"}, id="newer"),
        pytest.param({"action": "Looking", "related": ObjectReference(kind="Node", name="n1")}, id="related"),
    ],
)
async def test_what_is_given_away_is_as_the_server_keeps_it(more: dict[str, Any]) -> None:
    taker = Taker()
    recorder = EventRecorder(taker, ManualClock())  # type: ignore[arg-type]  # all it asks of a client here
    recorder.record(RecordEvent(regarding=POD, reason="Seen", message="m", component="watcher", **more))
    while not recorder.is_idle:
        await asyncio.sleep(0)
    (action,) = taker.taken
    assert action.is_given_away
    type_name = "core.v1.Event" if action.resource == "events" else "events.v1.Event"
    assert Schema(type_table()).clean(action.body, type_name) == (action.body, [])


class Unsteady:
    """A client that loses its connection a few times before it writes."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.written: list[str] = []

    async def create(self, action: Create) -> Any:
        if self.failures:
            self.failures -= 1
            raise Disconnected("nobody answers")
        self.written.append(action.body["message"])


def recorded(client: Unsteady, *messages: str, queue_max: int = 100) -> EventRecorder:
    """In virtual time, until there is nothing more to write."""
    clock = ManualClock()

    async def story() -> EventRecorder:
        recorder = EventRecorder(client, clock, queue_max=queue_max)  # type: ignore[arg-type]  # it only creates
        for message in messages:
            recorder.record(RecordEvent(regarding=POD, reason="Seen", message=message, component="watcher"))
        while not recorder.is_idle:
            await sleep(clock, 1.0)
        return recorder

    return run_virtual(story(), clock=clock)


def test_event_waits_for_a_connection() -> None:
    client = Unsteady(failures=3)
    recorded(client, "m")
    assert client.written == ["m"]


def test_event_is_given_up_when_there_is_none() -> None:
    client = Unsteady(failures=ATTEMPTS_MAX)
    recorded(client, "m")
    assert client.written == []


def test_events_that_find_no_place_are_counted() -> None:
    client = Unsteady(failures=0)
    assert recorded(client, "a", "b", "c", queue_max=2).dropped == 1
    assert client.written == ["a", "b"]


class OneByOne(Unsteady):
    """A client that takes a second for an event, and notes how many it was asked to write at a time."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(failures=0)
        self._clock = clock
        self.under_way = self.under_way_max = 0

    async def create(self, action: Create) -> Any:
        self.under_way += 1
        self.under_way_max = max(self.under_way, self.under_way_max)
        await sleep(self._clock, 1.0)
        self.under_way -= 1
        await super().create(action)


def test_events_are_written_one_after_the_other() -> None:
    clock = ManualClock()
    client = OneByOne(clock)

    async def story() -> None:
        recorder = EventRecorder(client, clock)  # type: ignore[arg-type]  # it only creates
        for message in "abc":
            recorder.record(RecordEvent(regarding=POD, reason="Seen", message=message, component="watcher"))
        while not recorder.is_idle:
            await sleep(clock, 0.5)

    run_virtual(story(), clock=clock)
    assert (client.written, client.under_way_max) == (["a", "b", "c"], 1)
