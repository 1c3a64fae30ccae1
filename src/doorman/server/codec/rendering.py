"""Objects, lists and watch events as bytes, in the form that was negotiated.

The plain JSON forms join kept bytes and encode nothing. Other forms (tables, metadata only, YAML, indented) and the
versions that look different from what is stored decode first.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind
from doorman.api.machinery.conversion import from_stored
from doorman.api.well_known import JSON, META_V1
from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.registry.cache.stored_object import ITEM_HEAD, Stored, head_of
from doorman.server.codec.list_bodies import Form, ListBody, ListPage, list_pieces
from doorman.server.codec.negotiation import YAML, Accepted, unusable_for_list, unusable_for_object
from doorman.server.codec.yaml_output import to_yaml
from doorman.server.request import Response
from doorman.server.tables import ROW_KEYS, metadata_alone, table_of

AT_ONCE_MAX: Final = 100
"""Items of a list that are made at once."""
_encode: Final = msgspec.json.Encoder().encode


@lru_cache(maxsize=4096)
def _head(group: str, version: str, kind: str) -> bytes:
    return head_of(kind, f"{group}/{version}" if group else version)


def document_of(kind: Kind, stored: Stored) -> Document:
    """The whole document as this kind shows it."""
    doc = from_stored(kind.conversion, stored.document())
    return {"kind": kind.kind, "apiVersion": kind.group_version, **doc}


def object_bytes(kind: Kind, stored: Stored) -> bytes:
    if kind.conversion:
        return _encode(document_of(kind, stored))
    return stored.json(_head(kind.group, kind.version, kind.kind))


class Renderer(msgspec.Struct):
    """One request's way of writing."""

    accepted: Accepted
    pretty: bool
    include_object: str
    now: Instant
    is_first_event: bool = True

    def one(self, kind: Kind, stored: Stored, *, status: int = 200) -> Response:
        match self.accepted.conversion:
            case "":
                if self._is_plain():
                    return Response(status=status, body=object_bytes(kind, stored))
                return self._document(document_of(kind, stored), status)
            case "Table":
                return self._document(self._table(kind, [stored.document()], _object_meta(stored)), status)
            case "PartialObjectMetadata":
                return self._document(_partial(kind, document_of(kind, stored)), status)
            case other:
                raise unusable_for_object(other, kind)

    def page(self, kind: Kind, page: ListPage) -> Response:
        match self.accepted.conversion:
            case "":
                if self._is_plain() and not kind.conversion:
                    return _list(kind, page)
                items = (_item(kind, document_of(kind, stored)) for stored in page.items)
                head = {
                    "kind": f"{kind.kind}List",
                    "apiVersion": kind.group_version,
                    "metadata": _list_meta(page, kind),
                }
                return self._made(head, "items", items, len(page.items))
            case "Table":
                table = self._table(kind, [], _list_meta(page))
                table.pop("rows")
                shown, key = page.items, ROW_KEYS.get(kind.storage)
                if key is not None:
                    shown = sorted(shown, key=lambda stored: key(stored.document()))
                rows = (self._table(kind, [stored.document()], {})["rows"][0] for stored in shown)
                return self._made(table, "rows", rows, len(shown))
            case "PartialObjectMetadataList":
                items = (_partial(kind, document_of(kind, stored)) for stored in page.items)
                head = {"kind": "PartialObjectMetadataList", "apiVersion": META_V1, "metadata": _list_meta(page)}
                return self._made(head, "items", items, len(page.items))
            case other:
                raise unusable_for_list(other, kind)

    def documents(self, kind: Kind, docs: list[Document]) -> Response:
        """A list of objects that are not stored."""
        metadata: Document = {"resourceVersion": "0"}
        if self.accepted.conversion == "Table":
            return self._document(self._table(kind, docs, metadata))
        return self._document(
            {"kind": f"{kind.kind}List", "apiVersion": kind.group_version, "metadata": metadata, "items": docs}
        )

    def computed(self, kind: Kind, doc: Document) -> Response:
        """One object that is not stored."""
        if self.accepted.conversion == "Table":
            return self._document(self._table(kind, [doc], {"resourceVersion": "0"}))
        return self._document(doc)

    def document(self, doc: Any, *, status: int = 200) -> Response:  # any JSON value
        """An answer that is no stored object."""
        return self._document(doc, status)

    @property
    def tells_all_alike(self) -> bool:
        """Whether a line of a watch is the same for everybody who follows the kind."""
        return not self.accepted.conversion

    def event(self, kind: Kind, type_: str, stored: Stored) -> bytes:
        """One line of a watch."""
        if not self.accepted.conversion:
            return b'{"type":"%s","object":%s}\n' % (type_.encode(), object_bytes(kind, stored))
        if self.accepted.conversion == "Table":
            table = self._table(kind, [stored.document()], _object_meta(stored))
            if not self.is_first_event:
                table["columnDefinitions"] = None
            self.is_first_event = False
            return _line(type_, table)
        return _line(type_, _partial(kind, document_of(kind, stored)))

    def bookmark(self, kind: Kind, revision: int, *, ends_initial_events: bool = False) -> bytes:
        metadata: Document = {"resourceVersion": str(revision), "creationTimestamp": None}
        if ends_initial_events:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        doc: Document = {"kind": kind.kind, "apiVersion": kind.group_version, "metadata": metadata}
        if self.accepted.conversion == "Table":
            row = {"cells": [], "object": _partial(kind, doc)}
            table = {
                "kind": "Table",
                "apiVersion": f"meta.k8s.io/{self.accepted.conversion_version or 'v1'}",
                "metadata": {"resourceVersion": str(revision)},
                "columnDefinitions": None,
                "rows": [row],
            }
            return _line("BOOKMARK", table)
        if self.accepted.conversion:
            doc = _partial(kind, doc)
        return _line("BOOKMARK", doc)

    def _made(self, head: Document, member: str, items: Iterable[Document], count: int) -> Response:
        """A list whose items are made for this answer: a short one at once, a long one while it is written."""
        is_yaml = self.accepted.media_type == YAML
        form = Form.YAML if is_yaml else Form.INDENTED if self._is_indented else Form.COMPACT
        pieces = list_pieces(head, member, items, form)
        content_type = YAML if is_yaml else JSON
        if count <= AT_ONCE_MAX:
            return Response(content_type=content_type, body=b"".join(pieces))
        return Response(content_type=content_type, chunks=pieces)

    def _is_plain(self) -> bool:
        return self.accepted.media_type == JSON and not self._is_indented

    @property
    def _is_indented(self) -> bool:
        return self.pretty or self.accepted.pretty

    def _table(self, kind: Kind, docs: list[Document], metadata: Document) -> Document:
        return table_of(
            kind,
            docs,
            metadata,
            version=self.accepted.conversion_version or "v1",
            include_object=self.include_object,
            now=self.now,
        )

    def _document(self, doc: Any, status: int = 200) -> Response:
        if self.accepted.media_type == YAML:
            return Response(status=status, content_type=YAML, body=to_yaml(doc))
        body = _encode(doc)
        return Response(status=status, body=msgspec.json.format(body, indent=2) + b"\n" if self._is_indented else body)


def _list(kind: Kind, page: ListPage) -> Response:
    head = b'{"kind":"%sList","apiVersion":"%s","metadata":%s,"items":[' % (
        kind.kind.encode(),
        kind.group_version.encode(),
        _encode(_list_meta(page, kind)),
    )
    # Upstream keeps custom objects as they were written, and so each says what it is also in a list.
    item_head = head_of(kind.kind, kind.group_version) if kind.is_custom else ITEM_HEAD
    body = ListBody(head, page.items, item_head)
    return Response(chunks=body, length=body.length)


def _list_meta(page: ListPage, kind: Kind | None = None) -> Document:
    """Lists of a custom kind always say where they go on."""
    metadata: Document = {"resourceVersion": str(page.revision)}
    if page.continue_token or (kind is not None and kind.is_custom):
        metadata["continue"] = page.continue_token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def _object_meta(stored: Stored) -> Document:
    return {"resourceVersion": str(stored.revision)} if stored.revision else {}  # a dry run gives it none


def _item(kind: Kind, doc: Document) -> Document:
    if kind.is_custom:
        return doc
    return {name: value for name, value in doc.items() if name not in ("kind", "apiVersion")}


def _partial(kind: Kind, doc: Document) -> Document:
    return {"kind": "PartialObjectMetadata", "apiVersion": META_V1, "metadata": metadata_alone(kind, doc)}


def _line(type_: str, doc: Document) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (type_.encode(), _encode(doc))
