"""Approved requests get a certificate of their subject; those that their signer cannot grant are told why."""

import base64
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from doorman.api.views.access.certificates import CertificateSigningRequest
from doorman.api.well_known import KUBE_APISERVER_CLIENT_SIGNER
from doorman.client.actions import Patch
from doorman.client.informer_cache import InformerCache
from doorman.controllers.certificates.certificate_signer import CertificateSigningController, sign
from doorman.controllers.certificates.signer_rules import KUBELET_SERVING
from support.certificates import CLIENT_USAGES, SERVER_USAGES, authority, key_pem, made_request, request_body

NOW = 1767225600.0
AUTHORITY = authority(now=NOW)
APPROVED = {
    "type": "Approved", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2025-12-31T00:00:00Z",
}  # fmt: skip


def view(
    request: x509.CertificateSigningRequest,
    *conditions: dict[str, Any],
    signer: str = KUBE_APISERVER_CLIENT_SIGNER,
    usages: list[str] = CLIENT_USAGES,
    **spec: Any,
) -> CertificateSigningRequest:
    doc = request_body("r", request, signer, usages)
    doc["metadata"]["uid"] = "u1"
    doc["spec"].update(spec)
    return msgspec.convert({**doc, "status": {"conditions": list(conditions)}}, CertificateSigningRequest)


def reconciled(found: CertificateSigningRequest) -> list[Any]:
    cache: InformerCache[CertificateSigningRequest] = InformerCache({})
    cache.put("r", found)
    controller = CertificateSigningController(cache, AUTHORITY.pem, key_pem(AUTHORITY.key))
    return list(controller.reconcile("r", NOW).actions)


def signed(found: CertificateSigningRequest, request: x509.CertificateSigningRequest) -> x509.Certificate:
    return x509.load_pem_x509_certificate(sign(found, request, AUTHORITY.pem, key_pem(AUTHORITY.key), NOW))


@pytest.mark.parametrize(
    ("conditions", "signer", "is_signed"),
    [
        pytest.param([APPROVED], KUBE_APISERVER_CLIENT_SIGNER, True, id="approved"),
        pytest.param([], KUBE_APISERVER_CLIENT_SIGNER, False, id="nobody-has-looked"),
        pytest.param(
            [APPROVED, {**APPROVED, "type": "Denied"}], KUBE_APISERVER_CLIENT_SIGNER, False, id="denied-after-all"
        ),
        pytest.param([APPROVED, {**APPROVED, "type": "Failed"}], KUBE_APISERVER_CLIENT_SIGNER, False, id="failed"),
        pytest.param([APPROVED], "example.com/other", False, id="another-signer"),
    ],
)
def test_only_approved_requests_of_our_signers_are_signed(
    conditions: list[dict[str, Any]], signer: str, is_signed: bool
) -> None:
    actions = reconciled(view(made_request("ada", "dev"), *conditions, signer=signer))
    assert bool(actions) is is_signed


def test_certificate_goes_into_the_status_of_this_very_request() -> None:
    (action,) = reconciled(view(made_request("ada", "dev"), APPROVED))
    assert isinstance(action, Patch)
    assert (action.subresource, action.body["metadata"]) == ("status", {"uid": "u1"})
    certificate = x509.load_pem_x509_certificate(base64.b64decode(action.body["status"]["certificate"]))
    assert certificate.subject == made_request("ada", "dev").subject
    certificate.verify_directly_issued_by(AUTHORITY.certificate)


def test_request_that_cannot_be_granted_fails_and_keeps_its_conditions() -> None:
    (action,) = reconciled(view(made_request("ada"), APPROVED, usages=SERVER_USAGES))
    conditions = action.body["status"]["conditions"]
    assert [one["type"] for one in conditions] == ["Approved", "Failed"]
    assert (conditions[1]["status"], conditions[1]["reason"]) == ("True", "SignerValidationFailure")
    assert conditions[1]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert conditions[0]["lastTransitionTime"] == "2025-12-31T00:00:00Z"
    assert conditions[1]["message"].startswith("usages did not match")
    assert "certificate" not in action.body["status"]


def test_times_are_those_asked_for_but_never_beyond_the_authority() -> None:
    request = made_request("ada")
    hour = signed(view(request, expirationSeconds=3600), request)
    assert hour.not_valid_before_utc == datetime.fromtimestamp(NOW - 300, UTC)
    assert hour.not_valid_after_utc == datetime.fromtimestamp(NOW + 3600, UTC)
    assert signed(view(request), request).not_valid_after_utc == AUTHORITY.certificate.not_valid_after_utc


def test_one_request_has_one_number() -> None:
    request = made_request("ada")
    other = msgspec.structs.replace(view(request), metadata=msgspec.structs.replace(view(request).metadata, uid="u2"))
    assert signed(view(request), request).serial_number == signed(view(request), request).serial_number
    assert signed(view(request), request).serial_number != signed(other, request).serial_number


def test_purpose_and_names_are_those_of_the_request() -> None:
    request = made_request("system:node:n1", "system:nodes", dns=["n1"])
    found = signed(view(request, signer=KUBELET_SERVING, usages=SERVER_USAGES), request)
    purpose = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(purpose) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert names.get_values_for_type(x509.DNSName) == ["n1"]
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
