"""Admission webhooks over real HTTPS: what they change, refuse, and what happens when they misbehave."""

import base64
from pathlib import Path
from typing import Any

import pytest

from support.hooks import GROUP, RULE, Answer, Raw, allowed, hooks, labelled

PODS = "/api/v1/namespaces/default/pods"
NAMESPACES = "/api/v1/namespaces"
REDIRECT = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: https://example.com/\r\nContent-Length: 0\r\n\r\n"


async def test_mutating_webhooks_change_the_object_one_after_the_other(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"a": labelled("a", "1"), "b": labelled("b", "2")}
        await server.given("mutating", "a", "b")
        status, made = await server.create()
        assert status == 201, made
        assert made["metadata"]["labels"] == {"a": "1", "b": "2"}
        request = server.asked[1]
        assert request["object"]["metadata"]["labels"] == {"a": "1"}
        assert (request["operation"], request["namespace"]) == ("CREATE", "default")
        assert request["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
        assert request["userInfo"]["username"]


async def test_webhook_is_asked_again_when_a_later_one_changed_the_object(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"a": lambda r: allowed(r), "b": labelled("b", "2")}
        await server.given("mutating", "a", "b", reinvocationPolicy="IfNeeded")
        await server.create()
        assert [request["path"] for request in server.asked] == ["a", "b", "a"]


async def test_validating_webhook_refuses_with_its_words_and_warns(tmp_path: Path) -> None:
    def no(request: dict[str, Any]) -> Any:
        return allowed(request, allowed=False, status={"message": "not today"})

    async with hooks(tmp_path) as server:
        server.answers = {"v": no}
        await server.given("validating", "v")
        before = server.api.revision
        status, answer = await server.create()
        assert (status, answer["reason"]) == (403, "Forbidden")
        assert answer["message"] == 'admission webhook "v.example.com" denied the request: not today'
        assert server.api.revision == before


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(lambda r: b"garbage", "couldn't decode webhook response", id="garbage"),
        pytest.param(lambda r: allowed({"uid": "other"}), "expected response.uid=", id="another-uid"),
        pytest.param(lambda r: allowed(r, [{"op": "remove", "path": "/no"}]), "unable to apply the patch", id="patch"),
        pytest.param(
            lambda r: allowed(r, [{"op": "replace", "path": "", "value": 1}]),
            "unable to apply the patch",
            id="no-object",
        ),
        pytest.param(lambda r: None, "context deadline exceeded", id="hangs"),
        pytest.param(lambda r: b"x" * (4 * 1024 * 1024), "the answer is longer than", id="endless"),
        pytest.param(lambda r: Raw(REDIRECT), "the server responded with the status code 307", id="redirects"),
        pytest.param(lambda r: Raw(b"no HTTP at all\r\n\r\n"), "failed to call webhook", id="no-http"),
        pytest.param(lambda r: Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), "failed to call", id="half"),
        pytest.param(
            lambda r: Raw(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"),
            'an error on the server ("unknown") has prevented the request from succeeding',
            id="error",
        ),
        pytest.param(lambda r: Raw(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2_000_000), "failed to call", id="endless-head"),
        pytest.param(lambda r: b"[" * 100_000, "couldn't decode webhook response", id="deep"),
    ],
)
async def test_failure_refuses_under_fail_and_is_passed_over_under_ignore(
    answer: Answer, told: str, tmp_path: Path
) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"bad": answer}
        await server.given("mutating", "bad", timeoutSeconds=1)
        status, refused = await server.create()
        assert (status, refused["reason"]) == (500, "InternalError")
        assert refused["message"].startswith('Internal error occurred: failed calling webhook "bad.example.com": ')
        assert told in refused["message"]
        path = f"{GROUP}/mutatingwebhookconfigurations/bad"
        patch = [{"op": "add", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
        headers = {"content-type": "application/json-patch+json"}
        assert (await server.api.call("PATCH", path, patch, headers=headers))[0] == 200
        assert (await server.create())[0] == 201


async def test_webhook_that_causes_what_it_is_asked_about_comes_to_an_end(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:

        async def again(request: dict[str, Any]) -> Any:
            await server.create(f"c{len(server.asked)}")
            return allowed(request)

        server.answers = {"loop": again}
        await server.given("mutating", "loop", timeoutSeconds=1)
        status, refused = await server.create()
        assert status == 500
        assert "context deadline exceeded" in refused["message"]
        assert (await server.api.call("GET", "/api/v1/namespaces/default/configmaps"))[1]["items"] == []
        assert (await server.api.call("DELETE", f"{GROUP}/mutatingwebhookconfigurations/loop"))[0] == 200
        assert (await server.create())[0] == 201


async def test_certificate_of_another_authority_is_no_answer(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server._ca = base64.b64encode(server.api.credentials.ca_certificate).decode()
        server.answers = {"a": lambda r: allowed(r)}
        await server.given("validating", "a")
        status, refused = await server.create()
        assert status == 500
        assert "certificate" in refused["message"].lower()
        assert server.asked == []


@pytest.mark.parametrize(
    ("more", "is_asked"),
    [
        pytest.param({"objectSelector": {"matchLabels": {"a": "b"}}}, True, id="object-labels"),
        pytest.param({"objectSelector": {"matchLabels": {"a": "x"}}}, False, id="other-labels"),
        pytest.param({"namespaceSelector": {"matchLabels": {"none": "such"}}}, False, id="other-namespace"),
        pytest.param({"rules": [{**RULE, "apiVersions": ["v2"]}]}, False, id="version-that-is-not-served"),
        pytest.param({"rules": [{**RULE, "apiVersions": ["v2"]}], "matchPolicy": "Exact"}, False, id="exact-version"),
        pytest.param({"rules": [{**RULE, "scope": "Cluster"}]}, False, id="scope"),
        pytest.param(
            {"matchConditions": [{"name": "x", "expression": "object.metadata.name == 'c'"}]}, True, id="condition-true"
        ),
        pytest.param(
            {"matchConditions": [{"name": "x", "expression": "request.operation == 'DELETE'"}]},
            False,
            id="not",
        ),
    ],
)
async def test_who_is_asked(more: dict[str, Any], is_asked: bool, tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"a": lambda r: allowed(r)}
        await server.given("validating", "a", **more)
        assert (await server.create(a="b"))[0] == 201
        assert bool(server.asked) is is_asked


async def test_dry_run_is_told_to_the_webhook(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"a": lambda r: allowed(r)}
        await server.given("validating", "a")
        before = server.api.revision
        assert (await server.create(query="?dryRun=All"))[0] == 201
        assert server.asked[0]["dryRun"] is True
        assert server.api.revision == before


async def test_updates_and_deletes_are_asked_for_too_and_configurations_never(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"a": lambda r: allowed(r)}
        everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
        await server.given("validating", "a", rules=[everything])
        await server.create()
        path = "/api/v1/namespaces/default/configmaps/c"
        headers = {"content-type": "application/merge-patch+json"}
        await server.api.call("PATCH", path, {"data": {"a": "b"}}, headers=headers)
        await server.api.call("DELETE", path)
        await server.api.call("DELETE", f"{GROUP}/validatingwebhookconfigurations/a")
        assert [request["operation"] for request in server.asked] == ["CREATE", "UPDATE", "DELETE"]
        assert server.asked[1]["oldObject"].get("data") is None
        assert server.asked[2]["object"] is None


async def test_options_are_told_to_the_webhook(tmp_path: Path) -> None:
    async with hooks(tmp_path) as server:
        server.answers = {"v": allowed}
        rule = {**RULE, "operations": ["*"]}
        await server.given("validating", "v", rules=[rule])
        await server.create(query="?fieldManager=me&fieldValidation=Strict")
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Orphan"}
        await server.api.call("DELETE", "/api/v1/namespaces/default/configmaps/c", body)
        options = [request["options"] for request in server.asked]
        version = "meta.k8s.io/v1"
        assert options == [
            {"kind": "CreateOptions", "apiVersion": version, "fieldManager": "me", "fieldValidation": "Strict"},
            {"kind": "DeleteOptions", "apiVersion": version, "gracePeriodSeconds": 0, "propagationPolicy": "Orphan"},
        ]
