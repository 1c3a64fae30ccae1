"""What the built-in signers demand of a certificate request.

Rules
-----
1. Any client of the API server (`kube-apiserver-client`): the usage is `client auth`, besides those of the key.
2. A kubelet as a client (`kube-apiserver-client-kubelet`): the organization is `system:nodes` and nothing else, the
   name begins with `system:node:`, there are no alternative names, and the usages are those of rule 1 with both of
   the key, or without `key encipherment`.
3. A kubelet as a server (`kubelet-serving`): organization and name as in rule 2, `server auth` in place of
   `client auth`, at least one DNS name or address, and no e-mail address or URI.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from doorman.api.well_known import KUBE_APISERVER_CLIENT_SIGNER

KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"
SIGNERS: Final = (KUBE_APISERVER_CLIENT_SIGNER, KUBELET_CLIENT, KUBELET_SERVING)

KEY_USAGES: Final = frozenset(("digital signature", "key encipherment"))
_CLIENT_USAGES: Final = KEY_USAGES | {"client auth"}
_SERVER_USAGES: Final = KEY_USAGES | {"server auth"}
_NAMES: Final[Mapping[type[x509.GeneralName], str]] = {
    x509.DNSName: "DNS",
    x509.RFC822Name: "Email",
    x509.IPAddress: "IP",
    x509.UniformResourceIdentifier: "URI",
}


def decide_fault(signer: str, usages: Iterable[str], parsed: x509.CertificateSigningRequest) -> str:
    """Why the signer cannot grant a request; empty when it can."""
    wanted = frozenset(usages)
    if signer == KUBE_APISERVER_CLIENT_SIGNER:
        fits = "client auth" in wanted and wanted <= _CLIENT_USAGES
        return "" if fits else "usages did not match those allowed for client certificates"
    return _subject_fault(parsed) or _kubelet_fault(signer, wanted, parsed)


def common_name(parsed: x509.CertificateSigningRequest) -> str:
    return next((str(found.value) for found in parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)), "")


def alternative_names(parsed: x509.CertificateSigningRequest) -> x509.SubjectAlternativeName | None:
    found = (extension.value for extension in parsed.extensions)
    return next((value for value in found if isinstance(value, x509.SubjectAlternativeName)), None)


def _subject_fault(parsed: x509.CertificateSigningRequest) -> str:
    organizations = [str(a.value) for a in parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    if organizations != ["system:nodes"]:
        return "subject organization is not system:nodes"
    if not common_name(parsed).startswith("system:node:"):
        return "subject common name does not begin with system:node: "
    return ""


def _kubelet_fault(signer: str, wanted: frozenset[str], parsed: x509.CertificateSigningRequest) -> str:
    allowed = _CLIENT_USAGES if signer == KUBELET_CLIENT else _SERVER_USAGES
    kinds = [_NAMES.get(type(name), "Other") for name in alternative_names(parsed) or ()]
    refused = ("DNS", "Email", "IP", "URI", "Other") if signer == KUBELET_CLIENT else ("Email", "URI", "Other")
    for kind in refused:
        if kind in kinds:
            return f"{kind} subjectAltNames are not allowed"
    if signer == KUBELET_SERVING and not kinds:
        return "DNS or IP subjectAltName is required"
    if wanted not in (allowed, allowed - {"key encipherment"}):
        return f"usages did not match [{' '.join(sorted(allowed))}]"
    return ""
