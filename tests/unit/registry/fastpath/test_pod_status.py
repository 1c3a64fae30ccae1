"""When a report goes the short way; that both ways lead to the same is a law in tests/property."""

from typing import Any

import pytest

from doorman.api.identity import User
from doorman.client.actions import Bind
from doorman.registry.caller import Caller
from doorman.registry.fastpath.pod_status import status_patch_of
from doorman.registry.patch_transforms import STRATEGIC_PATCH
from doorman.registry.write_target import WriteTarget
from support.api import Api, running_api

CONDITION = {"type": "DisruptionTarget", "status": "True", "reason": "Because", "lastProbeTime": None}
ADMIN = Caller(user=User(name="admin", groups=("system:masters",)), manager="evictor")
OWN_NODE = Caller(user=User(name="system:node:n", groups=("system:nodes",)), manager="kubelet")
OTHER_NODE = Caller(user=User(name="system:node:m", groups=("system:nodes",)), manager="kubelet")


@pytest.mark.parametrize(
    ("body", "is_simple"),
    [
        pytest.param({"status": {"conditions": [CONDITION]}}, True, id="plain"),
        pytest.param({"metadata": {"uid": "u"}, "status": {"conditions": [CONDITION]}}, True, id="of-one-pod"),
        pytest.param(
            {"status": {"conditions": [CONDITION], "$setElementOrder/conditions": [{"type": "DisruptionTarget"}]}},
            True,
            id="ordered",
        ),
        pytest.param({"status": {"conditions": [CONDITION], "nominatedNodeName": None}}, True, id="nomination"),
        pytest.param({"status": {"conditions": [CONDITION], "phase": "Failed"}}, True, id="more-than-conditions"),
        pytest.param({"status": {"phase": "Failed", "reason": None}}, True, id="no-conditions"),
        pytest.param({"status": {"phase": ""}}, False, id="empty-word"),
        pytest.param({"status": {"resourceClaimStatuses": [{"name": "a"}]}}, True, id="claims"),
        pytest.param({"status": {"resourceClaimStatuses": []}}, False, id="no-claims"),
        pytest.param({"status": {"qosClass": "Burstable"}}, False, id="not-a-report"),
        pytest.param({"metadata": {"labels": {}}, "status": {"conditions": [CONDITION]}}, False, id="labels-too"),
        pytest.param({"status": {"conditions": [{**CONDITION, "type": "Mine"}]}}, False, id="unknown-type"),
        pytest.param({"status": {"conditions": [{**CONDITION, "reason": ""}]}}, False, id="empty-member"),
        pytest.param({"status": {"conditions": [{**CONDITION, "$patch": "delete"}]}}, False, id="directive"),
        pytest.param({"status": {"conditions": {}}}, False, id="no-list"),
        pytest.param([], False, id="no-object"),
    ],
)
def test_patch_that_is_simple_enough(body: Any, is_simple: bool) -> None:
    assert (status_patch_of(body) is not None) is is_simple


async def _bound_pod(api: Api) -> None:
    await api.given_account("default")
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await api.given("pods", body, namespace="default")
    await api.admin.bind(Bind(namespace="default", name="p", uid="", node="n"))


async def _patch(api: Api, body: dict[str, Any], caller: Caller = ADMIN, *, is_waited_for: bool = True) -> Any:
    registry = api.cluster.registry
    target = WriteTarget(registry.kinds.named("pods"), "default", "p", "status")
    return await registry.short_patches.write(target, STRATEGIC_PATCH, body, caller, is_waited_for=is_waited_for)


async def _set(api: Api, caller: Caller = ADMIN, **metadata: str) -> Any:
    return await _patch(api, {"metadata": metadata, "status": {"conditions": [CONDITION]}}, caller)


async def test_condition_is_set_once() -> None:
    async with running_api() as api:
        await _bound_pod(api)
        first = await _set(api)
        assert [one.type for one in first.view.status.conditions] == ["DisruptionTarget", "PodScheduled"]
        owner = next(e for e in first.document()["metadata"]["managedFields"] if e["manager"] == "evictor")
        assert owner["subresource"] == "status"
        again = await _set(api)
        assert again.revision == first.revision


async def test_report_that_is_not_waited_for_is_there_for_the_next_write() -> None:
    async with running_api() as api:
        await _bound_pod(api)
        told = await _patch(api, {"status": {"conditions": [CONDITION]}}, is_waited_for=False)
        assert told is not None
        registry = api.cluster.registry
        assert registry.newest(registry.kinds.named("pods"), "default", "p") == told.document()


async def test_kubelet_reports_of_its_own_pod() -> None:
    async with running_api() as api:
        await _bound_pod(api)
        assert await _set(api, OWN_NODE) is not None


@pytest.mark.parametrize("why", ["bound", "namesake", "gone", "node", "policy"])
async def test_long_way_is_taken(why: str) -> None:
    async with running_api() as api:
        if why == "gone":
            assert await _set(api) is None
            return
        await _bound_pod(api)
        if why == "namesake":
            assert await _set(api, uid="another") is None
        elif why == "node":
            assert await _set(api, OTHER_NODE) is None
        elif why == "policy":
            spec = {"policyName": "x", "validationActions": ["Deny"]}
            kind = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
            await api.given(kind, {"metadata": {"name": "b"}, "spec": spec})
            assert await _set(api) is None
        else:
            body = {"status": {"conditions": [CONDITION], "nominatedNodeName": "n2"}}
            assert status_patch_of(body) is not None
            assert await _patch(api, body) is None
