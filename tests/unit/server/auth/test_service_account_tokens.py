"""Service account tokens: good ones, and every way for one to be worth nothing."""

import base64
import hmac
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from doorman.client.actions import Delete
from doorman.server.auth.service_account_tokens import ISSUER
from support.api import Api, running_api

WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
BODY = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


async def who(api: Api, token: str) -> tuple[int, Any]:
    status, answer = await api.call("POST", WHOAMI, BODY, token=token)
    return status, answer["status"] if status == 201 else answer


async def test_token_names_its_account_and_groups() -> None:
    async with running_api() as api:
        account = await api.given_account("robot")
        status, answer = await who(api, await api.given_token("robot"))
        assert status == 201
        info = answer["userInfo"]
        assert info["username"] == "system:serviceaccount:default:robot"
        assert info["uid"] == account["metadata"]["uid"]
        assert info["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
        assert info["extra"]["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")


async def test_token_ends_at_its_second() -> None:
    async with running_api() as api:
        await api.given_account("robot")
        token = await api.given_token("robot", expirationSeconds=600)
        api.clock.advance_to(api.clock.now() + 599)
        assert (await who(api, token))[0] == 201
        api.clock.advance_to(api.clock.now() + 1)
        assert (await who(api, token))[0] == 401


async def test_token_of_a_deleted_account_is_worth_nothing_also_when_the_name_comes_back() -> None:
    async with running_api() as api:
        await api.given_account("robot")
        token = await api.given_token("robot")
        await api.admin.delete(Delete(resource="serviceaccounts", namespace="default", name="robot"))
        assert (await who(api, token))[0] == 401
        await api.given_account("robot")
        assert (await who(api, token))[0] == 401


async def test_bound_token_ends_with_what_it_is_bound_to() -> None:
    async with running_api() as api:
        await api.given_account("robot")
        secret = await api.given("secrets", {"metadata": {"name": "s"}}, namespace="default")
        ref = {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": secret["metadata"]["uid"]}
        token = await api.given_token("robot", boundObjectRef=ref)
        assert (await who(api, token))[0] == 201
        await api.admin.delete(Delete(resource="secrets", namespace="default", name="s"))
        assert (await who(api, token))[0] == 401


async def test_pod_bound_token_tells_pod_and_node() -> None:
    async with running_api() as api:
        await api.given_account("robot")
        await api.given("nodes", {"metadata": {"name": "n1"}})
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n1", "serviceAccountName": "robot"}
        await api.given("pods", {"metadata": {"name": "p"}, "spec": spec}, namespace="default")
        token = await api.given_token("robot", boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "p"})
        _, answer = await who(api, token)
        extra = answer["userInfo"]["extra"]
        assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
        assert extra["authentication.kubernetes.io/node-name"] == ["n1"]


async def test_token_for_somebody_else_is_not_for_this_server() -> None:
    async with running_api() as api:
        await api.given_account("robot")
        token = await api.given_token("robot", audiences=["vault"])
        assert (await who(api, token))[0] == 401
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        _, answer = await api.call("POST", path, {**review, "spec": {"token": token, "audiences": ["vault", "x"]}})
        assert answer["status"]["authenticated"] is True
        assert answer["status"]["audiences"] == ["vault"]


@pytest.mark.parametrize(
    ("spec", "status", "message"),
    [
        pytest.param({"expirationSeconds": 599}, 422, "a duration less than 10 minutes", id="too-short"),
        pytest.param({"expirationSeconds": 2**32 + 1}, 422, "larger than 2^32 seconds", id="too-long"),
        pytest.param(
            {"boundObjectRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}}, 400,
            "cannot bind token to object of type /v1, Kind=ConfigMap", id="not-bindable",
        ),
        pytest.param(
            {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "x"}}, 404, "not found", id="no-such-pod"
        ),
    ],
)  # fmt: skip
async def test_requests_for_tokens_that_cannot_be(spec: dict[str, Any], status: int, message: str) -> None:
    async with running_api() as api:
        await api.given_account("robot")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        code, answer = await api.call("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", body)
        assert code == status
        assert message in answer["message"]


def _foreign_key(claims: dict[str, Any], _api: Api) -> str:
    return jwt.encode(claims, ec.generate_private_key(ec.SECP256R1()), algorithm="ES256")


def _no_algorithm(claims: dict[str, Any], _api: Api) -> str:
    return jwt.encode(claims, None, algorithm="none")


def _public_key_as_secret(claims: dict[str, Any], api: Api) -> str:
    """The classic confusion: the public key, which anybody has, used as the secret of an HMAC."""
    key = serialization.load_pem_private_key(api.credentials.service_account_key, None)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    text = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    signature = hmac.digest(public, text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def _other_issuer(claims: dict[str, Any], api: Api) -> str:
    key = serialization.load_pem_private_key(api.credentials.service_account_key, None)
    return jwt.encode({**claims, "iss": "https://elsewhere"}, key, algorithm="ES256")


def _other_subject(claims: dict[str, Any], api: Api) -> str:
    key = serialization.load_pem_private_key(api.credentials.service_account_key, None)
    return jwt.encode({**claims, "sub": "system:serviceaccount:kube-system:x"}, key, algorithm="ES256")


def _no_expiry(claims: dict[str, Any], api: Api) -> str:
    key = serialization.load_pem_private_key(api.credentials.service_account_key, None)
    return jwt.encode({name: value for name, value in claims.items() if name != "exp"}, key, algorithm="ES256")


@pytest.mark.parametrize(
    "forge",
    [_foreign_key, _no_algorithm, _public_key_as_secret, _other_issuer, _other_subject, _no_expiry],
    ids=lambda forge: forge.__name__.strip("_").replace("_", "-"),
)
async def test_forged_tokens_are_refused(forge: Any) -> None:
    async with running_api() as api:
        await api.given_account("robot")
        claims = jwt.decode(await api.given_token("robot"), options={"verify_signature": False})
        assert claims["iss"] == ISSUER
        before = api.revision
        status, answer = await who(api, forge(claims, api))
        assert status == 401
        assert answer["message"] == "Unauthorized"
        assert api.revision == before


@pytest.mark.parametrize(
    "token", ["x", "a.b.c", "." * 2, "a." * 9000, "Bearer", "é.é.é", "eyJhbGciOiJFUzI1NiJ9..", "{}.{}.{}"], ids=repr
)
async def test_rubbish_is_refused(token: str) -> None:
    async with running_api() as api:
        assert (await who(api, token))[0] == 401


async def test_changed_token_is_refused() -> None:
    async with running_api() as api:
        await api.given_account("robot")
        head, claims, signature = (await api.given_token("robot")).split(".")
        for place, part in enumerate((head, claims, signature)):
            parts = [head, claims, signature]
            middle = len(part) // 2
            parts[place] = part[:middle] + ("A" if part[middle] != "A" else "B") + part[middle + 1 :]
            assert (await who(api, ".".join(parts)))[0] == 401
