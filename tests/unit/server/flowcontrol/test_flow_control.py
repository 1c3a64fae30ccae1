"""Priority and fairness over the API: levels are obeyed, lent seats are borrowed, changes count at once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from doorman.api.identity import User
from doorman.base.errors import ApiError
from doorman.server.flowcontrol import flow_control
from doorman.server.flowcontrol.flow_control import Flow, FlowControl
from doorman.server.request import Query, RequestInfo, parse_request_info
from support.api import running_api

ANN = User(name="ann", groups=("system:authenticated",))
BOB = User(name="bob", groups=("system:authenticated",))
MASTER = User(name="root", groups=("system:masters", "system:authenticated"))
NODE = User(name="system:node:n", groups=("system:nodes", "system:authenticated"))
PODS = parse_request_info("POST", "/api/v1/namespaces/d/pods", Query(""))
LEASE = parse_request_info("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n", Query(""))
PROBE = parse_request_info("GET", "/api/v1/namespaces/d/pods/p", Query(""))
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"


async def in_another_turn(flow: FlowControl, one: Flow, info: RequestInfo) -> bool:
    await asyncio.sleep(0)  # of those that begin in the same turn all but one wait
    return flow.try_enter(one, info)


async def test_one_greedy_user_leaves_heartbeats_their_seats() -> None:
    async with running_api() as api:
        flow = FlowControl(api.cluster.cache, mutating_max=10, read_only_max=15)
        greedy, heartbeat = flow.flow_of(ANN, PODS), flow.flow_of(NODE, LEASE)
        assert greedy.level is not None
        assert heartbeat.level is not None
        assert (greedy.level.name, heartbeat.level.name) == ("global-default", "node-high")
        taken = 0
        while await in_another_turn(flow, greedy, PODS):
            taken += 1
        assert taken > greedy.level.seats, "what others do not use is lent"
        kept = heartbeat.level.seats - heartbeat.level.lendable
        nodes = [flow.flow_of(User(name=f"system:node:{number}", groups=NODE.groups), LEASE) for number in range(kept)]
        entered = [await in_another_turn(flow, node, LEASE) for node in nodes]
        assert all(entered), "but never all of it"
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
            assert await in_another_turn(flow, nodes, LEASE)
        while await in_another_turn(flow, greedy, PODS):
            pass
        waiting = asyncio.ensure_future(flow.wait(greedy, PODS))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
        flow.leave(nodes, LEASE)
        await waiting


async def test_request_of_another_flow_waits_for_one_of_a_hundred_and_not_for_all() -> None:
    async with running_api() as api:
        flow = FlowControl(api.cluster.cache)
        begun: list[str] = []

        async def ask(user: User, info: RequestInfo) -> None:
            own = flow.flow_of(user, info)
            if not flow.try_enter(own, info):
                await flow.wait(own, info)
            begun.append(user.name)
            flow.leave(own, info)

        await asyncio.gather(*(ask(ANN, PODS) for _ in range(100)), ask(BOB, PROBE))
        assert begun.index("bob") <= 2
        assert begun.count("ann") == 100


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
