"""Client certificates, requests for them, and the signer."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from doorman.api.certificatesigningrequests import CertificateSigningRequest
from doorman.base.clock import ManualClock
from doorman.client.actions import Patch
from doorman.client.informer import InformerCache
from doorman.controllers.certificate_rules import CLIENT, KUBELET_CLIENT
from doorman.controllers.certificate_signer import CertificateSigningController
from doorman.server.certificates import ClientCertificates
from support.api import Api, credentials, running_api

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
KIND = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
APPROVED = {"type": "Approved", "status": "True", "reason": "Test", "message": "yes"}


def subject(name: str, *groups: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def pem_request(name: str, *groups: str) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    built = x509.CertificateSigningRequestBuilder().subject_name(subject(name, *groups)).sign(key, hashes.SHA256())
    return base64.b64encode(built.public_bytes(serialization.Encoding.PEM)).decode()


def body(request: str, signer: str = CLIENT, **spec: Any) -> dict[str, Any]:
    return {
        **KIND,
        "metadata": {"name": "r"},
        "spec": {"request": request, "signerName": signer, "usages": ["client auth"], **spec},
    }


def signed(request: CertificateSigningRequest, clock: ManualClock) -> Patch | None:
    cache: InformerCache[CertificateSigningRequest] = InformerCache()
    cache.put("r", request)
    controller = CertificateSigningController(cache, credentials().ca_certificate, credentials().ca_key)
    actions = controller.reconcile("r", clock.now()).actions
    if not actions:
        return None
    assert isinstance(actions[0], Patch)
    return actions[0]


async def stored(api: Api) -> CertificateSigningRequest:
    view: CertificateSigningRequest = (
        api.cluster.cache.collection("certificatesigningrequests.certificates.k8s.io").get("r").view
    )  # type: ignore[union-attr]
    return view


async def approve(api: Api, **who: Any) -> tuple[int, Any]:
    _, doc = await api.call("GET", f"{PATH}/r")
    return await api.call("PUT", f"{PATH}/r/approval", {**doc, "status": {"conditions": [APPROVED]}}, **who)


async def test_requested_approved_signed_and_used() -> None:
    async with running_api() as api:
        forged = {"username": "root", "groups": ["system:masters"]}
        status, answer = await api.call("POST", PATH, body(pem_request("jane", "devs"), **forged))
        assert status == 201
        assert answer["spec"]["username"] == "admin", "the server says who asked"
        assert signed(await stored(api), api.clock) is None, "not before it is approved"
        assert (await approve(api))[0] == 200
        patch = signed(await stored(api), api.clock)
        assert patch is not None
        pem = base64.b64decode(patch.body["status"]["certificate"])
        certificate = x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)
        status, answer = await api.call("GET", "/api/v1/nodes", certificate=certificate)
        assert status == 403
        assert 'User "jane" cannot list' in answer["message"]


@pytest.mark.parametrize(
    ("request_body", "status", "message"),
    [
        pytest.param(body("AAAA"), 422, "PEM block type must be CERTIFICATE REQUEST", id="no-request"),
        pytest.param(body(pem_request("x"), usages=[]), 422, "usages must be provided", id="no-usages"),
        pytest.param(body(pem_request("x"), signer="x"), 422, "fully qualified domain", id="signer-without-domain"),
        pytest.param(body(pem_request("x"), expirationSeconds=599), 422, "less than 600 seconds", id="too-short"),
        pytest.param(body(pem_request("x", "system:masters")), 403, "group is not allowed", id="masters"),
    ],
)
async def test_requests_that_nobody_could_sign(request_body: Any, status: int, message: str) -> None:
    async with running_api() as api:
        before = api.revision
        code, answer = await api.call("POST", PATH, request_body)
        assert code == status
        assert message in answer["message"]
        assert api.revision == before


async def test_approving_takes_the_right_on_the_signer() -> None:
    async with running_api() as api:
        await api.call("POST", PATH, body(pem_request("jane")))
        resource = "certificatesigningrequests/approval"
        rule = {"apiGroups": ["certificates.k8s.io"], "resources": [resource], "verbs": ["update"]}
        await api.given_role("approver", "jane", [rule])
        code, answer = await approve(api, user="jane")
        assert code == 403
        assert answer["message"].endswith(f'user not permitted to approve requests with signerName "{CLIENT}"')
        signers = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["approve"]}
        await api.given_role("signers", "jane", [{**signers, "resourceNames": ["kubernetes.io/*"]}])
        assert (await approve(api, user="jane"))[0] == 200


async def test_status_cannot_approve_and_spec_stays() -> None:
    async with running_api() as api:
        await api.call("POST", PATH, body(pem_request("jane")))
        _, doc = await api.call("GET", f"{PATH}/r")
        _, answer = await api.call("PUT", f"{PATH}/r/status", {**doc, "status": {"conditions": [APPROVED]}})
        assert "conditions" not in answer.get("status", {})
        _, answer = await api.call("PUT", f"{PATH}/r", {**doc, "spec": {**doc["spec"], "username": "root"}})
        assert answer["spec"] == doc["spec"]


@pytest.mark.parametrize(
    ("name", "groups", "usages", "fault"),
    [
        pytest.param("system:node:n1", ["system:nodes"], ["client auth", "digital signature"], None, id="kubelet"),
        pytest.param("n1", ["system:nodes"], ["client auth"], "common name", id="no-node"),
        pytest.param("system:node:n1", ["devs"], ["client auth"], "organization", id="other-group"),
        pytest.param("system:node:n1", ["system:nodes"], ["server auth"], "usages", id="other-usage"),
    ],
)
def test_kubelet_signer_signs_kubelets_only(name: str, groups: list[str], usages: list[str], fault: str | None) -> None:
    doc = {
        "metadata": {"name": "r", "uid": "1"},
        "spec": {"request": pem_request(name, *groups), "signerName": KUBELET_CLIENT, "usages": usages},
        "status": {"conditions": [APPROVED]},
    }
    patch = signed(msgspec.convert(doc, CertificateSigningRequest), ManualClock())
    assert patch is not None
    if fault is None:
        assert "certificate" in patch.body["status"]
    else:
        failed = patch.body["status"]["conditions"][-1]
        assert (failed["type"], failed["reason"]) == ("Failed", "SignerValidationFailure")
        assert fault in failed["message"]


def test_certificate_counts_while_it_is_valid() -> None:
    clock = ManualClock()
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.fromtimestamp(clock.now(), UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject("jane", "a", "b"))
        .issuer_name(subject("ca"))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(seconds=60))
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.DER)
    )
    users = ClientCertificates(clock)
    jane = users.whose(certificate)
    assert jane is not None
    assert (jane.name, jane.groups) == ("jane", ("a", "b", "system:authenticated"))
    clock.advance_to(clock.now() + 61)
    assert users.whose(certificate) is None
