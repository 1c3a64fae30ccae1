"""What watchers are told of a pod that goes at once, and what the answer says: asked of Kubernetes for each."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from doorman.client.actions import Delete
from support.api import Api, running_api

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
PLACED = {**POD, "spec": {**POD["spec"], "nodeName": "n"}}  # type: ignore[dict-item]
NOW = {"gracePeriodSeconds": 0}
MARKED = ("MODIFIED", 0, 2)
GONE = ("DELETED", 0, 2)


async def told(api: Api, pod: dict[str, Any], act: Callable[[], Awaitable[Any]], count: int) -> list[Any]:
    """Type, grace and generation of what follows the pod's creation."""
    await api.given_account("default")
    await api.call("POST", PODS, pod)
    watch = await api.answer("GET", f"{PODS}?watch=1&resourceVersion={api.revision}")
    assert watch.stream is not None
    await act()
    lines = watch.stream.lines()
    found: list[Any] = []
    while len(found) < count:
        for line in (await anext(lines)).splitlines():
            event = json.loads(line)
            metadata = event["object"]["metadata"]
            found.append((event["type"], metadata.get("deletionGracePeriodSeconds"), metadata["generation"]))
    watch.stream.close()
    return found


@pytest.mark.parametrize(
    ("pod", "options", "expected"),
    [
        pytest.param(POD, [{}], [MARKED, GONE], id="on-no-node"),
        pytest.param(POD, [NOW], [MARKED, GONE], id="on-no-node-at-once"),
        pytest.param(PLACED, [NOW], [MARKED, GONE], id="at-once"),
        pytest.param(PLACED, [{}, NOW], [("MODIFIED", 30, 2), MARKED, GONE], id="then-at-once"),
    ],
)
def test_pod_is_marked_and_then_gone(pod: dict[str, Any], options: list[Any], expected: list[Any]) -> None:
    async def main() -> None:
        async with running_api() as api:
            answers: list[Any] = []

            async def act() -> None:
                answers.extend([(await api.call("DELETE", f"{PODS}/p", each))[1]["metadata"] for each in options])

            assert await told(api, pod, act, len(expected)) == expected
            assert answers[-1]["deletionGracePeriodSeconds"] == 0
            assert answers[-1]["resourceVersion"] == str(api.revision)

    asyncio.run(main())


def test_dry_run_marks_nothing() -> None:
    async def main() -> None:
        async with running_api() as api:
            await api.given_account("default")
            await api.call("POST", PODS, POD)
            before = api.revision
            status, answer = await api.call("DELETE", f"{PODS}/p", {**NOW, "dryRun": ["All"]})
            assert (status, answer["metadata"]["deletionGracePeriodSeconds"], api.revision) == (200, 0, before)

    asyncio.run(main())


def test_what_components_in_process_remove_is_one_event() -> None:
    async def main() -> None:
        async with running_api() as api:

            async def act() -> None:
                await api.admin.delete(Delete(resource="pods", namespace="default", name="p", grace_seconds=0))

            assert [kind for kind, _, _ in await told(api, PLACED, act, 1)] == ["DELETED"]

    asyncio.run(main())
