"""Names of signers (`example.com/signer`) and of the trust bundles that belong to them."""

from collections.abc import Callable
from typing import Final

from doorman.base.errors import FieldError, invalid, required, too_long
from doorman.base.go_format import quote
from doorman.semantics.name_syntax import LABEL_BYTES_MAX, SUBDOMAIN_BYTES_MAX, dns_label_faults, subdomain_faults

_FORM: Final = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
_SIGNER_BYTES_MAX: Final = SUBDOMAIN_BYTES_MAX + 1 + SUBDOMAIN_BYTES_MAX + LABEL_BYTES_MAX + 1


def is_kubernetes_signer(name: str) -> bool:
    host = name.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


def signer_name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    parts = name.split("/")
    if len(parts) != 2:
        return [invalid(path, name, _FORM)]
    domain, rest = parts
    errors = [too_long(path, SUBDOMAIN_BYTES_MAX)] if len(domain) > SUBDOMAIN_BYTES_MAX else []
    labels = domain.split(".")
    errors += _first_fault(labels, domain, path, dns_label_faults)
    if len(labels) < 2:
        errors.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    errors += _first_fault(rest.split("."), rest, path, subdomain_faults)
    if len(name) > _SIGNER_BYTES_MAX:
        errors.append(too_long(path, _SIGNER_BYTES_MAX))
    return errors


def _first_fault(labels: list[str], whole: str, path: str, faults_of: Callable[[str], list[str]]) -> list[FieldError]:
    """Only the first label that is wrong is told of."""
    for label in labels:
        if faults := faults_of(label):
            return [invalid(path, whole, f"validating label {quote(label)}: {fault}") for fault in faults]
    return []


def trust_bundle_name_faults(name: str, signer: str | None = None) -> list[str]:
    """`signer`: who signs the bundle, empty when nobody does; None: whoever its name says."""
    if signer is None:
        signer = name.rpartition(":")[0].replace(":", "/")
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return subdomain_faults(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return subdomain_faults(name[len(prefix) :])
