"""From a body to a clean document of the expected kind, with field validation (Strict, Warn, Ignore)."""

from functools import cache
from typing import Final

from doorman.api.faces import to_stored
from doorman.api.kinds import Kind, builtin_kinds
from doorman.api.schema import DecodeError, Document, Schema
from doorman.base.errors import bad_request, invalid_object, not_supported
from doorman.base.gotext import quote
from doorman.server.bodies import Body, BodyError, as_document, read_body, unrecognized
from doorman.server.negotiation import go_package
from doorman.server.request import Query

_VALIDATIONS: Final = ("", "Ignore", "Warn", "Strict")
_SCHEME: Final = '"pkg/api/legacyscheme/scheme.go:30"'
"""Where Kubernetes declares its table of types: its messages say so."""


def field_validation(query: Query, options_kind: str) -> str:
    wanted = query.get("fieldValidation")
    if wanted not in _VALIDATIONS:
        error = not_supported("fieldValidation", wanted, _VALIDATIONS)
        raise invalid_object(options_kind, "meta.k8s.io", "", [error])
    return wanted or "Warn"


def decode_object(
    schema: Schema, kind: Kind, body: bytes, content_type: str, validation: str, warnings: list[str]
) -> Document:
    """A whole object from a POST or PUT body, structurally clean, in the stored face."""
    try:
        read = read_body(body, content_type)
    except BodyError as error:
        raise unrecognized(kind.kind, str(error), body) from error
    doc = as_document(read, kind.kind, body)
    check_kind(kind, doc)
    return clean_object(schema, kind, doc, read, validation, warnings)


def check_kind(kind: Kind, doc: Document) -> None:
    api_version, name = doc.get("apiVersion", ""), doc.get("kind", "")
    if not isinstance(api_version, str) or not isinstance(name, str):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get version/kind; "
            "json parse error: json: cannot unmarshal into Go struct field .kind of type string"
        )
    if name and name != kind.kind:
        group, _, version = api_version.rpartition("/")
        head = f'{name} in version "{version}" cannot be handled as a {kind.kind}: '
        if api_version and (group, version, name) not in _registered():
            shown = quote(api_version)
            raise bad_request(f"{head}no kind {quote(name)} is registered for version {shown} in scheme {_SCHEME}")
        raise bad_request(
            f"{head}converting ({version or kind.version}.{name}) to ({go_package(kind)}.{kind.kind}): "
            "unknown conversion"
        )
    if api_version and api_version != kind.group_version:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match "
            f"the expected API version ({kind.group_version})"
        )


def clean_object(
    schema: Schema, kind: Kind, doc: Document, read: Body, validation: str, warnings: list[str]
) -> Document:
    head = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
    problems = [f'duplicate field "{path}"' for path in read.duplicates]
    if kind.type_name:
        try:
            doc, unknown = schema.clean(doc, kind.type_name)
        except DecodeError as error:
            raise bad_request(head + str(error)) from error
        problems += unknown
    if problems:
        if validation == "Strict":
            raise bad_request(f"{head}strict decoding error: {', '.join(problems)}")
        if validation == "Warn":
            warnings += problems
    doc.pop("kind", None)
    doc.pop("apiVersion", None)
    return to_stored(kind.face, doc)


@cache
def _registered() -> frozenset[tuple[str, str, str]]:
    return frozenset((row.group, row.version, row.kind) for row in builtin_kinds().rows)
