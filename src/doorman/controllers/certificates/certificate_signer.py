"""certificatesigningrequest-signing-controller: signs approved requests for certificates.

It reads CertificateSigningRequests and writes a certificate into the status of those that are approved, for three
signers: any client of the API server, kubelets as clients, and kubelets as servers. A request that its signer cannot
grant is marked Failed.
"""

import base64
import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from doorman.api.views.access.certificates import CertificateSigningRequest
from doorman.api.well_known import CERTIFICATE_SIGNING_REQUESTS
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import Action, Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.certificates.signer_rules import KEY_USAGES, SIGNERS, alternative_names, decide_fault

NAME: Final = "certificatesigningrequest-signing-controller"
SECONDS_DEFAULT: Final = 365 * 86400
BACKDATE_SECONDS: Final = 300
WORKERS: Final = 2


def request_keys(change: ObjectChange) -> Iterable[str]:
    return (change.new.metadata.name,) if change.new is not None else ()


SOURCES: Final = (Source(CERTIFICATE_SIGNING_REQUESTS, request_keys),)


class CertificateSigningController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, requests: ListerOf[CertificateSigningRequest], ca_certificate: bytes, ca_key: bytes) -> None:
        self._requests = requests
        self._ca_certificate = ca_certificate
        self._ca_key = ca_key

    def start(self, now: Instant) -> Result:  # noqa: ARG002  the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        request = self._requests.get(key)
        if request is None or request.spec.signer_name not in SIGNERS:
            return DONE
        status = request.status
        if status.certificate or not status.has("Approved") or status.has("Denied") or status.has("Failed"):
            return DONE
        return Result(actions=(self._signed(request, now),))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the request tries again."""

    def _signed(self, request: CertificateSigningRequest, now: Instant) -> Action:
        parsed = x509.load_pem_x509_csr(base64.b64decode(request.spec.request))
        fault = decide_fault(request.spec.signer_name, request.spec.usages, parsed)
        if fault:
            conditions = [*condition_documents(request), _failed(fault, now)]
            return _status(request, {"conditions": conditions})
        certificate = sign(request, parsed, self._ca_certificate, self._ca_key, now)
        return _status(request, {"certificate": base64.b64encode(certificate).decode()})


def sign(
    request: CertificateSigningRequest,
    parsed: x509.CertificateSigningRequest,
    ca_certificate: bytes,
    ca_key: bytes,
    now: Instant,
) -> bytes:
    """A certificate for the subject that was approved, never valid for longer than its authority."""
    authority = x509.load_pem_x509_certificate(ca_certificate)
    key = serialization.load_pem_private_key(ca_key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey), "the authority's key is ours"
    seconds = request.spec.expiration_seconds or SECONDS_DEFAULT
    begin = datetime.fromtimestamp(int(now) - BACKDATE_SECONDS, UTC)
    end = min(begin + timedelta(seconds=BACKDATE_SECONDS + seconds), authority.not_valid_after_utc)
    # The number comes from the request's uid, so that one request has one certificate.
    serial = int.from_bytes(hashlib.sha256(request.metadata.uid.encode()).digest()[:19], "big") | 1
    usages = frozenset(request.spec.usages)
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if "server auth" in usages else ExtendedKeyUsageOID.CLIENT_AUTH
    built = (
        x509.CertificateBuilder()
        .subject_name(parsed.subject)
        .issuer_name(authority.subject)
        .public_key(parsed.public_key())
        .serial_number(serial)
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    names = alternative_names(parsed)
    if names is not None:
        built = built.add_extension(names, critical=False)
    if usages & KEY_USAGES:
        built = built.add_extension(
            x509.KeyUsage(
                digital_signature="digital signature" in usages,
                key_encipherment="key encipherment" in usages,
                content_commitment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=False,
                crl_sign=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    return built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _status(request: CertificateSigningRequest, status: dict[str, Any]) -> Patch:  # part of a status as JSON
    return Patch(
        resource=CERTIFICATE_SIGNING_REQUESTS,
        name=request.metadata.name,
        subresource="status",
        body={"metadata": {"uid": request.metadata.uid}, "status": status},
        type=PatchType.MERGE,
    )


def condition_documents(request: CertificateSigningRequest) -> list[dict[str, Any]]:  # conditions as JSON
    return [
        {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
            "lastUpdateTime": condition.last_update_time or None,
            "lastTransitionTime": condition.last_transition_time or None,
        }
        for condition in request.status.conditions
    ]


def _failed(fault: str, now: Instant) -> dict[str, Any]:  # a condition as JSON
    return {
        "type": "Failed",
        "status": "True",
        "reason": "SignerValidationFailure",
        "message": fault,
        "lastUpdateTime": to_time(now),
        "lastTransitionTime": to_time(now),
    }
