"""Who carries out actions returns when informers show what they did."""

import asyncio
from typing import Any

import pytest

from doorman.base.clock import ManualClock
from doorman.base.errors import ApiError
from doorman.client.actions import Bind, Create, Delete, Patch, RecordEvent, Update
from doorman.client.http.unseen_writes import UNSEEN_SECONDS_MAX, NotedWrite, RemoteExecutor, note
from doorman.runtime.virtual_time import run_virtual

CREATE = Create(resource="pods", namespace="n", body={})
DELETE = Delete(resource="pods", namespace="n", name="b")


class Server:
    """Answers as a server does, through what `RemoteClient` notes."""

    async def create(self, action: Create) -> Any:
        note("pods", "n", {"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "7"}})

    async def delete(self, action: Delete) -> None:
        note("pods", "n", {"kind": "Status", "details": {"uid": "u"}}, deleted="b")

    async def update(self, action: Update) -> Any:
        raise ApiError(409, "Conflict", "faster")

    async def patch(self, action: Patch) -> Any: ...

    async def bind(self, action: Bind) -> None: ...

    def record(self, action: RecordEvent) -> None: ...


class Informers:
    def __init__(self) -> None:
        self.waiting: list[tuple[NotedWrite, asyncio.Future[None]]] = []

    def seen(self, written: NotedWrite) -> "asyncio.Future[None]":
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((written, future))
        return future


def test_it_returns_when_all_is_seen() -> None:
    async def story() -> None:
        informers, server = Informers(), Server()
        executor = RemoteExecutor(server, server, None, informers.seen)
        work = asyncio.create_task(executor.run([CREATE, DELETE]))
        while len(informers.waiting) < 2:
            await asyncio.sleep(0)
        assert [written for written, _ in informers.waiting] == [
            NotedWrite("pods", "n/a", 7),
            NotedWrite("pods", "n/b", 0, "u"),
        ]
        informers.waiting[0][1].set_result(None)
        await asyncio.sleep(0)
        assert not work.done()
        informers.waiting[1][1].set_result(None)
        await work

    run_virtual(story(), clock=ManualClock())


def test_failure_is_raised_after_what_was_written_is_seen() -> None:
    async def story() -> None:
        informers, server = Informers(), Server()
        executor = RemoteExecutor(server, server, None, informers.seen)
        update = Update(resource="pods", namespace="n", name="a", body={})
        work = asyncio.create_task(executor.run([CREATE, update]))
        while not informers.waiting:
            await asyncio.sleep(0)
        informers.waiting[0][1].set_result(None)
        with pytest.raises(ApiError, match="faster"):
            await work

    run_virtual(story(), clock=ManualClock())


def test_nobody_waits_for_ever() -> None:
    clock = ManualClock()

    async def story() -> float:
        server = Server()
        began = clock.now()
        await RemoteExecutor(server, server, None, Informers().seen).run([CREATE])
        return clock.now() - began

    assert run_virtual(story(), clock=clock) == UNSEEN_SECONDS_MAX
