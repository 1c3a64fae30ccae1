"""How large an object may be: as large as etcd takes it from Kubernetes.

Kubernetes stores what it knows as protobuf and custom objects as JSON; here all is JSON, which is never much shorter.
So what is within the bound as JSON is within it, and only what is beyond is looked at more closely.
"""

from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind
from doorman.base.bounds import SENT_BYTES_MAX, STORED_BYTES_MAX
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.registry.cache.stored_object import to_kept_bytes

_decode: Final = msgspec.json.Decoder().decode

_MEMBER_BYTES: Final = 4
"""Of protobuf, about: what a member or element takes besides its text, a tag and a length."""


def kept_within_bounds(kind: Kind, doc: Document, *, is_apply: bool = False) -> bytes:
    """The kept bytes of a document, as `bounded` lets them be stored."""
    value = to_kept_bytes(doc)
    return value if len(value) <= STORED_BYTES_MAX else _within_bounds(kind, doc, value, is_apply=is_apply)


def bounded(kind: Kind, value: bytes, *, is_apply: bool = False) -> bytes:
    """The kept bytes to store: those given; or without managedFields, if the object fits then. Raises as etcd does.

    Who applies is owed the managedFields.
    """
    if len(value) <= STORED_BYTES_MAX:
        return value
    return _within_bounds(kind, _decode(b'{"metadata":{' + value), value, is_apply=is_apply)


def _within_bounds(kind: Kind, doc: Document, value: bytes, *, is_apply: bool) -> bytes:
    size = _size(kind, doc, value)
    if size <= STORED_BYTES_MAX:
        return value
    metadata: Document = dict(doc["metadata"])
    if metadata.pop("managedFields", None) is None or is_apply:
        raise too_large_to_store(size)
    doc = {**doc, "metadata": metadata}
    value = to_kept_bytes(doc)
    size = _size(kind, doc, value)
    if size > STORED_BYTES_MAX:
        raise too_large_to_store(size)
    return value


def _size(kind: Kind, doc: Document, value: bytes) -> int:
    return len(value) if kind.is_custom else _protobuf_bytes(doc)


def _protobuf_bytes(doc: Document) -> int:
    """About how long the object is as protobuf: texts as they are. Without recursion, however deep it is."""
    size = 0
    level: list[Any] = [doc]  # any JSON values
    while level:
        below: list[Any] = []
        for value in level:
            if isinstance(value, str):
                size += len(value.encode()) + _MEMBER_BYTES
            elif isinstance(value, dict):
                size += sum(map(len, value)) + _MEMBER_BYTES
                below += value.values()
            elif isinstance(value, list):
                below += value
            else:
                size += _MEMBER_BYTES
        level = below
    return size


def too_large_to_store(size: int) -> ApiError:
    if size > SENT_BYTES_MAX:
        limit = f"trying to send message larger than max ({size} vs. {SENT_BYTES_MAX})"
        return ApiError(500, "", f"rpc error: code = ResourceExhausted desc = {limit}")
    return ApiError(500, "", "etcdserver: request is too large")
