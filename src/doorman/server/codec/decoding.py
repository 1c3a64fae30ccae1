"""From a body to a clean document of the expected kind, with field validation (Strict, Warn, Ignore)."""

from typing import Final

from doorman.api.kinds import Kind, builtin_kinds
from doorman.api.machinery.decode_errors import DecodeError
from doorman.api.machinery.schema import Schema
from doorman.api.raw_members import RAW_MEMBERS, canonical, read_texts, replaced
from doorman.api.well_known import JSON
from doorman.base.bounds import STRICT_FAULTS_MAX
from doorman.base.errors import ApiError, bad_request, invalid, invalid_object, not_supported
from doorman.base.go_format import quote
from doorman.base.json_types import Document
from doorman.registry.clean_documents import SCHEME, clean_object, kind_mismatch, registered_kinds, tell_problems
from doorman.server.codec.negotiation import YAML
from doorman.server.codec.request_bodies import (
    BodyError,
    as_document,
    check_version_and_kind,
    kindless,
    media_type,
    read_body,
    unreadable,
)
from doorman.server.request import Query

FIELD_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")
_POSTED: Final = {
    "Binding": ("core.v1.Binding", ("v1",)),
    "Eviction": ("policy.v1.Eviction", ("policy/v1", "policy/v1beta1")),
    "Scale": ("autoscaling.v1.Scale", ("autoscaling/v1",)),
    "TokenRequest": ("authentication.v1.TokenRequest", ("authentication.k8s.io/v1",)),
}
"""The type of what is posted to subresources, and the versions it may say it is of."""
_CUSTOM_SCALE: Final = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)


def field_validation(query: Query, options_kind: str) -> str:
    wanted = query.get("fieldValidation")
    if wanted not in FIELD_VALIDATIONS:
        error = not_supported("fieldValidation", wanted, FIELD_VALIDATIONS)
        raise invalid_object(options_kind, "meta.k8s.io", "", [error])
    return wanted or "Warn"


def decode_object(
    schema: Schema, kind: Kind, body: bytes, content_type: str, validation: str, warnings: list[str]
) -> Document:
    """A whole object from a POST or PUT body, structurally clean, as it is stored."""
    try:
        read = read_body(body, content_type)
    except BodyError as error:
        raise unreadable(kind.kind, error, body) from error
    doc = as_document(read, kind.kind, body)
    if (other := other_version(kind, doc)) is not None:
        # It is read as what it says it is, before anybody asks for another version.
        clean_object(schema, other, dict(doc), read, validation, warnings)
    check_kind(schema, kind, doc, body)
    if read.typed is not None and not kind.is_custom:
        doc = read.typed
    said = doc.get("kind")
    cleaned = clean_object(schema, kind, doc, read, validation, warnings)
    if kind.is_custom and said != kind.kind:
        name = (cleaned.get("metadata") or {}).get("name", "")
        raise invalid_object(str(said), kind.group, name, [invalid("kind", said, f"must be {kind.kind}")])
    return _with_texts(kind, cleaned, body, media_type(content_type)) if kind.storage in RAW_MEMBERS else cleaned


def _with_texts(kind: Kind, doc: Document, body: bytes, sent_as: str) -> Document:
    """YAML is made JSON before it is read; protobuf has brought the texts along."""
    if sent_as == YAML:
        return replaced(kind.storage, doc, canonical)
    if sent_as in ("", JSON):
        read_texts(kind.storage, doc, body)
    return doc


def other_version(kind: Kind, doc: Document) -> Kind | None:
    """Of a document that is of another version of the kind than was asked for."""
    api_version, name = doc.get("apiVersion"), doc.get("kind", kind.kind)
    if api_version == kind.group_version or name != kind.kind or kind.is_custom or not isinstance(api_version, str):
        return None
    group, _, version = api_version.rpartition("/")
    return builtin_kinds().at(group, version, kind.resource) if not kind_mismatch(kind, api_version, name) else None


def check_kind(schema: Schema, kind: Kind, doc: Document, raw: bytes) -> None:
    check_version_and_kind(kind.kind, doc, raw)
    if kind.is_custom and not doc.get("kind"):
        raise kindless(kind.kind, raw)
    if kind.is_custom:
        if doc.get("apiVersion") != kind.group_version:
            raise _other_version(doc.get("apiVersion") or "", kind)
        return  # of another kind it is refused as invalid, when it has been read
    api_version, name = doc.get("apiVersion") or kind.group_version, doc.get("kind") or kind.kind
    if (api_version, name) == (kind.group_version, kind.kind):
        return
    head = f'{name} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {kind.kind}: '
    if fault := kind_mismatch(kind, api_version, name):
        raise bad_request(head + (_fault_as_other_kind(schema, doc, api_version, name) or fault))
    raise _other_version(api_version, kind)


def _fault_as_other_kind(schema: Schema, doc: Document, api_version: str, name: str) -> str:
    """It is read as what it says it is before anybody asks whether that is wanted here."""
    group, _, version = api_version.rpartition("/")
    other = builtin_kinds().of_kind(group, version, name)
    if other is not None and other.type_name:
        try:
            schema.clean(doc, other.type_name)
        except DecodeError as error:
            return str(error)
    return ""


def _other_version(found: str, kind: Kind) -> ApiError:
    return bad_request(
        f"the API version in the data ({found}) does not match the expected API version ({kind.group_version})"
    )


def decode_posted(
    schema: Schema,
    kind: str,
    body: bytes,
    content_type: str,
    validation: str,
    warnings: list[str],
    *,
    is_custom: bool = False,
) -> Document:
    """What is sent to a subresource that takes an object of its own: a Binding, an Eviction, a Scale. `is_custom`: of a
    custom kind, of whose scales upstream says one thing, whatever is wrong with them.
    """
    try:
        return _posted(schema, kind, body, content_type, validation, warnings)
    except ApiError as error:
        if is_custom:
            raise bad_request(_CUSTOM_SCALE) from error
        raise


def _posted(
    schema: Schema, kind: str, body: bytes, content_type: str, validation: str, warnings: list[str]
) -> Document:
    try:
        read = read_body(body, content_type)
    except BodyError as error:
        raise unreadable(kind, error, body) from error
    doc = as_document(read, kind, body)
    type_name, versions = _POSTED[kind]
    check_version_and_kind(kind, doc, body)
    api_version, name = doc.get("apiVersion") or versions[0], doc.get("kind") or kind
    group, _, version = api_version.rpartition("/")
    head = f'{name} in version "{version}" cannot be handled as a {kind}: '
    if name != kind or api_version not in versions:
        if (group, version, name) in registered_kinds():
            raise bad_request(
                f"{head}converting ({version}.{name}) to ({type_name.split('.')[0]}.{kind}): unknown conversion"
            )
        shown = f"no kind {quote(name)} is registered for version {quote(api_version)}"
        raise bad_request(f"{head}{shown} in scheme {SCHEME}")
    problems = [] if read.typed is not None else list(read.duplicates)
    try:
        cleaned, unknown = schema.clean(read.typed or doc, type_name)
    except DecodeError as error:
        raise bad_request(head + str(error)) from error
    tell_problems(head, [*problems, *unknown][:STRICT_FAULTS_MAX], validation, warnings)
    return cleaned
