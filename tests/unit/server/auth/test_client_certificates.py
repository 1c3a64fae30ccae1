"""Client certificates, requests for them, and the signer."""

import base64
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from doorman.api.views.access.certificates import CertificateSigningRequest
from doorman.api.well_known import KUBE_APISERVER_CLIENT_SIGNER
from doorman.base.clock import ManualClock
from doorman.client.actions import Patch
from doorman.client.informer_cache import InformerCache
from doorman.controllers.certificates.certificate_signer import CertificateSigningController
from doorman.controllers.certificates.signer_rules import KUBELET_CLIENT
from doorman.server.auth import client_certificates as certificates
from doorman.server.auth.client_certificates import ClientCertificates, Unverified, user_of
from doorman.server.request import PeerCertificates
from support.api import Api, credentials, running_api
from support.certificates import authority

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


def body(request: str, signer: str = KUBE_APISERVER_CLIENT_SIGNER, **spec: Any) -> dict[str, Any]:
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
        pytest.param(body(pem_request("x"), usages=[]), 422, "spec.usages: Required value", id="no-usages"),
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
        assert answer["message"].endswith(
            f'user not permitted to approve requests with signerName "{KUBE_APISERVER_CLIENT_SIGNER}"'
        )
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
    root = authority(now=clock.now())
    users = ClientCertificates(clock, root.pem)
    shown = PeerCertificates.of(root.signs("jane", "a", "b", now=clock.now()).der)
    jane = users.whose(shown)
    assert jane is not None
    assert (jane.name, jane.groups) == ("jane", ("a", "b", "system:authenticated"))
    clock.advance_to(clock.now() + 3600)
    assert users.whose(shown) == jane, "the last second counts"
    clock.advance_to(clock.now() + 1)
    with pytest.raises(Unverified):
        users.whose(shown)


def test_certificate_of_the_future_counts_when_its_time_has_come() -> None:
    clock = ManualClock()
    root = authority(now=clock.now())
    users = ClientCertificates(clock, root.pem)
    shown = PeerCertificates.of(root.signs("jane", now=clock.now(), hours=(1, 2)).der)
    with pytest.raises(Unverified):
        users.whose(shown)
    clock.advance_to(clock.now() + 3600)
    assert users.whose(shown) is not None


def test_certificate_without_a_name_is_nobodys() -> None:
    clock = ManualClock()
    root = authority(now=clock.now())
    shown = PeerCertificates.of(root.signs("", "system:masters", now=clock.now()).der)
    assert ClientCertificates(clock, root.pem).whose(shown) is None


def test_judgement_of_one_chain_is_not_that_of_another() -> None:
    """A certificate is believed with what vouches for it; alone it is not, whichever was seen first."""
    clock = ManualClock()
    root = authority(now=clock.now())
    between = root.signs("between", now=clock.now(), extensions=(x509.BasicConstraints(ca=True, path_length=0),))
    jane = between.signs("jane", now=clock.now())
    users = ClientCertificates(clock, root.pem)
    for others in ([], [between.der], [], [root.der], [between.der]):
        if between.der in others:
            assert users.whose(PeerCertificates.of(jane.der, others)) is not None
        else:
            with pytest.raises(Unverified):
                users.whose(PeerCertificates.of(jane.der, others))


def test_session_taken_up_again_is_believed_when_its_certificate_was() -> None:
    clock = ManualClock()
    root = authority(now=clock.now())
    between = root.signs("between", now=clock.now(), extensions=(x509.BasicConstraints(ca=True, path_length=0),))
    jane = between.signs("jane", now=clock.now())
    users = ClientCertificates(clock, root.pem)
    with pytest.raises(Unverified):
        users.whose(PeerCertificates.of(jane.der, None))
    assert users.whose(PeerCertificates.of(jane.der, [between.der])) is not None
    assert users.whose(PeerCertificates.of(jane.der, None)) is not None
    other = authority("doorman-ca", now=clock.now()).signs("jane", now=clock.now())
    for others in ((), None):
        with pytest.raises(Unverified):
            users.whose(PeerCertificates.of(other.der, others))


def test_no_more_certificates_are_remembered_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "KNOWN_MAX", 3)
    clock = ManualClock()
    root = authority(now=clock.now())
    users = ClientCertificates(clock, root.pem)
    shown = [PeerCertificates.of(root.signs(f"user-{n}", now=clock.now()).der) for n in range(5)]
    for each in (*shown, *shown):
        assert users.whose(each) is not None
    assert len(users._known) == 3


UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")


@pytest.mark.parametrize(
    ("uids", "expected"),
    [
        pytest.param([], "", id="none"),
        pytest.param(["17"], "17", id="one"),
        pytest.param(["17", "18"], None, id="two"),
    ],
)
def test_uid_of_a_subject(uids: list[str], expected: str | None) -> None:
    name = x509.Name([*subject("jane"), *(x509.NameAttribute(UID, uid) for uid in uids)])
    if expected is None:
        with pytest.raises(ValueError, match="one uid"):
            user_of(name)
    else:
        user = user_of(name)
        assert user is not None
        assert user.uid == expected
