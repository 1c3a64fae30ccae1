"""Priority and fairness over the API: levels are obeyed, lent seats are borrowed, changes count at once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from doorman.api.identity import User
from doorman.base.errors import ApiError
from doorman.server.flowcontrol import flow_control
from doorman.server.flowcontrol.flow_control import FlowControl
from doorman.server.request import Query, parse_request_info
from support.api import running_api

ANN = User(name="ann", groups=("system:authenticated",))
MASTER = User(name="root", groups=("system:masters", "system:authenticated"))
NODE = User(name="system:node:n", groups=("system:nodes", "system:authenticated"))
PODS = parse_request_info("POST", "/api/v1/namespaces/d/pods", Query(""))
LEASE = parse_request_info("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n", Query(""))
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"


async def test_one_greedy_user_leaves_heartbeats_their_seats() -> None:
    async with running_api() as api:
        flow = FlowControl(api.cluster.cache, mutating_max=10, read_only_max=15)
        greedy, heartbeat = flow.flow_of(ANN, PODS), flow.flow_of(NODE, LEASE)
        assert greedy.level is not None
        assert heartbeat.level is not None
        assert (greedy.level.name, heartbeat.level.name) == ("global-default", "node-high")
        taken = 0
        while flow.try_enter(greedy, PODS):
            taken += 1
        assert taken > greedy.level.seats, "what others do not use is lent"
        kept = heartbeat.level.seats - heartbeat.level.lendable
        assert all(flow.try_enter(heartbeat, LEASE) for _ in range(kept)), "but never all of it"
        assert flow.try_enter(flow.flow_of(MASTER, PODS), PODS), "and masters do not wait"
        assert flow.running["mutating"] == taken + kept + 1
        for _ in range(taken):
            flow.leave(greedy, PODS)
        assert (greedy.level.running, greedy.level.borrowed) == (0, 0)


async def test_seat_that_comes_free_elsewhere_is_borrowed_by_who_waits() -> None:
    async with running_api() as api:
        flow = FlowControl(api.cluster.cache, mutating_max=10, read_only_max=15)
        nodes, greedy = flow.flow_of(NODE, LEASE), flow.flow_of(ANN, PODS)
        assert nodes.level is not None
        for _ in range(nodes.level.seats):
            assert flow.try_enter(nodes, LEASE)
        while flow.try_enter(greedy, PODS):
            pass
        waiting = asyncio.ensure_future(flow.wait(greedy, PODS))
        await asyncio.sleep(0)
        assert not waiting.done()
        flow.leave(nodes, LEASE)
        await waiting


async def test_configuration_that_changes_counts_at_once_and_clients_are_told() -> None:
    async with running_api() as api:
        answer = await api.answer("GET", "/api/v1/namespaces/default")
        told = dict(answer.headers)
        level = (await api.call("GET", f"{LEVELS}/exempt"))[1]
        assert told["X-Kubernetes-PF-PriorityLevel-UID"] == level["metadata"]["uid"]
        flow = FlowControl(api.cluster.cache)
        before = flow.flow_of(ANN, PODS).level
        assert before is not None
        seats = before.seats
        body: dict[str, Any] = {"spec": {"limited": {"nominalConcurrencyShares": 400}}}
        status, _ = await api.call(
            "PATCH", f"{LEVELS}/global-default", body, headers={"content-type": "application/merge-patch+json"}
        )
        assert status == 200
        after = flow.flow_of(ANN, PODS).level
        assert after is before
        assert after.seats > seats


async def test_watches_of_one_user_are_counted_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        async def lines(self) -> AsyncIterator[bytes]:
            yield b"{}\n"

        def close(self) -> None:
            """Nothing to give back."""

    monkeypatch.setattr(flow_control, "WATCHES_PER_USER_MAX", 1)
    flow = FlowControl()
    first = flow.counted(ANN, Stream())
    assert [line async for line in first.lines()] == [b"{}\n"]
    with pytest.raises(ApiError) as refused:
        flow.counted(ANN, Stream())
    assert refused.value.code == 429
    flow.counted(MASTER, Stream())
    flow.counted(MASTER, Stream())
    assert (flow.watches, flow.watches_of("ann")) == (3, 1)
    first.close()
    first.close()
    assert flow.watches_of("ann") == 0
