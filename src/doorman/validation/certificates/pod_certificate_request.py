"""Requests of kubelets for certificates of pods.

Rules
-----
1. Pod, service account and node are named with their uids; who signs is a signer's name.
2. A certificate is asked for an hour at least and 91 days at most; a day where nothing is said.
3. The request is a signed PKCS#10 request of a key that is strong enough.
4. What is asked for stays; what became of it is said once: Issued, Denied or Failed.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from doorman.base.errors import FieldError, FieldErrorType, invalid, not_supported, too_long
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import subdomain_faults
from doorman.validation.certificates.signers import signer_name_errors
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.document_paths import domain_key_errors
from doorman.validation.metadata import IMMUTABLE, annotation_errors, validate_metadata, validate_metadata_update

SECONDS_DEFAULT: Final = 86_400
SECONDS_MIN, SECONDS_MAX = 3_600, 91 * 86_400
UID_BYTES_MAX: Final = 128
REQUEST_BYTES_MAX: Final = 10 * 1024
OUTCOMES: Final = ("Issued", "Denied", "Failed")
_REQUEST: Final = "spec.stubPKCS10Request"
_CURVES: Final = ("secp256r1", "secp384r1", "secp521r1")
_MODULI_BITS: Final = (3072, 4096)
_Part = Mapping[str, Any]  # JSON


def default_pod_certificate_request(doc: Document) -> None:
    doc.setdefault("spec", {}).setdefault("maxExpirationSeconds", SECONDS_DEFAULT)


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*validate_metadata(doc), *_spec_errors(doc.get("spec") or {})]


def _update(new: Document, old: Document, context: Context) -> list[FieldError]:
    errors = validate_metadata_update(new, old)
    if context.subresource == "status":
        return [*errors, *_status_errors(new.get("status") or {}, old.get("status") or {})]
    if new.get("spec") != old.get("spec"):
        errors.append(invalid("spec", new.get("spec"), IMMUTABLE))
    return distinct(errors)


def _spec_errors(spec: _Part) -> list[FieldError]:
    errors = signer_name_errors(spec.get("signerName") or "", "spec.signerName")
    for who in ("pod", "serviceAccount", "node"):
        name, uid = spec.get(f"{who}Name") or "", spec.get(f"{who}UID") or ""
        errors += [invalid(f"spec.{who}Name", name, fault) for fault in subdomain_faults(name)]
        if not uid:
            errors.append(invalid(f"spec.{who}UID", uid, "must not be empty"))
        elif len(uid.encode()) > UID_BYTES_MAX:
            errors.append(too_long(f"spec.{who}UID", UID_BYTES_MAX))
    seconds = spec.get("maxExpirationSeconds")
    if seconds is not None and not SECONDS_MIN <= seconds <= SECONDS_MAX:
        text = f"must be in the range [{SECONDS_MIN}, {SECONDS_MAX}]"
        errors.append(invalid("spec.maxExpirationSeconds", seconds, text))
    errors += _request_errors(spec.get("stubPKCS10Request") or "")
    notes: Mapping[str, str] = spec.get("unverifiedUserAnnotations") or {}
    path = "spec.unverifiedUserAnnotations"
    for key in notes:
        errors += domain_key_errors(key, path)
    return [*errors, *(error for error in annotation_errors(notes, path) if error.type is FieldErrorType.TOO_LONG)]


def _request_errors(text: str) -> list[FieldError]:
    if not text:
        why = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
        return [_unshown("spec", why)]
    try:
        raw = base64.b64decode(text)
        if len(raw) > REQUEST_BYTES_MAX:
            return [too_long(_REQUEST, REQUEST_BYTES_MAX)]
        request = x509.load_der_x509_csr(raw)
        key = request.public_key()
    except (ValueError, TypeError, binascii.Error, UnsupportedAlgorithm):
        return [_unshown(_REQUEST, "must be a valid PKCS#10 CSR")]
    try:
        is_signed = request.is_signature_valid
    except (InvalidSignature, UnsupportedAlgorithm):
        is_signed = False
    if not is_signed:
        return [_unshown(_REQUEST, "invalid signature")]
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name not in _CURVES:
        curve = f"curve P-{key.curve.key_size}"
        return [invalid(_REQUEST, curve, "elliptic public keys must use curve P256, P384, or P521")]
    if isinstance(key, rsa.RSAPublicKey) and key.key_size not in _MODULI_BITS:
        return [invalid(_REQUEST, f"{key.key_size}-bit modulus", "RSA keys must have modulus size 3072 or 4096")]
    return []


def _status_errors(after: _Part, before: _Part) -> list[FieldError]:
    conditions = after.get("conditions") or ()
    if after == before:
        return []
    if before.get("conditions") or not conditions:
        return [_unshown("status", 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"')]
    errors = []
    for index, condition in enumerate(conditions):
        kind, status = condition.get("type", ""), condition.get("status", "")
        if kind not in OUTCOMES:
            errors.append(not_supported(f"status.conditions.[{index}].type", kind, OUTCOMES))
        elif status != "True":
            errors.append(not_supported(f"status.conditions.[{index}].status", status, ("True",)))
        elif kind == "Issued" and not after.get("certificateChain"):
            text = "issued certificate chain must contain at least one certificate"
            errors.append(invalid("status.certificateChain", "", text))
    return errors


def _unshown(path: str, why: str) -> FieldError:
    """What is wrong is a whole, or secret: it is not shown."""
    return FieldError(FieldErrorType.INVALID, path, f"Invalid value: {why}")


POD_CERTIFICATE_REQUEST: Final = Validator(create=_create, update=_update)
