"""Who may do what, as kubectl describes it: ServiceAccounts, roles, their bindings, CertificateSigningRequests."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from cryptography import x509
from cryptography.x509.oid import NameOID

from doorman.base.durations import human_span
from doorman.cli.describe.description import NOTHING, Description, Doc, date, go_list, labels_text, member
from doorman.cli.describe.related_objects import RelatedObjects

_PULL_SECRETS: Final = "Image pull secrets:"
_SUBJECT: Final = (
    ("Organization", NameOID.ORGANIZATION_NAME), ("Organizational Unit", NameOID.ORGANIZATIONAL_UNIT_NAME),
    ("Country", NameOID.COUNTRY_NAME), ("Locality", NameOID.LOCALITY_NAME),
    ("Province", NameOID.STATE_OR_PROVINCE_NAME),
    ("StreetAddress", NameOID.STREET_ADDRESS), ("PostalCode", NameOID.POSTAL_CODE),
)  # fmt: skip
_ALTERNATIVES: Final[Sequence[tuple[str, Any]]] = (  # of cryptography's classes, each with values of its own
    ("DNS Names", x509.DNSName), ("Email Addresses", x509.RFC822Name), ("URIs", x509.UniformResourceIdentifier),
    ("IP Addresses", x509.IPAddress),
)  # fmt: skip


def describe_service_account(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc)
    names = [one.get("name", "") for one in doc.get("imagePullSecrets") or ()] or [NOTHING]
    for number, name in enumerate(names):
        out.line(f"{' ' * len(_PULL_SECRETS) if number else _PULL_SECRETS}\t{name}")


def describe_role(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc, with_namespace=False)
    out.line("PolicyRule:")
    rows = [
        (one.resource_text, go_list(one.urls), go_list(one.names), go_list(one.verbs))
        for one in compact_rules(doc.get("rules") or ())
    ]
    out.table(("Resources", "Non-Resource URLs", "Resource Names", "Verbs"), rows)


def describe_role_binding(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    out.head(doc, with_namespace=False)
    out.line("Role:")
    out.pair("Kind", doc["roleRef"].get("kind", ""), 1)
    out.pair("Name", doc["roleRef"].get("name", ""), 1)
    out.line("Subjects:")
    rows = [(one["kind"], one["name"], one.get("namespace", "")) for one in doc.get("subjects") or ()]
    out.table(("Kind", "Name", "Namespace"), rows)


def describe_signing_request(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    metadata, spec = doc["metadata"], doc["spec"]
    out.pair("Name", metadata["name"])
    out.pair("Labels", labels_text(metadata.get("labels")))
    out.pair("Annotations", labels_text(metadata.get("annotations")))
    out.pair("CreationTimestamp", date(metadata.get("creationTimestamp")))
    out.pair("Requesting User", spec.get("username", ""))
    if spec.get("signerName"):
        out.pair("Signer", spec["signerName"])
    if spec.get("expirationSeconds") is not None:
        out.pair("Requested Duration", human_span(spec["expirationSeconds"]))
    out.pair("Status", signing_status(doc))
    _describe_subject(out, x509.load_pem_x509_csr(base64.b64decode(spec["request"])))


class CompactRule(msgspec.Struct, frozen=True):
    """What may be done with one resource or one object of it, or a verb with a URL."""

    group: str = ""
    resource: str = ""
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()

    @property
    def resource_text(self) -> str:
        """`deployments.apps/scale`"""
        name, sign, part = self.resource.partition("/")
        return f"{name}{f'.{self.group}' if self.group else ''}{sign}{part}"

    @property
    def order(self) -> str:
        """Rules stand in the order of how Go prints them."""
        groups, resources = ((), ()) if self.urls else ((self.group,), (self.resource,))
        return (
            f"&PolicyRule{{Verbs:{go_list(self.verbs)},APIGroups:{go_list(groups)},Resources:{go_list(resources)},"
            f"ResourceNames:{go_list(self.names)},NonResourceURLs:{go_list(self.urls)},}}"
        )


def compact_rules(rules: Sequence[Doc]) -> list[CompactRule]:
    """Rules taken apart to one resource each, and those of one resource put together again.

    >>> rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    >>> [(one.resource_text, one.verbs) for one in compact_rules([rule, {**rule, "verbs": ["list", "get"]}])]
    [('pods', ('get', 'list'))]
    """
    verbs: dict[tuple[str, str, tuple[str, ...]], dict[str, None]] = {}
    urls: list[CompactRule] = []
    for rule in rules:
        for group, resource, names in _parts(rule):
            verbs.setdefault((group, resource, names), {}).update(dict.fromkeys(rule.get("verbs") or ()))
        for url in rule.get("nonResourceURLs") or ():
            urls += [CompactRule(urls=(url,), verbs=(verb,)) for verb in rule.get("verbs") or ()]
    known = [CompactRule(group, resource, names, (), tuple(found)) for (group, resource, names), found in verbs.items()]
    return sorted([*urls, *known], key=lambda one: one.order)


def _parts(rule: Doc) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    names: list[tuple[str, ...]] = [(name,) for name in rule.get("resourceNames") or ()] or [()]
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for name in names:
                yield group, resource, name


def signing_status(doc: Doc) -> str:
    """
    >>> signing_status({"status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="}}), signing_status({})
    ('Approved,Issued', 'Pending')
    """
    types = [one["type"] for one in member(doc, "status", "conditions") or ()]
    decided = next((word for word in ("Denied", "Approved") if word in types), "Pending")
    failed = ",Failed" if "Failed" in types else ""
    return decided + failed + (",Issued" if member(doc, "status", "certificate") else "")


def _describe_subject(out: Description, request: x509.CertificateSigningRequest) -> None:
    subject = {
        oid: [str(one.value) for one in request.subject.get_attributes_for_oid(oid)]
        for oid in (NameOID.COMMON_NAME, NameOID.SERIAL_NUMBER, *(oid for _, oid in _SUBJECT))
    }
    out.line("Subject:")
    out.line(f"\tCommon Name:\t{''.join(subject[NameOID.COMMON_NAME][-1:])}")
    out.line(f"\tSerial Number:\t{''.join(subject[NameOID.SERIAL_NUMBER][-1:])}")
    for title, oid in _SUBJECT:
        _describe_values(out, title, subject[oid])
    try:
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return
    out.line("Subject Alternative Names:")
    for title, kind in _ALTERNATIVES:
        _describe_values(out, title, [str(value) for value in names.get_values_for_type(kind)])


def _describe_values(out: Description, title: str, values: Sequence[str]) -> None:
    for number, value in enumerate(values):
        out.line(f"\t\t{value}" if number else f"\t{title}:\t{value}")
