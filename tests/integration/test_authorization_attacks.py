"""Attacks on the API, each refused with the right status and without effect. See also tests/http/test_attacks.py."""

from typing import Any

import pytest

from doorman.server.request import Query, Request
from support.api import Api, running_api

NODE = {"user": "system:node:n1", "groups": ["system:nodes"]}
TAINT = {"key": "k", "effect": "NoSchedule"}
MERGE = {"content-type": "application/merge-patch+json"}
PODS = "/api/v1/namespaces/default/pods"


async def given_two_nodes(api: Api) -> None:
    await api.given_account("default")
    for node in ("n1", "n2"):
        await api.given("nodes", {"metadata": {"name": node}})
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": node}
        await api.given("pods", {"metadata": {"name": f"on-{node}"}, "spec": spec}, namespace="default")


async def refused(api: Api, method: str, path: str, body: Any = None, *, statuses: tuple[int, ...], **how: Any) -> None:
    before = api.revision
    status, answer = await api.call(method, path, body, **how)
    assert status in statuses, answer
    assert api.revision == before, "it had an effect"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("PATCH", "/api/v1/nodes/n2", {"spec": {"unschedulable": True}}, id="another-node"),
        pytest.param("PATCH", "/api/v1/nodes/n2/status", {"status": {"phase": "x"}}, id="another-node-s-status"),
        pytest.param("PATCH", "/api/v1/nodes/n1", {"spec": {"taints": None}}, id="its-own-taints-taken-off"),
        pytest.param("PATCH", "/api/v1/nodes/n1", {"spec": {"taints": [TAINT]}}, id="its-own-taints"),
        pytest.param("DELETE", f"{PODS}/on-n2", None, id="a-pod-elsewhere-deleted"),
        pytest.param("PATCH", f"{PODS}/on-n2/status", {"status": {"phase": "Failed"}}, id="a-pod-elsewhere-s-status"),
        pytest.param("PATCH", f"{PODS}/on-n1", {"metadata": {"labels": {"a": "b"}}}, id="a-pod-s-labels"),
        pytest.param("GET", f"{PODS}/on-n2", None, id="a-pod-elsewhere-read"),
        pytest.param("GET", "/api/v1/secrets", None, id="all-secrets"),
        pytest.param("PUT", "/api/v1/nodes/n1/status", {"metadata": {"name": "n2"}}, id="another-name-in-the-body"),
    ],
)  # fmt: skip
async def test_node_touches_nothing_but_its_own(method: str, path: str, body: Any) -> None:
    async with running_api() as api:
        await given_two_nodes(api)
        taint = {"spec": {"taints": [{"key": "old", "effect": "NoSchedule"}]}}
        assert (await api.call("PATCH", "/api/v1/nodes/n1", taint, headers=MERGE))[0] == 200
        headers = MERGE if method == "PATCH" else {}
        await refused(api, method, path, body, statuses=(403, 400), headers=headers, **NODE)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"impersonate-user": "admin", "impersonate-group": "system:masters"}, id="masters"),
        pytest.param({"impersonate-user": "system:kube-scheduler"}, id="a-component"),
        pytest.param({"impersonate-user": "system:serviceaccount:kube-system:node-controller"}, id="an-account"),
        pytest.param({"impersonate-user": "jane", "impersonate-uid": "1"}, id="a-uid"),
        pytest.param({"impersonate-user": "jane", "impersonate-extra-scopes": "all"}, id="extras"),
        pytest.param({"impersonate-group": "system:masters"}, id="a-group-without-a-user"),
    ],
)
async def test_impersonation_without_the_right(headers: dict[str, str]) -> None:
    async with running_api() as api:
        await api.given_account("robot")
        token = await api.given_token("robot")
        body = {"metadata": {"name": "x"}}
        await refused(api, "POST", "/api/v1/namespaces", body, statuses=(400, 403), token=token, headers=headers)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/../kube-system/secrets",
        "/api/v1/namespaces/../secrets",
        "/api/v1//secrets",
        "//api/v1/secrets",
        "/api/v1/secrets/",
        "/API/V1/secrets",
        "/api/v1/Secrets",
        "/api/v1/namespaces/kube-system/secrets/",
        "/api/v1/namespaces//secrets",
        "/api/v1/watch/secrets",
        "/api/v1/watch/namespaces/kube-system/secrets",
        "/api/v1/proxy/namespaces/kube-system/secrets/s",
        "/healthz/../api/v1/secrets",
        "/api/v1/namespaces/default/pods/../../kube-system/secrets/s",
    ],
)
async def test_no_spelling_of_a_path_opens_another_namespace(path: str) -> None:
    async with running_api() as api:
        everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        await api.given_role("owner", "jane", everything, namespace="default")
        body = {"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
        await api.given("secrets", body, namespace="kube-system")
        await refused(api, "GET", path, statuses=(403, 404, 405), user="jane")


async def test_credentials_do_not_fall_back_to_anonymous() -> None:
    async with running_api() as api:
        assert (await api.call("GET", "/healthz", token="rubbish"))[0] == 401
        assert (await api.call("GET", "/healthz", token=""))[0] == 200


async def test_token_of_one_account_is_not_another_s_right() -> None:
    async with running_api() as api:
        await api.given_account("robot")
        token = await api.given_token("robot")
        path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        await refused(api, "POST", path, body, statuses=(403,), token=token)


async def test_audit_id_sent_twice_is_no_way_to_write_headers() -> None:
    async with running_api() as api:
        sent = {"audit-id": "a\nset-cookie: x=y"}
        response = await api.pipeline.handle(Request(method="GET", path="/healthz", query=Query(""), headers=sent))
        assert ("Audit-Id", "a") in response.headers
        assert all("\n" not in value and "\r" not in value for _, value in response.headers)


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        pytest.param(None, "node requested token not bound to a pod", id="unbound"),
        pytest.param(
            {"kind": "Secret", "name": "s"}, "node requested token not bound to a pod", id="bound-to-a-secret"
        ),
        pytest.param({"name": "mine"}, "node requested token with a pod binding without a uid", id="no-uid"),
        pytest.param(
            {"name": "theirs"}, "node requested token bound to a pod scheduled on a different node", id="theirs"
        ),
        pytest.param({"name": "mine", "uid": "other"}, "does not match the UID in record", id="another-uid"),
        pytest.param({"name": "mine", "uid": ""}, "", id="its-own"),
    ],
)
async def test_node_gets_tokens_for_the_pods_it_runs_only(ref: dict[str, str] | None, why: str) -> None:
    async with running_api() as api:
        await api.given_account("robot")
        pods = {}
        for name, node in (("mine", "n1"), ("theirs", "n2")):
            spec = {"nodeName": node, "serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
            pods[name] = await api.given("pods", {"metadata": {"name": name}, "spec": spec}, namespace="default")
        bound: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", **ref} if ref else {}
        if ref and (bound.get("name") == "theirs" or bound.get("uid") == ""):
            bound["uid"] = pods[bound["name"]]["metadata"]["uid"]
        body = {"spec": {"boundObjectRef": bound} if ref else {}}
        path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
        status, answer = await api.call("POST", path, body, user="system:node:n1", groups=["system:nodes"])
        if not why:
            assert status == 201, answer
            return
        assert status == 403, answer
        assert why in answer["message"]
        assert "status" not in answer or answer["status"] == "Failure"


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        pytest.param({}, "cannot bind token to object of type /, Kind=", id="nothing"),
        pytest.param({"apiVersion": "v1", "kind": "Pod"}, "Name parameter required.", id="no-name"),
    ],
)
async def test_token_is_bound_to_something_that_has_a_name(ref: dict[str, str], why: str) -> None:
    async with running_api() as api:
        await api.given_account("robot")
        path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
        status, answer = await api.call("POST", path, {"spec": {"boundObjectRef": ref}})
        assert (status, answer["message"]) == (400, why)
