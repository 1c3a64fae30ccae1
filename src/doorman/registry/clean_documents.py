"""From what was sent to a clean document of the expected kind, with field validation (Strict, Warn, Ignore)."""

from functools import cache
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, builtin_kinds, go_package
from doorman.api.machinery.conversion import to_stored
from doorman.api.machinery.decode_errors import DecodeError
from doorman.api.machinery.schema import Schema
from doorman.base.bounds import STRICT_FAULTS_MAX
from doorman.base.errors import bad_request
from doorman.base.go_format import quote
from doorman.base.json_types import Document

SCHEME: Final = '"pkg/api/legacyscheme/scheme.go:30"'
"""Where Kubernetes declares its table of types: its messages say so."""
_OWN_SCHEMES: Final = {
    "apiextensions.k8s.io": '"k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:56"',
    "apiregistration.k8s.io": '"k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28"',
}
"""Groups that servers of their own serve, which know no other group's types."""
_UNSERVED: Final = {
    "ControllerRevision": ("apps/v1beta1", "apps/v1beta2"),
    "CronJob": ("batch/v1beta1",),
    "DaemonSet": ("apps/v1beta2", "extensions/v1beta1"),
    "Deployment": ("apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"),
    "Event": ("events.k8s.io/v1beta1",),
    "Lease": ("coordination.k8s.io/v1beta1",),
    "PodDisruptionBudget": ("policy/v1beta1",),
    "PriorityClass": ("scheduling.k8s.io/v1alpha1", "scheduling.k8s.io/v1beta1"),
    "ReplicaSet": ("apps/v1beta2", "extensions/v1beta1"),
    "RuntimeClass": ("node.k8s.io/v1alpha1", "node.k8s.io/v1beta1"),
    "StatefulSet": ("apps/v1beta1", "apps/v1beta2"),
}
"""Versions that Kubernetes still knows but no longer serves."""


_SAME_INSIDE: Final = {"Event": ("", "events.k8s.io")}
"""Kinds that are the same in two groups, but for how they are written."""


class Body(msgspec.Struct, frozen=True):
    value: Any  # any JSON value
    duplicates: tuple[str, ...] = ()
    """In words, which members occur twice."""
    typed: Any = None
    """Of a body in which members occur twice: what a decoder that knows the types makes of it."""


def kind_mismatch(kind: Kind, api_version: str, name: str) -> str:
    """Why something of this version and kind cannot become an object of that kind; empty: it can."""
    group, _, version = api_version.rpartition("/")
    is_registered = (group, version, name) in registered_kinds() or api_version in _UNSERVED.get(name, ())
    if kind.is_custom or not is_registered or (kind.group in _OWN_SCHEMES and group != kind.group):
        scheme = scheme_of(kind.group)
        return f"no kind {quote(name)} is registered for version {quote(api_version)} in scheme {scheme}"
    if name != kind.kind or group not in (kind.group, "extensions", *_SAME_INSIDE.get(name, ())):
        return f"converting ({version}.{name}) to ({go_package(kind)}.{kind.kind}): unknown conversion"
    return ""


def scheme_of(group: str) -> str:
    return _OWN_SCHEMES.get(group, SCHEME)


def clean_object(
    schema: Schema, kind: Kind, doc: Document, body: Body, validation: str, warnings: list[str]
) -> Document:
    # A decoder that knows the types tells what occurs twice as it meets it, among the unknown fields.
    problems = [] if doc is body.typed else list(body.duplicates)
    is_reset = resets_owners(doc)
    if kind.type_name:
        try:
            doc, unknown = schema.clean(doc, kind.type_name)
        except DecodeError as error:
            raise bad_request(_head(kind) + str(error)) from error
        problems += unknown
    if problems:
        tell_problems(_head(kind), problems if kind.is_custom else problems[:STRICT_FAULTS_MAX], validation, warnings)
    doc.pop("kind", None)
    doc.pop("apiVersion", None)
    if is_reset:
        doc = with_owners_reset(doc)
    return to_stored(kind.conversion, doc) if kind.conversion else doc


def resets_owners(doc: Document) -> bool:
    """An empty list of field owners means that nobody is to own anything; it is not one that was left out."""
    metadata = doc.get("metadata")
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


def with_owners_reset(doc: Document) -> Document:
    return {**doc, "metadata": {**doc["metadata"], "managedFields": [{}]}}


def _head(kind: Kind) -> str:
    return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '


def tell_problems(head: str, problems: list[str], validation: str, warnings: list[str]) -> None:
    if problems and validation == "Strict":
        raise bad_request(f"{head}strict decoding error: {', '.join(problems)}")
    if problems and validation == "Warn":
        warnings += problems


@cache
def registered_kinds() -> frozenset[tuple[str, str, str]]:
    kinds = frozenset((row.group, row.version, row.kind) for row in builtin_kinds().rows)
    lists = ((row.group, row.version, f"{row.kind}List") for row in builtin_kinds().rows if "list" in row.verbs)
    return kinds.union(lists)
