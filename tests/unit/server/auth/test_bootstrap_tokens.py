"""Bootstrap tokens: what makes one good."""

import base64
from typing import Any

import pytest

from support.api import running_api

GOOD = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": "system:bootstrappers:kubeadm",
    "expiration": "2026-01-01T01:00:00Z",
}
TOKEN = "abcdef.0123456789abcdef"
BODY = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@pytest.mark.parametrize(
    ("change", "token", "status"),
    [
        pytest.param({}, TOKEN, 201, id="good"),
        pytest.param({}, "abcdef.0123456789abcdeX", 401, id="malformed"),
        pytest.param({}, "abcdef.0123456789abcdee", 401, id="wrong-secret"),
        pytest.param({"expiration": "2025-12-31T23:59:59Z"}, TOKEN, 401, id="expired"),
        pytest.param({"expiration": "soon"}, TOKEN, 401, id="unreadable-expiry"),
        pytest.param({"usage-bootstrap-authentication": "false"}, TOKEN, 401, id="not-for-this"),
        pytest.param({"token-id": "xxxxxx"}, TOKEN, 401, id="other-id"),
        pytest.param({"auth-extra-groups": "system:masters"}, TOKEN, 401, id="group-it-may-not-give"),
    ],
)
async def test_token_is_good_when_its_secret_says_so(change: dict[str, str], token: str, status: int) -> None:
    async with running_api() as api:
        data = {name: base64.b64encode(value.encode()).decode() for name, value in {**GOOD, **change}.items()}
        secret: dict[str, Any] = {
            "metadata": {"name": "bootstrap-token-abcdef"},
            "type": "bootstrap.kubernetes.io/token",
            "data": data,
        }
        await api.given("secrets", secret, namespace="kube-system")
        code, answer = await api.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", BODY, token=token)
        assert code == status
        if status == 201:
            info = answer["status"]["userInfo"]
            assert info["username"] == "system:bootstrap:abcdef"
            assert info["groups"] == ["system:bootstrappers", "system:bootstrappers:kubeadm", "system:authenticated"]


async def test_secret_elsewhere_or_of_another_type_is_no_token() -> None:
    async with running_api() as api:
        data = {name: base64.b64encode(value.encode()).decode() for name, value in GOOD.items()}
        meta = {"name": "bootstrap-token-abcdef"}
        await api.given("secrets", {"metadata": meta, "type": "Opaque", "data": data}, namespace="kube-system")
        await api.given(
            "secrets",
            {"metadata": meta, "type": "bootstrap.kubernetes.io/token", "data": data},
            namespace="default",
        )
        assert (await api.call("GET", "/version", token=TOKEN))[0] == 401
