"""Requests for certificates of pods: what may be asked for, and what may be said of it, as Kubernetes v1.37 has it."""

import base64
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from doorman.validation.certificates.pod_certificate_request import (
    POD_CERTIFICATE_REQUEST,
    default_pod_certificate_request,
)
from doorman.validation.context import Context

Key = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def request_of(key: Key) -> bytes:
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, algorithm)
    return made.public_bytes(serialization.Encoding.DER)


@cache
def good() -> bytes:
    return request_of(ed25519.Ed25519PrivateKey.generate())


def asked(**spec: Any) -> dict[str, Any]:
    uids = {f"{who}UID": "u" for who in ("pod", "serviceAccount", "node")}
    names = {f"{who}Name": "n" for who in ("pod", "serviceAccount", "node")}
    request = base64.b64encode(good()).decode()
    own = {"signerName": "x.example.com/y", **names, **uids, "stubPKCS10Request": request, **spec}
    return {"metadata": {"name": "r"}, "spec": own}


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        pytest.param({}, None, id="good"),
        pytest.param({"signerName": "x"}, "spec.signerName: Invalid value", id="rule-1-signer"),
        pytest.param({"podName": "A B"}, 'spec.podName: Invalid value: "A B"', id="rule-1-name"),
        pytest.param({"nodeUID": ""}, 'spec.nodeUID: Invalid value: "": must not be empty', id="rule-1-uid"),
        pytest.param({"podUID": "x" * 129}, "spec.podUID: Too long: may not be more than 128", id="rule-1-long-uid"),
        pytest.param({"maxExpirationSeconds": 3600}, None, id="rule-2-shortest"),
        pytest.param({"maxExpirationSeconds": 7862401}, "must be in the range [3600, 7862400]", id="rule-2-too-long"),
        pytest.param({"stubPKCS10Request": ""}, "spec: Invalid value: exactly one of", id="rule-3-none"),
        pytest.param({"stubPKCS10Request": "YQ=="}, "must be a valid PKCS#10 CSR", id="rule-3-no-request"),
        pytest.param({"unverifiedUserAnnotations": {"a": "b"}}, "must be a domain-prefixed key", id="annotation"),
    ],
)
def test_what_is_asked_for(spec: dict[str, Any], fault: str | None) -> None:
    found = [str(error) for error in POD_CERTIFICATE_REQUEST.create(asked(**spec), Context())]
    assert len(found) == (fault is not None)
    assert all(str(fault) in text for text in found)


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        pytest.param(lambda: ec.generate_private_key(ec.SECP256R1()), None, id="p256"),
        pytest.param(lambda: ec.generate_private_key(ec.SECP224R1()), '"curve P-224": elliptic', id="p224"),
        pytest.param(lambda: rsa.generate_private_key(65537, 2048), '"2048-bit modulus": RSA keys', id="rsa-2048"),
    ],
)
def test_rule_3_key_is_strong_enough(key: Any, fault: str | None) -> None:
    doc = asked(stubPKCS10Request=base64.b64encode(request_of(key())).decode())
    found = [str(error) for error in POD_CERTIFICATE_REQUEST.create(doc, Context())]
    assert len(found) == (fault is not None)
    assert all(str(fault) in text for text in found)


def test_rule_3_request_is_signed_by_its_key() -> None:
    raw = good()[:-1] + bytes([good()[-1] ^ 1])
    (error,) = POD_CERTIFICATE_REQUEST.create(asked(stubPKCS10Request=base64.b64encode(raw).decode()), Context())
    assert str(error) == "spec.stubPKCS10Request: Invalid value: invalid signature"


def test_a_day_is_asked_for_where_nothing_is_said() -> None:
    doc = asked()
    default_pod_certificate_request(doc)
    assert doc["spec"]["maxExpirationSeconds"] == 86_400


def test_rule_4_what_is_asked_for_stays() -> None:
    (error,) = POD_CERTIFICATE_REQUEST.update(asked(podName="other"), asked(), Context())
    assert (error.field, "field is immutable" in str(error)) == ("spec", True)


def condition(kind: str, status: str = "True") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status}]}


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        pytest.param({}, condition("Denied"), None, id="denied"),
        pytest.param({}, condition("Odd"), 'status.conditions.[0].type: Unsupported value: "Odd"', id="odd"),
        pytest.param({}, condition("Denied", "False"), "conditions.[0].status: Unsupported value", id="not-true"),
        pytest.param({}, condition("Issued"), "issued certificate chain must contain at least one", id="no-chain"),
        pytest.param({}, {"certificateChain": "x"}, "status is immutable unless transitioning", id="no-outcome"),
        pytest.param(condition("Denied"), condition("Failed"), "status is immutable unless", id="said-before"),
        pytest.param(condition("Denied"), condition("Denied"), None, id="the-same"),
    ],
)
def test_rule_4_outcome_is_said_once(before: dict[str, Any], after: dict[str, Any], fault: str | None) -> None:
    context = Context(subresource="status")
    errors = POD_CERTIFICATE_REQUEST.update({**asked(), "status": after}, {**asked(), "status": before}, context)
    assert len(errors) == (fault is not None)
    assert all(str(fault) in str(error) for error in errors)
