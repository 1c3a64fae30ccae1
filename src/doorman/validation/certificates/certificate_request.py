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

from doorman.api.machinery.schema import Document
from doorman.base.errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from doorman.base.go_format import quote
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.metadata import validate_metadata, validate_metadata_update

APPROVED: Final = "Approved"
DENIED: Final = "Denied"
FAILED: Final = "Failed"
_CONDITIONS: Final = "status.conditions"
_CERTIFICATE: Final = "status.certificate"
_EXCLUSIVE: Final = "Approved and Denied conditions are mutually exclusive"
_BLOCK: Final = re.compile(rb"-----BEGIN ([^-\n]+)-----\r?\n(.*?)-----END \1-----", re.DOTALL)
_Condition = Mapping[str, Any]  # as JSON


def validate_create(doc: Document, _context: Context) -> list[FieldError]:
    return validate_metadata(doc)


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
        if {APPROVED: DENIED, DENIED: APPROVED}.get(kind) in seen:
            errors.append(invalid(f"{at}.type", kind, _EXCLUSIVE))
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.append(kind)
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
