"""An object's kept bytes cut into parts, so that a write reads and makes only those it is about.

The server's own writes (a binding, the mark of a deletion, a condition, an allocation) change a few members of an
object and leave its spec and the bookkeeping of field owners, most of the bytes, as they are. `ObjectBytes` holds those
as bytes, unread:

    {"metadata":{"name":"a","generation":1,"managedFields":[ . . . ]},"spec":{ . . . },"status":{"phase":"Pending"}}
                 read                                       unread           unread            read when asked for
"""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from doorman.registry.cache.stored_object import ITEM_HEAD, Stored, Unreadable

NOTHING: Final = Raw(b"")


class MetadataBytes(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Everything metadata can have. The uid stands before owners, which have uids of their own."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int | UnsetType = UNSET
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int | UnsetType = UNSET
    generate_name: Raw = NOTHING
    namespace: Raw = NOTHING
    creation_timestamp: Raw = NOTHING
    self_link: Raw = NOTHING
    labels: Raw = NOTHING
    annotations: Raw = NOTHING
    owner_references: Raw = NOTHING
    finalizers: Raw = NOTHING
    managed_fields: Raw = NOTHING


class ObjectBytes(msgspec.Struct, forbid_unknown_fields=True):
    """Of a kind that has nothing but these three members."""

    metadata: MetadataBytes
    spec: Raw = NOTHING
    status: Raw = NOTHING

    def kept(self) -> bytes:
        """The kept form (see `doorman.registry.cache.stored_object`)."""
        self.metadata.resource_version = ""
        parts = [encode(self.metadata)[1:]]
        for name, part in ((b',"spec":', self.spec), (b',"status":', self.status)):
            if part is not NOTHING:
                parts += (name, part)
        parts.append(b"}")
        return b"".join(parts)


encode: Final = msgspec.json.Encoder().encode

_decode: Final = msgspec.json.Decoder(ObjectBytes).decode
_decode_any: Final = msgspec.json.Decoder().decode


def object_bytes_of(stored: Stored) -> ObjectBytes:
    try:
        return _decode(stored.json(ITEM_HEAD))
    except (msgspec.MsgspecError, ValueError) as error:
        raise Unreadable(stored.key, error) from error


def read(part: Raw, empty: Any) -> Any:  # any JSON value
    """What a part says; `empty` when the object does not have it."""
    return _decode_any(part) if part is not NOTHING else empty


def written(value: Any) -> Raw:  # any JSON value
    return Raw(encode(value))
