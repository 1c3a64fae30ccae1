"""A claim is given its devices; reports of pods are in test_pod_status."""

from typing import Any

import pytest

from doorman.api.identity import User
from doorman.api.views.resource.resource_claims import CLAIMS, FINALIZER
from doorman.registry.caller import Caller
from doorman.registry.patch_transforms import STRATEGIC_PATCH
from doorman.registry.write_target import WriteTarget
from support.api import Api, running_api

SCHEDULER = Caller(user=User(name="system:kube-scheduler"), manager="kube-scheduler")
NOBODY = Caller(user=User(name="nobody"), manager="m")
SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
STATUS: dict[str, Any] = {
    "allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}},
    "reservedFor": [{"resource": "pods", "name": "a", "uid": "u-1"}],
}


Patch = tuple[str, dict[str, Any]]
"""To which subresource, and its body."""


async def _write(api: Api, patch: Patch, caller: Caller = SCHEDULER) -> Any:
    registry = api.cluster.registry
    subresource, body = patch
    target = WriteTarget(registry.kinds.named(CLAIMS), "default", "c", subresource)
    return await registry.short_patches.write(target, STRATEGIC_PATCH, body, caller)


def _finalizer(uid: str = "") -> Patch:
    return "", {"metadata": {"uid": uid, "finalizers": [FINALIZER]}}


def _allocation(**metadata: str) -> Patch:
    return "status", {"metadata": metadata, "status": STATUS}


async def _given_claim(api: Api) -> None:
    await api.given_account("default")
    await api.given(CLAIMS, {"metadata": {"name": "c"}, "spec": SPEC}, namespace="default")


async def test_claim_gets_its_finalizer_and_its_devices() -> None:
    async with running_api() as api:
        await _given_claim(api)
        assert (await _write(api, _finalizer())).document()["metadata"]["finalizers"] == [FINALIZER]
        after = (await _write(api, _allocation())).document()
        assert after["status"] == STATUS
        owners = {(entry["manager"], entry.get("subresource", "")) for entry in after["metadata"]["managedFields"]}
        assert owners == {("test", ""), ("kube-scheduler", ""), ("kube-scheduler", "status")}


@pytest.mark.parametrize(
    ("patch", "caller"),
    [
        pytest.param(_finalizer("another"), SCHEDULER, id="namesake"),
        pytest.param(_allocation(resourceVersion="1"), SCHEDULER, id="stale"),
        pytest.param(_allocation(), NOBODY, id="no-right-to-allocate"),
    ],
)
async def test_long_way_is_taken(patch: Patch, caller: Caller) -> None:
    async with running_api() as api:
        assert await _write(api, patch, caller) is None
        await _given_claim(api)
        assert await _write(api, patch, caller) is None


async def test_what_is_there_already_is_not_written_over() -> None:
    async with running_api() as api:
        await _given_claim(api)
        for patch in (_finalizer(), _allocation()):
            assert await _write(api, patch) is not None
            assert await _write(api, patch) is None
