"""CertificateSigningRequests on their way in: who asks is written down by the server, and approving takes a right."""

import base64
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from doorman.api.identity import MASTERS, User
from doorman.api.kinds import Kind
from doorman.api.well_known import CERTIFICATE_SIGNING_REQUESTS, KUBE_APISERVER_CLIENT_SIGNER
from doorman.base.errors import ApiError, forbidden_request
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.registry.registry import Registry
from doorman.server.auth.authorization import Authorizer
from doorman.server.request import RequestInfo

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
        is_client = spec.get("signerName") == KUBE_APISERVER_CLIENT_SIGNER
        if is_client and MASTERS in _organizations(spec.get("request", "")):
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


def _organizations(request: str) -> list[str]:
    try:
        parsed = x509.load_pem_x509_csr(base64.b64decode(request))
    except (ValueError, TypeError):
        return []
    return [str(found.value) for found in parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
