"""What is sent for each action, and with the verb that upstream's roles allow."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import pytest

from doorman.api.scheme import builtin_scheme
from doorman.base.clock import SystemClock
from doorman.base.errors import ApiError
from doorman.client.actions import Bind, Create, Delete, Patch, PatchType, Update
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.remote_client import CONFLICTS_MAX, SENT_WHOLE, RemoteClient
from doorman.runtime.defaults.role_table import parse_rule
from support.scripted_http import Asked, Script, answer, refusal, scripted

SCHEME = builtin_scheme()
SET = {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "7"}, "spec": {"x": 1}, "status": {"replicas": 1}}


def sent(script: Script, work: Callable[[RemoteClient], Awaitable[Any]]) -> list[Asked]:
    async def story() -> list[Asked]:
        async with scripted(script) as (server, access):
            requests = ApiRequests(access, SystemClock(), component="test")
            try:
                await work(RemoteClient(requests, SCHEME, "kube-controller-manager"))
            finally:
                requests.close()
            return server.asked

    return asyncio.run(story())


def only(work: Callable[[RemoteClient], Awaitable[Any]]) -> Asked:
    [asked] = sent(lambda _: answer(200, {"kind": "Pod", "metadata": {"name": "a"}}), work)
    return asked


def test_create_says_what_it_is_and_who_manages_it() -> None:
    asked = only(lambda client: client.create(Create(resource="pods", namespace="n", body={"metadata": {"name": "a"}})))
    assert (asked.method, asked.path) == ("POST", "/api/v1/namespaces/n/pods")
    assert asked.query["fieldManager"] == "kube-controller-manager"
    assert asked.json == {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}


def test_bind_posts_a_binding() -> None:
    asked = only(lambda client: client.bind(Bind(namespace="n", name="a", uid="u", node="node-1")))
    assert (asked.method, asked.path) == ("POST", "/api/v1/namespaces/n/pods/a/binding")
    assert asked.json["target"] == {"kind": "Node", "name": "node-1"}
    assert asked.json["metadata"]["uid"] == "u"


def test_delete_carries_its_preconditions() -> None:
    action = Delete(resource="pods", namespace="n", name="a", uid="u", grace_seconds=0, propagation="Background")
    asked = only(lambda client: client.delete(action))
    assert (asked.method, asked.path) == ("DELETE", "/api/v1/namespaces/n/pods/a")
    assert asked.json["preconditions"] == {"uid": "u"}
    assert (asked.json["gracePeriodSeconds"], asked.json["propagationPolicy"]) == (0, "Background")


def test_why_a_pod_goes_is_said_before_it_is_deleted() -> None:
    why = {"metadata": {"uid": "u"}, "status": {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}}
    action = Delete(resource="pods", namespace="n", name="a", status_patch=why)
    said, deleted = sent(lambda asked: answer(200, asked.json), lambda client: client.delete(action))
    assert (said.method, said.path) == ("PATCH", "/api/v1/namespaces/n/pods/a/status")
    assert (said.headers["content-type"], said.json) == ("application/strategic-merge-patch+json", why)
    assert (deleted.method, deleted.path) == ("DELETE", "/api/v1/namespaces/n/pods/a")


def test_pod_of_which_cannot_be_said_why_stays() -> None:
    async def refused(client: RemoteClient) -> None:
        with pytest.raises(ApiError) as caught:
            await client.delete(Delete(resource="pods", namespace="n", name="a", status_patch={"status": {}}))
        assert caught.value.code == 409

    [asked] = sent(lambda _: refusal(409, "Conflict"), refused)
    assert asked.method == "PATCH"


def test_patch_is_sent_as_its_type() -> None:
    action = Patch(resource="nodes", name="a", subresource="status", body={"status": {}}, type=PatchType.MERGE)
    asked = only(lambda client: client.patch(action))
    assert (asked.method, asked.path) == ("PATCH", "/api/v1/nodes/a/status")
    assert asked.headers["content-type"] == "application/merge-patch+json"


def test_applied_configuration_is_forced_under_its_manager() -> None:
    body = {"metadata": {"name": "a"}}
    action = Patch(resource="clusterroles.rbac.authorization.k8s.io", name="a", body=body, type=PatchType.APPLY)
    asked = only(lambda client: client.patch(action))
    assert asked.query["force"] == "true"
    assert asked.json["kind"] == "ClusterRole"


STATUS = Patch(
    resource="replicasets.apps",
    namespace="n",
    name="a",
    subresource="status",
    body={"status": {"replicas": 2}},
    type=PatchType.MERGE,
)


def test_status_that_roles_let_update_is_sent_whole() -> None:
    first, second = sent(lambda asked: answer(200, SET), lambda client: client.patch(STATUS))
    assert (first.method, first.path) == ("GET", "/apis/apps/v1/namespaces/n/replicasets/a")
    assert (second.method, second.path) == ("PUT", "/apis/apps/v1/namespaces/n/replicasets/a/status")
    assert second.json == {**SET, "status": {"replicas": 2}}, "what no patch named is sent as it was"


def test_whole_that_says_nothing_new_is_not_sent() -> None:
    same = Patch(resource=STATUS.resource, namespace="n", name="a", subresource="status", body={"status": {}})
    assert [asked.method for asked in sent(lambda _: answer(200, SET), lambda client: client.patch(same))] == ["GET"]


def test_whole_is_sent_again_when_somebody_was_faster() -> None:
    versions = iter(range(7, 99))

    def script(asked: Asked) -> bytes:
        if asked.method == "GET":
            return answer(200, {**SET, "metadata": {**SET["metadata"], "resourceVersion": str(next(versions))}})
        is_newest = asked.json["metadata"]["resourceVersion"] == "9"
        return answer(200, asked.json) if is_newest else refusal(409, "Conflict")

    asked = sent(script, lambda client: client.patch(STATUS))
    assert [one.method for one in asked] == ["GET", "PUT"] * 3


def test_what_an_informer_knows_is_not_read() -> None:
    known = {**SET, "metadata": {**SET["metadata"], "resourceVersion": "6"}}

    async def story() -> list[Asked]:
        async with scripted(lambda asked: answer(200, asked.json)) as (server, access):
            requests = ApiRequests(access, SystemClock(), component="test")
            client = RemoteClient(requests, SCHEME, "manager", lambda _resource, _key: json.dumps(known).encode())
            await client.patch(STATUS)
            requests.close()
            return server.asked

    [asked] = asyncio.run(story())
    assert (asked.method, asked.json["metadata"]["resourceVersion"]) == ("PUT", "6")
    assert asked.json["kind"] == "ReplicaSet", "items of a list do not say what they are"


def test_what_no_informer_has_and_nobody_may_read_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    """Roles that let an object be listed and updated, and not be read alone: it went meanwhile."""

    async def story() -> list[Asked]:
        async with scripted(lambda _: refusal(403, "Forbidden")) as (server, access):
            requests = ApiRequests(access, SystemClock(), component="test")
            client = RemoteClient(requests, SCHEME, "manager", lambda _resource, _key: b"")
            with pytest.raises(ApiError, match="not found"):
                await client.patch(STATUS)
            requests.close()
            return server.asked

    [asked] = asyncio.run(story())
    assert asked.method == "GET"
    assert "a right is missing" not in caplog.text


def test_whole_is_given_up_in_the_end() -> None:
    def script(asked: Asked) -> bytes:
        return answer(200, SET) if asked.method == "GET" else refusal(409, "Conflict")

    async def work(client: RemoteClient) -> None:
        with pytest.raises(ApiError, match="Conflict"):
            await client.patch(STATUS)

    assert len(sent(script, work)) == 2 * CONFLICTS_MAX


def test_version_that_a_patch_names_is_not_overruled() -> None:
    pinned = Patch(
        resource="deployments.apps", namespace="n", name="a", body={"metadata": {"resourceVersion": "3"}, "spec": {}}
    )

    def script(asked: Asked) -> bytes:
        return answer(200, SET) if asked.method == "GET" else refusal(409, "Conflict")

    async def work(client: RemoteClient) -> None:
        with pytest.raises(ApiError, match="Conflict"):
            await client.patch(pinned)

    asked = sent(script, work)
    assert [one.method for one in asked] == ["GET", "PUT"]
    assert asked[1].json["metadata"]["resourceVersion"] == "3"


SCALE = {"kind": "Scale", "metadata": {"name": "a", "resourceVersion": "7"}, "spec": {"replicas": 1}}
RESIZED = Patch(
    resource="deployments.apps", namespace="n", name="a", subresource="scale", body={"spec": {"replicas": 4}}
)


def test_scale_is_read_and_updated() -> None:
    first, second = sent(lambda asked: answer(200, SCALE), lambda client: client.patch(RESIZED))
    path = "/apis/apps/v1/namespaces/n/deployments/a/scale"
    assert [(one.method, one.path) for one in (first, second)] == [("GET", path), ("PUT", path)]
    assert second.json == {**SCALE, "spec": {"replicas": 4}}


def test_scale_is_sent_again_when_somebody_was_faster_and_given_up_in_the_end() -> None:
    answers = iter((refusal(409, "Conflict"), answer(200, SCALE)))

    def script(asked: Asked) -> bytes:
        return answer(200, SCALE) if asked.method == "GET" else next(answers)

    assert [one.method for one in sent(script, lambda client: client.patch(RESIZED))] == ["GET", "PUT"] * 2

    async def work(client: RemoteClient) -> None:
        with pytest.raises(ApiError, match="Conflict"):
            await client.patch(RESIZED)

    def always(asked: Asked) -> bytes:
        return answer(200, SCALE) if asked.method == "GET" else refusal(409, "Conflict")

    assert len(sent(always, work)) == 2 * CONFLICTS_MAX


def test_update_is_a_put() -> None:
    action = Update(resource="leases.coordination.k8s.io", namespace="n", name="a", body={"metadata": {"name": "a"}})
    asked = only(lambda client: client.update(action))
    assert (asked.method, asked.path) == ("PUT", "/apis/coordination.k8s.io/v1/namespaces/n/leases/a")


NEVER_PATCHED = {
    ("pods", ""),
    ("replicasets.apps", ""),
    ("replicationcontrollers", ""),
}
"""Roles let some controller update them that, here, does not write them."""
NOT_OURS = {"storage-version-migrator-controller", "kube-apiserver-serving-clustertrustbundle-publisher"}


def test_what_roles_let_controllers_update_and_not_patch_is_sent_whole() -> None:
    table = json.loads(files("doorman.runtime.defaults").joinpath("data/roles.json").read_text())
    missing = set()
    for account, rules in table["controllers"].items():
        verbs: dict[tuple[str, str], set[str]] = {}
        for rule in map(parse_rule, rules):
            for group in rule.api_groups:
                for named in rule.resources:
                    resource, _, subresource = named.partition("/")
                    key = (f"{resource}.{group}" if group else resource, subresource)
                    verbs.setdefault(key, set()).update(rule.verbs)
        for (resource, subresource), found in verbs.items():
            is_ours = account not in NOT_OURS and not resource.endswith(".extensions") and subresource != "finalizers"
            is_ours = is_ours and subresource != "scale"  # of all kinds
            if is_ours and "update" in found and "patch" not in found:
                missing.add((resource, subresource))
    assert missing - SENT_WHOLE - NEVER_PATCHED == set()


def test_claim_that_is_sent_whole_has_the_texts_it_was_read_with() -> None:
    config = b'[{"opaque":{"driver":"d","parameters":{ "b": 1, "a": "<" }}}]'
    known = b'{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"spec":{"devices":{"config":%s}}}' % config
    body = {"metadata": {"finalizers": ["a.b/c"]}}
    action = Patch(resource="resourceclaims.resource.k8s.io", namespace="n", name="a", body=body)

    async def work(client: RemoteClient) -> None:
        client._known = lambda _resource, _key: known
        await client.patch(action)

    asked = only(work)
    assert (asked.method, asked.json["metadata"]["finalizers"]) == ("PUT", ["a.b/c"])
    assert config in asked.body


def test_data_of_a_revision_is_sent_as_go_writes_it() -> None:
    body = {"metadata": {"name": "a"}, "data": {"b": "x && y", "a": 1}}
    asked = only(lambda client: client.create(Create(resource="controllerrevisions.apps", namespace="n", body=body)))
    assert b'"data":{"a":1,"b":"x \\u0026\\u0026 y"}' in asked.body
