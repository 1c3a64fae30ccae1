"""ControllerRunner: keys, wakes, retries, one caller a key."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import pytest

from doorman.base.clock import ManualClock
from doorman.base.errors import ApiError
from doorman.client.actions import Delete
from doorman.client.controller_contract import DONE, ObjectChange, Result, Retry, Source
from doorman.client.controller_runner import ControllerRunner
from doorman.client.executor import Executor
from doorman.runtime.virtual_time import VirtualLoop
from support.cluster import SettableClock


def names(change: ObjectChange) -> Iterable[str]:
    return (change.newest,)


class Fake:
    """Answers with what it was given, and remembers what it was asked."""

    name = "fake"
    sources = (Source("things", names),)
    workers = 2

    def __init__(self, answer: Callable[[str], Result] = lambda _key: DONE) -> None:
        self.answer = answer
        self.asked: list[tuple[str, float]] = []
        self.given_up: list[str] = []

    def start(self, now: float) -> Result:
        return DONE

    def reconcile(self, key: str, now: float) -> Result:
        self.asked.append((key, now))
        return self.answer(key)

    def gave_up(self, key: str, error: Exception, now: float) -> None:
        self.given_up.append(key)


class FakeClient:
    def __init__(self, *, seconds: float = 0.0, fails: bool = False) -> None:
        self.seconds, self.fails = seconds, fails
        self.running: list[str] = []
        self.most = 0

    async def delete(self, action: Delete) -> None:
        self.running.append(action.name)
        assert len(set(self.running)) == len(self.running), "one key never has two callers"
        self.most = max(self.most, len(self.running))
        await asyncio.sleep(self.seconds)
        self.running.remove(action.name)
        if self.fails:
            raise ApiError(500, "", "no")


def run(
    controller: Any,
    client: Any,
    act: Callable[[ControllerRunner], None],
    *,
    seconds: float,
    queue_names: Mapping[str, str] | None = None,
) -> ControllerRunner:
    clock = ManualClock(0.0)
    loop = VirtualLoop(clock)

    async def main() -> ControllerRunner:
        executor = Executor(client, None)  # type: ignore[arg-type]  # no events
        runner = ControllerRunner(controller, executor, clock, queue_names=queue_names, stopwatch=clock.now)
        runner.start()
        act(runner)
        await asyncio.sleep(seconds)
        runner.stop()
        return runner

    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


def test_wake_comes_in_time_though_the_clock_was_set_back_and_the_controller_is_told() -> None:
    told: list[float] = []

    class Follower(Fake):
        def clock_was_set(self, seconds: float) -> None:
            told.append(seconds)

    fake = Follower(lambda key: Result(wakes=(("later", 20.0),)) if key == "first" else DONE)
    counts: list[int] = []
    manual = ManualClock(0.0)
    clock, loop = SettableClock(manual), VirtualLoop(manual)

    async def main() -> None:
        runner = ControllerRunner(fake, Executor(FakeClient(), None), clock)  # type: ignore[arg-type]  # no events
        runner.add("first")
        await asyncio.sleep(10.0)
        clock.ahead_seconds = -30.0
        await asyncio.sleep(9.0)
        counts.append(len(fake.asked))
        await asyncio.sleep(1.5)
        counts.append(len(fake.asked))
        runner.stop()

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    assert counts == [1, 2]
    assert fake.asked[-1][0] == "later"
    assert told == [-30.0]


def delete(key: str) -> Result:
    return Result(actions=(Delete(resource="things", name=key),))


def test_changes_wake_their_keys_once_a_turn() -> None:
    fake = Fake()

    def act(runner: ControllerRunner) -> None:
        for name in ("a", "b", "a"):
            runner.listener(Source("things", names))(ObjectChange("things", None, name))

    runner = run(fake, FakeClient(), act, seconds=1)
    assert [key for key, _ in fake.asked] == ["a", "b"]
    assert (runner.depth, [queue.adds for queue in runner.metrics]) == (0, [2])


def test_wake_comes_when_it_is_due() -> None:
    fake = Fake()
    fake.answer = lambda key: Result(wakes=(("later", 30.0),)) if key == "now" else DONE
    run(fake, FakeClient(), lambda runner: runner.add("now"), seconds=60)
    assert [key for key, _ in fake.asked] == ["now", "later"]
    assert fake.asked[1][1] == pytest.approx(30.0)


def test_key_that_changes_under_way_is_looked_at_again() -> None:
    fake = Fake(delete)

    def act(runner: ControllerRunner) -> None:
        runner.add("a")
        asyncio.get_running_loop().call_later(0.5, runner.add, "a")

    run(fake, FakeClient(seconds=1.0), act, seconds=5)
    assert [round(at, 3) for _, at in fake.asked] == [0.0, 1.0]


def test_no_more_at_once_than_workers() -> None:
    client = FakeClient(seconds=1.0)

    def act(runner: ControllerRunner) -> None:
        for key in "abcde":
            runner.add(key)

    fake = Fake(delete)
    run(fake, client, act, seconds=10)
    assert client.most == 2
    assert sorted(key for key, _ in fake.asked) == list("abcde")


def test_failures_are_tried_again_later_and_later_then_given_up() -> None:
    fake = Fake()
    retry = Retry(attempts_max=3, delay_seconds=1.0)
    fake.answer = lambda key: Result(actions=delete(key).actions, retry=retry)
    runner = run(fake, FakeClient(fails=True), lambda runner: runner.add("a"), seconds=60)
    assert [round(at, 3) for _, at in fake.asked] == [0.0, 1.0, 3.0]
    assert fake.given_up == ["a"]
    assert [queue.retries for queue in runner.metrics] == [2]


def test_who_wants_to_hear_of_every_failure_does() -> None:
    class Listening(Fake):
        heard: ClassVar[list[str]] = []

        def failed(self, key: str, error: ApiError) -> None:
            self.heard.append(f"{key}: {error.message}")

    fake = Listening()
    retry = Retry(attempts_max=3, delay_seconds=1.0)
    fake.answer = lambda key: Result(actions=delete(key).actions, retry=retry)
    run(fake, FakeClient(fails=True), lambda runner: runner.add("a"), seconds=60)
    assert fake.heard == ["a: no", "a: no"]
    assert fake.given_up == ["a"], "of the last one it hears that it is the last"


def test_bug_with_one_key_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    def answer(key: str) -> Result:
        if key == "bad":
            raise ZeroDivisionError
        return DONE

    fake = Fake(answer)

    def act(runner: ControllerRunner) -> None:
        runner.add("bad")
        runner.add("good")

    run(fake, FakeClient(), act, seconds=1)
    assert [key for key, _ in fake.asked] == ["bad", "good"]
    assert "fake: key 'bad' is left: ZeroDivisionError" in caplog.text


def test_each_kind_of_key_is_measured_in_its_own_queue() -> None:
    fake = Fake(lambda key: delete(key) if key.startswith("node/") else DONE)
    seen: list[tuple[dict[str, int], dict[str, list[float]]]] = []

    def act(runner: ControllerRunner) -> None:
        for key in ("node/a", "node/b", "node/c", "pod/x/y", "other"):
            runner.add(key)
        assert runner.depths() == {"nodes": 3, "rest": 2}
        loop = asyncio.get_running_loop()
        loop.call_later(0.5, lambda: seen.append((dict(runner.depths()), runner.under_way_seconds())))

    names = {"": "rest", "node": "nodes"}
    runner = run(fake, FakeClient(seconds=1.0), act, seconds=10, queue_names=names)
    assert seen == [({"nodes": 1, "rest": 2}, {"nodes": [0.5, 0.5]})]
    by_name = {queue.name: queue for queue in runner.metrics}
    assert {name: queue.adds for name, queue in by_name.items()} == {"nodes": 3, "rest": 2}
    assert (by_name["nodes"].waited.total, by_name["nodes"].worked.total) == (1.0, 3.0)
    assert (by_name["rest"].waited.total, by_name["rest"].worked.count) == (2.0, 2)
    assert runner.under_way_seconds() == {}


def test_key_that_waits_already_is_not_added_again() -> None:
    def act(runner: ControllerRunner) -> None:
        for _ in range(3):
            runner.add("a")

    runner = run(Fake(), FakeClient(), act, seconds=1)
    assert [(queue.name, queue.adds) for queue in runner.metrics] == [("fake", 1)]
