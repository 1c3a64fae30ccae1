"""Deletions: what refuses them, and what a component reports of a pod that it deletes."""

from typing import Any

import msgspec
import pytest

from doorman.api.identity import User
from doorman.base.errors import ApiError
from doorman.client.actions import Bind
from doorman.registry.cache.selection import Selection
from doorman.registry.caller import Caller
from doorman.registry.deleter import DeleteResult
from doorman.registry.deletion import DeleteOptions, Preconditions
from doorman.registry.write_target import WriteTarget
from support.api import Api, running_api

CALLER = Caller(user=User(name="u", groups=("system:masters",)), manager="m")
WHY = {"status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "R"}]}}


class Desk:
    """A pod on a node, and a watch of pods."""

    def __init__(self, api: Api) -> None:
        self.registry = api.cluster.registry
        self.target = WriteTarget(self.registry.kinds.named("pods"), "default", "p")
        self._stream = api.cluster.cache.collection("pods").follow(Selection(storage="pods"), None)

    @classmethod
    async def of(cls, api: Api, *, node: str = "n1") -> "Desk":
        await api.given_account("default")
        spec = {"containers": [{"name": "c", "image": "i"}]}
        await api.given("pods", {"metadata": {"name": "p"}, "spec": spec}, namespace="default")
        if node:
            await api.admin.bind(Bind(namespace="default", name="p", uid="", node=node))
        return cls(api)

    @property
    def uid(self) -> str:
        uid: str = self.registry.get(self.target.kind, "default", "p").view.metadata.uid
        return uid

    async def deleted(self, report: dict[str, Any] = WHY, **options: Any) -> DeleteResult | None:
        return await self.registry.delete_reported(self.target, report, DeleteOptions(**options), CALLER)

    def seen(self) -> list[tuple[str, list[str], bool]]:
        """Of each event: its type, the conditions that are true, and whether the pod is marked."""
        found = []
        for event in self._stream.take():
            pod = event.object.view
            true = [one.type for one in pod.status.conditions if one.type == "DisruptionTarget"]
            found.append((str(event.type), true, bool(pod.metadata.deletion_timestamp)))
        return found


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        pytest.param("nope", DeleteOptions(), 404, id="not-there"),
        pytest.param("p", DeleteOptions(preconditions=Preconditions(uid="other")), 409, id="another-object"),
    ],
)
async def test_delete_that_is_refused(name: str, options: DeleteOptions, code: int) -> None:
    async with running_api() as api:
        desk = await Desk.of(api)
        with pytest.raises(ApiError) as caught:
            await desk.registry.delete(msgspec.structs.replace(desk.target, name=name), options, CALLER)
        assert caught.value.code == code
        assert desk.seen() == []


async def test_report_is_seen_before_the_mark() -> None:
    async with running_api() as api:
        desk = await Desk.of(api)
        deleted = await desk.deleted(preconditions=Preconditions(uid=desk.uid), grace_period_seconds=5)
        assert deleted is None, "the report is of any pod of that name, the deletion is not"
        report = {**WHY, "metadata": {"uid": desk.uid}}
        deleted = await desk.deleted(report, preconditions=Preconditions(uid=desk.uid), grace_period_seconds=5)
        assert deleted is not None
        assert not deleted.is_removed
        assert desk.seen() == [
            ("MODIFIED", ["DisruptionTarget"], False),
            ("MODIFIED", ["DisruptionTarget"], True),
        ]


async def test_report_is_seen_before_the_pod_goes() -> None:
    async with running_api() as api:
        desk = await Desk.of(api, node="")
        deleted = await desk.deleted()
        assert deleted is not None
        assert deleted.is_removed
        assert desk.seen() == [("MODIFIED", ["DisruptionTarget"], False), ("DELETED", ["DisruptionTarget"], False)]


async def test_pod_that_is_going_takes_the_long_way() -> None:
    async with running_api() as api:
        desk = await Desk.of(api)
        await desk.deleted()
        desk.seen()
        assert await desk.deleted(grace_period_seconds=1) is None
        assert desk.seen() == []


@pytest.mark.parametrize(
    ("report", "options"),
    [
        pytest.param({"status": {"unknown": 1}}, {}, id="member-that-is-not-reported"),
        pytest.param({**WHY, "metadata": {"uid": "other"}}, {}, id="another-pod"),
        pytest.param(WHY, {"preconditions": Preconditions(uid="other")}, id="deletion-of-another-pod"),
        pytest.param(WHY, {"preconditions": Preconditions(resource_version="1")}, id="deletion-of-a-version"),
    ],
)
async def test_what_may_be_refused_by_itself_takes_the_long_way(
    report: dict[str, Any], options: dict[str, Any]
) -> None:
    async with running_api() as api:
        desk = await Desk.of(api)
        assert await desk.deleted(report, **options) is None
        assert desk.seen() == []


async def test_report_of_a_pod_that_is_not_there() -> None:
    async with running_api() as api:
        desk = await Desk.of(api)
        desk.target = msgspec.structs.replace(desk.target, name="nope")
        with pytest.raises(ApiError) as caught:
            await desk.deleted()
        assert caught.value.code == 404
