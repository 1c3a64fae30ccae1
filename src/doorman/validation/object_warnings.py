"""What is accepted with a warning of kinds that say little: one function a kind, for the table in `warnings`."""

import base64
import re
from typing import Final

from doorman.api.well_known import INGRESS_CLASS_ANNOTATION
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.semantics.addresses import cidr_warnings, ip_warnings
from doorman.semantics.name_syntax import dns_label_faults
from doorman.validation.metadata import STANDARD_FINALIZERS
from doorman.validation.pods.pod_warnings import claim_warnings, label_warning

_PEM_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s.*?-----END \1-----", re.DOTALL)
_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"


def node(doc: Document, _old: Document | None) -> list[str]:
    spec = doc.get("spec") or {}
    found = ["spec.configSource: the feature is removed"] if spec.get("configSource") is not None else []
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, text in enumerate(spec.get("podCIDRs") or ()):
        found += cidr_warnings(text, f"spec.podCIDRs[{index}]")
    return found


def secret(doc: Document, _old: Document | None) -> list[str]:
    """Whether there is a certificate and a key at all where they are to be."""
    if doc.get("type") != "kubernetes.io/tls":
        return []
    data = doc.get("data") or {}
    for name, what, is_wanted in (
        ("tls.crt", "certificate", lambda kind: kind == b"CERTIFICATE"),
        ("tls.key", "key", lambda kind: kind == b"PRIVATE KEY" or kind.endswith(b" PRIVATE KEY")),
    ):
        kinds = [found[1] for found in _PEM_BLOCK.finditer(base64.b64decode(data.get(name) or ""))]
        if not kinds:
            return [f"tls: failed to find any PEM data in {what} input"]
        if not any(map(is_wanted, kinds)):
            wanted = (
                '"CERTIFICATE" PEM block' if what == "certificate" else 'PEM block with type ending in "PRIVATE KEY"'
            )
            skipped = " ".join(kind.decode() for kind in kinds)
            after = f"after skipping PEM blocks of the following types: [{skipped}]"
            return [f"tls: failed to find {wanted} in {what} input {after}"]
    return []


def ingress(doc: Document, old: Document | None) -> list[str]:
    is_old_way = INGRESS_CLASS_ANNOTATION in (doc["metadata"].get("annotations") or {})
    if old is not None or not is_old_way or (doc.get("spec") or {}).get("ingressClassName") is not None:
        return []
    return [f"annotation {quote(INGRESS_CLASS_ANNOTATION)} is deprecated, please use 'spec.ingressClassName' instead"]


def network_policy(doc: Document, _old: Document | None) -> list[str]:
    found: list[str] = []
    spec = doc.get("spec") or {}
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            for place, peer in enumerate(rule.get(peers) or ()):
                block, path = peer.get("ipBlock"), f"spec.{direction}[{index}].{peers}[{place}].ipBlock"
                if block is None:
                    continue
                found += cidr_warnings(block.get("cidr") or "", f"{path}.cidr")
                for number, text in enumerate(block.get("except") or ()):
                    found += cidr_warnings(text, f"{path}.except[{number}]")
    return found


def endpoints(doc: Document, _old: Document | None) -> list[str]:
    return [
        warning
        for index, subset in enumerate(doc.get("subsets") or ())
        for member in ("addresses", "notReadyAddresses")
        for place, address in enumerate(subset.get(member) or ())
        for warning in ip_warnings(address.get("ip") or "", f"subsets[{index}].{member}[{place}].ip")
    ]


def runtime_class(doc: Document, _old: Document | None) -> list[str]:
    selector = (doc.get("scheduling") or {}).get("nodeSelector") or {}
    return [f"scheduling.nodeSelector: {text}" for key in selector if (text := label_warning(key))]


def service_account(doc: Document, old: Document | None) -> list[str]:
    if old is not None and _MOUNTABLE in (old["metadata"].get("annotations") or {}):
        return []
    text = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    is_set = _MOUNTABLE in (doc["metadata"].get("annotations") or {})
    return [f"metadata.annotations[{_MOUNTABLE}]: {text}"] if is_set else []


def stateful_set(doc: Document, old: Document | None) -> list[str]:
    """Besides its template's."""
    spec, found = doc.get("spec") or {}, []
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        path = f"spec.volumeClaimTemplates[{index}]" + (".Spec" if old is not None else "")
        found += claim_warnings(claim.get("spec") or {}, path)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        found.append(f"spec.revisionHistoryLimit: {text}")
    return found


def pod_name_base(doc: Document, old: Document | None) -> list[str]:
    """The name of who makes pods is part of their host names."""
    faults = dns_label_faults(doc["metadata"].get("name") or "") if old is None else []
    text = (
        "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended"
    )
    return [f"metadata.name: {text}: [{' '.join(faults)}]"] if faults else []


def custom_object(doc: Document, old: Document | None) -> list[str]:
    """Finalizers that it did not have, whose names others may use, too."""
    before = ((old or {}).get("metadata") or {}).get("finalizers") or ()
    found = []
    for name in dict.fromkeys(doc["metadata"].get("finalizers") or ()):
        if name not in before and "/" not in name and name not in STANDARD_FINALIZERS:
            better = "finalizer name including a path (/)" if "." in name else "finalizer name"
            text = f"prefer a domain-qualified {better} to avoid accidental conflicts with other finalizer writers"
            found.append(f"metadata.finalizers: {quote(name)}: {text}")
    return found
