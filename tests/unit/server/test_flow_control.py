"""Flow control: places, turns, and being told to come back."""

import asyncio

import pytest

from doorman.api.identity import ADMIN, AUTHENTICATED, User
from doorman.base.errors import ApiError
from doorman.runtime.virtual_time import run_virtual
from doorman.server import flow_control as flow
from doorman.server.flow_control import FlowControl, Lane
from doorman.server.request import RequestInfo

JANE = User(name="jane", groups=(AUTHENTICATED,))


def ask(verb: str, path: str = "") -> RequestInfo:
    return RequestInfo(is_resource=not path, verb=verb, path=path, resource="" if path else "pods")


@pytest.mark.parametrize(
    ("user", "info", "lane"),
    [
        pytest.param(JANE, ask("create"), "mutating", id="write"),
        pytest.param(JANE, ask("deletecollection"), "mutating", id="delete-many"),
        pytest.param(JANE, ask("list"), "read_only", id="read"),
        pytest.param(JANE, ask("get", "/metrics"), "read_only", id="path"),
        pytest.param(JANE, ask("watch"), None, id="watch"),
        pytest.param(JANE, ask("get", "/readyz"), None, id="probe"),
        pytest.param(ADMIN, ask("create"), None, id="masters"),
    ],
)
def test_requests_have_their_lanes(user: User, info: RequestInfo, lane: str | None) -> None:
    control = FlowControl()
    assert control.lane_of(user, info) is (getattr(control, lane) if lane else None)


def test_places_go_round_between_users_not_to_who_asks_most() -> None:
    async def story() -> list[str]:
        lane = Lane(1)
        served: list[str] = []

        async def request(user: str) -> None:
            if not lane.try_enter():
                await lane.wait(user)
            served.append(user)
            await asyncio.sleep(1)
            lane.leave()

        async with asyncio.TaskGroup() as group:
            for user in ("greedy", "greedy", "greedy", "greedy", "modest", "third"):
                group.create_task(request(user))
        assert (lane.running, lane.waiting) == (0, 0)
        return served

    assert run_virtual(story()) == ["greedy", "greedy", "modest", "third", "greedy", "greedy"]


def test_who_waits_too_long_is_told_to_come_back() -> None:
    async def story() -> None:
        lane = Lane(1)
        assert lane.try_enter()
        with pytest.raises(ApiError) as caught:
            await lane.wait("jane")
        assert (caught.value.code, caught.value.retry_after_seconds) == (429, 1)
        assert lane.waiting == 0
        lane.leave()
        assert lane.try_enter(), "the place is free again"

    run_virtual(story())


def test_line_of_one_user_is_bounded_and_others_still_wait_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "WAITING_PER_USER_MAX", 2)

    async def story() -> None:
        lane = Lane(1)
        assert lane.try_enter()
        waiting = [asyncio.ensure_future(lane.wait("greedy")) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ApiError):
            await lane.wait("greedy")
        modest = asyncio.ensure_future(lane.wait("modest"))
        await asyncio.sleep(0)
        lane.leave()
        lane.leave()
        await modest
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    run_virtual(story())


def test_request_that_is_given_up_hands_its_turn_on() -> None:
    async def story() -> None:
        lane = Lane(1)
        assert lane.try_enter()
        first = asyncio.ensure_future(lane.wait("a"))
        second = asyncio.ensure_future(lane.wait("b"))
        await asyncio.sleep(0)
        lane.leave()  # to the first, who goes away before he learns of it
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await second
        assert (lane.running, lane.waiting) == (1, 0)

    run_virtual(story())


class _Stream:
    is_open = True

    async def lines(self):  # type: ignore[no-untyped-def]
        yield b""

    def close(self) -> None:
        self.is_open = False


def test_watches_of_one_user_are_counted_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "WATCHES_PER_USER_MAX", 2)
    control = FlowControl()
    watches = [control.counted(JANE, _Stream()) for _ in range(2)]
    over = _Stream()
    with pytest.raises(ApiError):
        control.counted(JANE, over)
    assert not over.is_open
    watches[0].close()
    watches[0].close()
    assert control.watches_of("jane") == 1
    control.counted(JANE, _Stream())
