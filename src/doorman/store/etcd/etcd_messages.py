"""The messages of etcd's API that are used, under the names and numbers that etcd publishes.

Declared here instead of generated: it is a page, and nothing has to be compiled. A member that is not named is one
nobody here asks for; protobuf passes over it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "etcdserverpb"
_TYPES: Final = {"bytes": 12, "string": 9, "int64": 3, "uint64": 4, "bool": 8, "enum": 5}
"""Numbers of protobuf's types. An enum is as good as an int32 on the wire."""

_DECLARED: Final[Mapping[str, str]] = {
    "ResponseHeader": "cluster_id=1 uint64, member_id=2 uint64, revision=3 int64",
    "KeyValue": "key=1 bytes, create_revision=2 int64, mod_revision=3 int64, version=4 int64, value=5 bytes, "
    "lease=6 int64",
    "Event": "type=1 enum, kv=2 KeyValue, prev_kv=3 KeyValue",
    "RangeRequest": "key=1 bytes, range_end=2 bytes, limit=3 int64, revision=4 int64, serializable=7 bool, "
    "keys_only=8 bool, count_only=9 bool, min_mod_revision=10 int64",
    "RangeResponse": "header=1 ResponseHeader, kvs=2 KeyValue*, more=3 bool, count=4 int64",
    "PutRequest": "key=1 bytes, value=2 bytes, lease=3 int64",
    "PutResponse": "header=1 ResponseHeader",
    "DeleteRangeRequest": "key=1 bytes, range_end=2 bytes",
    "DeleteRangeResponse": "header=1 ResponseHeader, deleted=2 int64",
    "RequestOp": "request_range=1 RangeRequest, request_put=2 PutRequest, request_delete_range=3 DeleteRangeRequest",
    "ResponseOp": "response_range=1 RangeResponse, response_put=2 PutResponse, "
    "response_delete_range=3 DeleteRangeResponse",
    "Compare": "result=1 enum, target=2 enum, key=3 bytes, version=4 int64?, mod_revision=6 int64?",
    "TxnRequest": "compare=1 Compare*, success=2 RequestOp*, failure=3 RequestOp*",
    "TxnResponse": "header=1 ResponseHeader, succeeded=2 bool, responses=3 ResponseOp*",
    "CompactionRequest": "revision=1 int64, physical=2 bool",
    "CompactionResponse": "header=1 ResponseHeader",
    "WatchRequest": "create_request=1 WatchCreateRequest, progress_request=3 WatchProgressRequest",
    "WatchCreateRequest": "key=1 bytes, range_end=2 bytes, start_revision=3 int64, progress_notify=4 bool, "
    "prev_kv=6 bool, fragment=8 bool",
    "WatchProgressRequest": "",
    "WatchResponse": "header=1 ResponseHeader, created=3 bool, canceled=4 bool, compact_revision=5 int64, "
    "cancel_reason=6 string, fragment=7 bool, events=11 Event*",
    "LeaseGrantRequest": "TTL=1 int64, ID=2 int64",
    "LeaseGrantResponse": "header=1 ResponseHeader, ID=2 int64, TTL=3 int64, error=4 string",
    "StatusRequest": "",
    "StatusResponse": "header=1 ResponseHeader, version=2 string, dbSize=3 int64, leader=4 uint64",
}
"""By message: its members, `name=number type`; `*` says many, `?` that zero is told from nothing."""

PUT: Final = 0
DELETE: Final = 1
"""Types of an Event."""

EQUAL: Final = 0
BY_VERSION: Final = 0
BY_MOD_REVISION: Final = 2
"""A Compare's result and targets."""


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="doorman/etcd.proto", package=_PACKAGE, syntax="proto3")
    for name, members in _DECLARED.items():
        message = file.message_type.add(name=name)
        for member in filter(None, members.split(", ")):
            label, kind = member.rsplit(" ", 1)
            field_name, number = label.split("=")
            field = message.field.add(name=field_name, number=int(number), label=3 if kind.endswith("*") else 1)
            plain = kind.rstrip("*?")
            if plain in _TYPES:
                field.type = _TYPES[plain]  # type: ignore[assignment]  # the stubs have names for the numbers
            else:
                field.type, field.type_name = 11, f".{_PACKAGE}.{plain}"  # type: ignore[assignment]
            if kind.endswith("?"):
                message.oneof_decl.add(name=f"_{field_name}")
                field.oneof_index, field.proto3_optional = len(message.oneof_decl) - 1, True
    return file


def _classes() -> Mapping[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _DECLARED
    }


MESSAGES: Final[Mapping[str, Any]] = _classes()
"""Message classes by name, made of the declarations: no type checker can know their members."""


def swap_request(
    key: bytes, value: bytes | None, expected: int, lease: int, beside: Sequence[tuple[bytes, bytes, int]] = ()
) -> bytes:
    """A TxnRequest, encoded: if the key is at that revision put it, or delete it, else read it. Every write is one of
    these; put together of its parts it takes a third of the time that message objects take. A part begins with its
    number times eight and 2 (a length follows) or 0 (a number does). What is beside is compared and put as well.
    """
    named = _sized(key) + key
    compare, write = _compare(named, expected), _write(named, value, lease)
    read = b"\x0a%s\x0a%s\x18\x01" % (_varint(len(named) + 3), named)
    for other, content, revision in beside:
        named = _sized(other) + other
        compare += _compare(named, revision)
        write += _write(named, content, 0)
    return b"%s%s\x1a%s%s" % (compare, write, _sized(read), read)


def _compare(named: bytes, expected: int) -> bytes:
    one = b"\x10%c\x1a%s\x30%s" % (BY_MOD_REVISION, named, _varint(expected))
    return b"\x0a%s%s" % (_sized(one), one)


def _write(named: bytes, value: bytes | None, lease: int) -> bytes:
    if value is None:
        one = b"\x1a%s\x0a%s" % (_varint(len(named) + 1), named)
    else:
        put = b"\x0a%s\x12%s%s" % (named, _sized(value), value)
        if lease:
            put += b"\x18" + _varint(lease)
        one = b"\x12%s%s" % (_sized(put), put)
    return b"\x12%s%s" % (_sized(one), one)


def _sized(content: bytes) -> bytes:
    """What stands before it: how long it is."""
    return _varint(len(content))


def _varint(number: int) -> bytes:
    """
    >>> _varint(5), _varint(300), _varint(70_000)
    (b'\\x05', b'\\xac\\x02', b'\\xf0\\xa2\\x04')
    """
    if number < 0x80:
        return b"%c" % number
    if number < 0x4000:
        return b"%c%c" % (number & 0x7F | 0x80, number >> 7)
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
