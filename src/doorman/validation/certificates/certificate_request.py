"""Certificate signing requests: what may be said of one after it was made.

Rules
-----
1. Approved, Denied and Failed are said with status True; Approved and Denied exclude each other, nothing is said twice.
2. None of the three is ever taken back. Approved and Denied are said through `approval` only, and stay as they were.
3. A certificate is written through `status` only, once, and consists of certificates.
4. What was wrong in these ways already may stay so.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from doorman.base.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.semantics.name_syntax import path_segment_faults
from doorman.validation.certificates.signers import signer_name_errors
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import validate_metadata, validate_metadata_update

SECONDS_MIN: Final = 600
USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip
_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
APPROVED: Final = "Approved"
DENIED: Final = "Denied"
FAILED: Final = "Failed"
_CONDITIONS: Final = "status.conditions"
_CERTIFICATE: Final = "status.certificate"
_BOTH: Final = '{conditions[{"type": "Approved"}], conditions[{"type": "Denied"}]}'
_EXCLUSIVE: Final = 'must specify at most one of: `conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`'
_BLOCK: Final = re.compile(rb"-----BEGIN ([^-\n]+)-----\r?\n(.*?)-----END \1-----", re.DOTALL)
_Condition = Mapping[str, Any]  # as JSON
_GENERATED: Final = "metadata.generateName"
"""Nobody looks at the beginning of a name: only the whole is a part of a path."""


def validate_create(doc: Document, _context: Context) -> list[FieldError]:
    """Any name is a good one, until it is to be stored under it."""
    errors = [
        *validate_metadata(doc, lambda _name: ()), *_spec_errors(doc.get("spec") or {}), *_status_errors(doc),
    ]  # fmt: skip
    if errors:
        return errors
    return [error for error in validate_metadata(doc, path_segment_faults) if error.field != _GENERATED]


def _spec_errors(spec: Mapping[str, Any]) -> list[FieldError]:  # JSON
    errors: list[FieldError] = []
    if fault := request_fault(spec.get("request") or ""):
        errors.append(invalid("spec.request", spec.get("request"), fault))
    usages = spec.get("usages") or ()
    if not usages:
        errors.append(required("spec.usages"))
    for index, usage in enumerate(usages):
        if usage not in USAGES:
            errors.append(not_supported(f"spec.usages[{index}]", usage, USAGES))
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            errors.append(duplicate(f"spec.usages[{index}]", usage))
    signer = spec.get("signerName") or ""
    if signer == _LEGACY_SIGNER:
        text = "the legacy signerName is not allowed via this API version"
        errors.append(invalid("spec.signerName", signer, text))
    else:
        errors += signer_name_errors(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SECONDS_MIN:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, text))
    return errors


def request_fault(request: str) -> str:
    try:
        parsed = x509.load_pem_x509_csr(base64.b64decode(request))
        if not parsed.is_signature_valid:
            return "the signature does not belong to the key"
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature):
        return "PEM block type must be CERTIFICATE REQUEST"
    return ""


def validate_update(new: Document, old: Document, context: Context) -> list[FieldError]:
    before = {str(error) for error in _status_errors(old)}
    errors = [error for error in _status_errors(new) if str(error) not in before]  # rule 4
    errors.extend(validate_metadata_update(new, old))
    errors.extend(_condition_changes(new, old, may_decide=context.subresource == "approval"))
    certificate, was = _status(new).get("certificate", ""), _status(old).get("certificate", "")
    if certificate != was:
        if context.subresource != "status":
            errors.append(forbidden(_CERTIFICATE, "updates may not set certificate content"))
        elif was:
            errors.append(forbidden(_CERTIFICATE, "updates may not modify existing certificate content"))
    return distinct(errors)


CERTIFICATE_REQUEST: Final = Validator(create=validate_create, update=validate_update)


def certificate_fault(text: str) -> str:
    """What is wrong with a certificate as it is stored; empty when nothing is."""
    if not text:
        return ""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        return str(error)
    blocks = _BLOCK.findall(data)
    for kind, body in blocks:
        if kind != b"CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {quote(kind.decode(errors='replace'))}"
        if b":" in body:
            return "no PEM block headers are permitted"
        try:
            x509.load_der_x509_certificate(base64.b64decode(body))
        except ValueError:
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def _status_errors(doc: Document) -> list[FieldError]:
    """Rules 1 and 3."""
    errors: list[FieldError] = []
    seen: list[str] = []
    for index, condition in enumerate(_conditions(doc)):
        kind, status, at = condition.get("type", ""), condition.get("status", ""), f"{_CONDITIONS}[{index}]"
        allowed = ("True",) if kind in (APPROVED, DENIED, FAILED) else ("False", "True", "Unknown")
        if not kind:
            errors.append(required(f"{at}.type"))
        if not status:
            errors.append(required(f"{at}.status"))
        elif status not in allowed:
            errors.append(not_supported(f"{at}.status", status, allowed))
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.append(kind)
    if APPROVED in seen and DENIED in seen:
        errors.append(invalid(_CONDITIONS, _BOTH, _EXCLUSIVE))
    if fault := certificate_fault(_status(doc).get("certificate", "")):
        errors.append(invalid(_CERTIFICATE, "<certificate data>", fault))
    return errors


def _condition_changes(new: Document, old: Document, *, may_decide: bool) -> list[FieldError]:
    """Rule 2."""
    errors = [
        forbidden(_CONDITIONS, f"updates may not remove a condition of type {quote(kind)}")
        for kind in (APPROVED, DENIED, FAILED)
        if len(_of_kind(new, kind)) < len(_of_kind(old, kind))
    ]
    if may_decide:
        return errors
    for kind in (APPROVED, DENIED):
        after, before = _of_kind(new, kind), _of_kind(old, kind)
        if len(after) > len(before):
            errors.append(forbidden(_CONDITIONS, f"updates may not add a condition of type {quote(kind)}"))
        elif len(after) == len(before) and after != before:
            errors.append(forbidden(_CONDITIONS, f"updates may not modify a condition of type {quote(kind)}"))
    return errors


def _status(doc: Document) -> Mapping[str, Any]:  # JSON
    return doc.get("status") or {}


def _conditions(doc: Document) -> Sequence[_Condition]:
    return _status(doc).get("conditions") or ()


def _of_kind(doc: Document, kind: str) -> list[_Condition]:
    return [condition for condition in _conditions(doc) if condition.get("type") == kind]
