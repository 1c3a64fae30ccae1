"""Review kinds: asked, answered, not stored."""

from typing import Any

import pytest

from support.api import Api, running_api

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
PODS = {"verb": "list", "resource": "pods", "namespace": "default"}


async def review(api: Api, path: str, kind: str, spec: dict[str, Any], **who: Any) -> tuple[int, Any]:
    group = path.split("/")[2]
    before = api.revision
    found = await api.call("POST", path, {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}, **who)
    assert api.revision == before, "a review leaves nothing behind"
    return found


async def access(api: Api, spec: dict[str, Any], **who: Any) -> tuple[int, Any]:
    return await review(api, f"{AUTHORIZATION}/subjectaccessreviews", "SubjectAccessReview", spec, **who)


async def test_subject_access_review_says_why() -> None:
    async with running_api() as api:
        spec = {"user": "system:kube-scheduler", "resourceAttributes": {"verb": "list", "resource": "nodes"}}
        status, answer = await access(api, spec)
        assert status == 201
        assert [entry["manager"] for entry in answer["metadata"].pop("managedFields")] == ["unknown"]
        assert answer["metadata"] == {"creationTimestamp": None}
        assert answer["spec"] == spec
        assert answer["status"] == {
            "allowed": True,
            "reason": 'RBAC: allowed by ClusterRoleBinding "system:kube-scheduler" of ClusterRole '
            '"system:kube-scheduler" to User "system:kube-scheduler"',
        }


async def test_no_is_an_answer_and_no_error() -> None:
    async with running_api() as api:
        assert (await access(api, {"user": "jane", "resourceAttributes": PODS}))[1]["status"] == {"allowed": False}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"user": "jane"},
            "spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            id="neither",
        ),
        pytest.param(
            {"user": "j", "resourceAttributes": PODS, "nonResourceAttributes": {"path": "/", "verb": "get"}},
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
            id="both",
        ),
        pytest.param(
            {"resourceAttributes": PODS},
            'spec.user: Invalid value: "": at least one of user or group must be specified',
            id="nobody",
        ),
    ],
)
async def test_questions_that_make_no_sense(spec: dict[str, Any], message: str) -> None:
    async with running_api() as api:
        status, answer = await access(api, spec)
        assert status == 422
        assert message in answer["message"]


async def test_local_review_is_about_its_namespace() -> None:
    async with running_api() as api:
        path = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
        kind = "LocalSubjectAccessReview"
        assert (await review(api, path, kind, {"user": "j", "resourceAttributes": PODS}))[0] == 201
        other = {**PODS, "namespace": "kube-system"}
        status, answer = await review(api, path, kind, {"user": "j", "resourceAttributes": other})
        assert status == 422
        assert "must match metadata.namespace" in answer["message"]


async def test_rules_review_lists_all_four_parts() -> None:
    async with running_api() as api:
        path, kind = f"{AUTHORIZATION}/selfsubjectrulesreviews", "SelfSubjectRulesReview"
        status, answer = await review(api, path, kind, {"namespace": "default"}, user="jane")
        assert status == 201
        found = answer["status"]
        assert found["incomplete"] is False
        assert {
            "verbs": ["create"],
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["selfsubjectreviews"],
        } in found["resourceRules"]
        assert any("/healthz" in rule["nonResourceURLs"] for rule in found["nonResourceRules"])
        assert (await review(api, path, kind, {}, user="jane"))[1]["message"] == "no namespace on request"
        admin = (await review(api, path, kind, {"namespace": "default"}))[1]["status"]
        assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in admin["resourceRules"]


async def test_self_review_says_who_one_is() -> None:
    async with running_api() as api:
        path = f"{AUTHENTICATION}/selfsubjectreviews"
        _, answer = await review(api, path, "SelfSubjectReview", {}, user="jane", groups=["devs"])
        assert answer["status"]["userInfo"] == {"username": "jane", "groups": ["devs", "system:authenticated"]}


async def test_token_review_of_nothing_and_of_rubbish() -> None:
    async with running_api() as api:
        path = f"{AUTHENTICATION}/tokenreviews"
        status, answer = await review(api, path, "TokenReview", {})
        assert (status, answer["message"]) == (400, "token is required for TokenReview in authentication")
        status, answer = await review(api, path, "TokenReview", {"token": "rubbish"})
        assert status == 201
        assert answer["status"] == {"user": {}, "error": "invalid bearer token"}


async def test_anonymous_may_not_even_ask() -> None:
    async with running_api() as api:
        status, _ = await access(api, {"user": "jane", "resourceAttributes": PODS}, user="system:anonymous")
        assert status == 403


@pytest.mark.parametrize(
    ("resource", "kind", "why"),
    [
        pytest.param("selfsubjectaccessreviews", "SelfSubjectAccessReview", "must be empty", id="self"),
        pytest.param("subjectaccessreviews", "SubjectAccessReview", "must be empty", id="subject"),
        pytest.param(
            "namespaces/default/localsubjectaccessreviews",
            "LocalSubjectAccessReview",
            "must be empty except for namespace",
            id="local",
        ),
    ],
)
async def test_question_has_no_name(resource: str, kind: str, why: str) -> None:
    async with running_api() as api:
        spec = {"resourceAttributes": PODS, **({} if kind.startswith("Self") else {"user": "j"})}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
        status, answer = await api.call("POST", f"{AUTHORIZATION}/{resource}", body)
        assert status == 422
        assert f'metadata: Invalid value: {{"name":"x","creationTimestamp":null}}: {why}' in answer["message"]


async def test_null_in_a_map_of_lists_stays_one() -> None:
    async with running_api() as api:
        spec = {"user": "somebody", "extra": {"a": None}, "resourceAttributes": PODS}
        status, answer = await access(api, spec)
        assert (status, answer["spec"]["extra"]) == (201, {"a": None})
