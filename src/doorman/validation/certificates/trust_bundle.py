"""ClusterTrustBundles: certificates of authorities, for whoever has to verify what they signed."""

import base64
import binascii
import re
from typing import Final

from cryptography import x509

from doorman.base.errors import FieldError, invalid, too_long
from doorman.base.json_types import Document
from doorman.validation.certificates.signers import signer_name_errors, trust_bundle_name_faults
from doorman.validation.context import Context, Validator, distinct
from doorman.validation.faults import fixed
from doorman.validation.metadata import validate_metadata, validate_metadata_update

_BYTES_MAX: Final = 1024 * 1024
_OMITTED: Final = "<value omitted>"
_PATH: Final = "spec.trustBundle"
_BLOCK: Final = re.compile(r"-----BEGIN ([^\n]*?)-----[ \t]*\r?\n(.*?)-----END \1-----", re.DOTALL)


def _create(doc: Document, _context: Context) -> list[FieldError]:
    return [*_name_errors(doc), *_bundle_errors((doc.get("spec") or {}).get("trustBundle") or "")]


def _update(new: Document, old: Document, _context: Context) -> list[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    errors, bundle = _name_errors(new), after.get("trustBundle") or ""
    if bundle != (before.get("trustBundle") or ""):
        errors += _bundle_errors(bundle)
    errors += validate_metadata_update(new, old)
    if (after.get("signerName") or "") != (before.get("signerName") or ""):
        errors += fixed({"signerName": after.get("signerName") or ""}, before, "signerName", "spec")
    return distinct(errors)


def _name_errors(doc: Document) -> list[FieldError]:
    signer = (doc.get("spec") or {}).get("signerName") or ""
    errors = validate_metadata(doc, lambda name: trust_bundle_name_faults(name, signer))
    return [*errors, *(signer_name_errors(signer, "spec.signerName") if signer else ())]


def _bundle_errors(bundle: str) -> list[FieldError]:
    if len(bundle.encode()) > _BYTES_MAX:
        return [too_long(_PATH, _BYTES_MAX)]
    anchors: dict[bytes, list[int]] = {}
    errors: list[FieldError] = []
    for index, (kind, body) in enumerate(_BLOCK.findall(bundle)):
        data = _decoded(body)
        if fault := _block_fault(kind, body, data):
            errors.append(invalid(_PATH, _OMITTED, f"entry {index} {fault}"))
        else:
            anchors.setdefault(data, []).append(index)
    if errors:
        return errors
    if not anchors:
        return [invalid(_PATH, _OMITTED, "at least one trust anchor must be provided")]
    return [
        invalid(_PATH, _OMITTED, f"duplicate trust anchor (indices [{' '.join(map(str, places))}])")
        for places in anchors.values()
        if len(places) > 1
    ]


def _decoded(body: str) -> bytes:
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except binascii.Error:
        return b""


def _block_fault(kind: str, body: str, data: bytes) -> str:
    if kind != "CERTIFICATE":
        return f"has bad block type: {kind}"
    if ":" in body:
        return "has PEM block headers"
    try:
        certificate = x509.load_der_x509_certificate(data)
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        return "does not have the CA bit set"
    except ValueError:
        return "does not parse as X.509"
    return "" if constraints.ca else "does not have the CA bit set"


TRUST_BUNDLE: Final = Validator(create=_create, update=_update)
