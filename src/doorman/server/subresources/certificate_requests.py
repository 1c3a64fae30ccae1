"""CertificateSigningRequests on their way in: who asks is written down by the server, and approving takes a right."""

import base64
import binascii
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509.oid import NameOID

from doorman.api.identity import MASTERS, User
from doorman.api.kinds import Kind
from doorman.api.machinery.schema import Document
from doorman.api.well_known import CERTIFICATE_SIGNING_REQUESTS, KUBE_APISERVER_CLIENT_SIGNER
from doorman.base.errors import (
    ApiError,
    FieldError,
    duplicate,
    forbidden_request,
    invalid,
    invalid_object,
    not_supported,
    required,
)
from doorman.base.go_format import quote
from doorman.registry.registry import Registry
from doorman.server.auth.authorization import Authorizer
from doorman.server.request import RequestInfo

SECONDS_MIN: Final = 600
USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip
_RIGHTS: Final = {"approval": "approve", "status": "sign"}


class CertificateRequests:
    def __init__(self, registry: Registry, authorizer: Authorizer) -> None:
        self._registry = registry
        self._authorizer = authorizer

    def prepare(self, kind: Kind, doc: Document, user: User) -> None:
        """Write down who asks, and refuse what nobody could sign."""
        if kind.storage != CERTIFICATE_SIGNING_REQUESTS:
            return
        spec = doc.setdefault("spec", {})
        for name in ("username", "uid", "groups", "extra"):
            spec.pop(name, None)
        spec["username"] = user.name
        if user.uid:
            spec["uid"] = user.uid
        if user.groups:
            spec["groups"] = list(user.groups)
        if user.extra:
            spec["extra"] = {name: list(values) for name, values in user.extra.items()}
        name = (doc.get("metadata") or {}).get("name", "")
        errors = _errors(spec)
        if errors:
            raise invalid_object(kind.kind, kind.group, name, errors)
        if spec["signerName"] == KUBE_APISERVER_CLIENT_SIGNER and MASTERS in _organizations(spec["request"]):
            why = f"use of {KUBE_APISERVER_CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
            raise forbidden_request(kind.named, name, why)

    def check_subresource(self, kind: Kind, name: str, subresource: str, user: User) -> None:
        """Approving takes the verb `approve` on the signer, writing a certificate `sign`."""
        verb = _RIGHTS.get(subresource)
        if kind.storage != CERTIFICATE_SIGNING_REQUESTS or verb is None:
            return
        stored = self._registry.get(kind, "", name)
        signer: str = stored.document().get("spec", {}).get("signerName", "")
        if not self._may(user, verb, signer):
            raise self._refusal(kind, name, verb, signer)

    def _may(self, user: User, verb: str, signer: str) -> bool:
        domain = signer.partition("/")[0]
        return any(
            self._authorizer.decide(
                user,
                RequestInfo(
                    is_resource=True,
                    verb=verb,
                    path="",
                    group="certificates.k8s.io",
                    version="*",
                    resource="signers",
                    name=name,
                ),
            ).is_allowed
            for name in (signer, f"{domain}/*")
        )

    def _refusal(self, kind: Kind, name: str, verb: str, signer: str) -> ApiError:
        why = f"user not permitted to {verb} requests with signerName {quote(signer)}"
        return forbidden_request(kind.named, name, why)


def _errors(spec: Document) -> list[FieldError]:
    errors: list[FieldError] = []
    fault = _fault(spec.get("request", ""))
    if fault:
        errors.append(invalid("spec.request", spec.get("request", ""), fault))
    if not spec.get("usages"):
        errors.append(required("spec.usages", "usages must be provided"))
    seen: set[str] = set()
    for index, usage in enumerate(spec.get("usages") or ()):
        if usage not in USAGES:
            errors.append(not_supported(f"spec.usages[{index}]", usage, USAGES))
        if usage in seen:
            errors.append(duplicate(f"spec.usages[{index}]", usage))
        seen.add(usage)
    signer = spec.get("signerName", "")
    if not signer:
        errors.append(required("spec.signerName", ""))
    elif "/" not in signer.strip("/"):
        errors.append(invalid("spec.signerName", signer, "must be a fully qualified domain and path of the form "
                              "'example.com/signer-name'"))  # fmt: skip
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SECONDS_MIN:
        errors.append(
            invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 600 seconds (10 minutes)")
        )
    return errors


def _fault(request: str) -> str:
    try:
        parsed = x509.load_pem_x509_csr(base64.b64decode(request))
        if not parsed.is_signature_valid:
            return "the signature does not belong to the key"
    except (ValueError, TypeError, binascii.Error, UnsupportedAlgorithm, InvalidSignature):
        return "PEM block type must be CERTIFICATE REQUEST"
    return ""


def _organizations(request: str) -> list[str]:
    parsed = x509.load_pem_x509_csr(base64.b64decode(request))
    return [str(found.value) for found in parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
