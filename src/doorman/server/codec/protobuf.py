"""Protobuf request bodies, as Go clients send them. Answers are always JSON.

A body is the four bytes `k8s\\0`, then an envelope with the object's version, kind and bytes. The `protobuf` library
reads the messages from descriptors made of `data/protobuf.json`, which has the field numbers of every kind; they are
made when the first such body arrives. Go writes members that are zero: what JSON would leave out is left out by the
structural check that follows.
"""

import base64
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message

from doorman.api.kinds import builtin_kinds, data_file
from doorman.api.raw_members import raw_object
from doorman.base.instants import to_micro_time, to_time
from doorman.base.json_types import Document

MAGIC: Final = b"k8s\x00"
_SECONDS_MIN, _SECONDS_MAX = -62_135_596_800, 253_402_300_799
"""From the year 1 to the end of 9999."""

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    "string": _Field.TYPE_STRING, "int32": _Field.TYPE_INT32, "int64": _Field.TYPE_INT64, "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES, "double": _Field.TYPE_DOUBLE,
}  # fmt: skip
_SHORT_GROUPS: Final = {"": "core", "rbac.authorization.k8s.io": "rbac", "flowcontrol.apiserver.k8s.io": "flowcontrol"}
_OPTIONS: Final = frozenset(
    ("DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "ListOptions", "GetOptions", "Status")
)
"""These travel under the client's own group version and use meta/v1 messages all the same."""


class ProtobufError(ValueError):
    """The body is no protobuf message of a known kind."""


def decode_protobuf(body: bytes) -> Document:
    """The object in its JSON form, with apiVersion and kind."""
    if not body.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    envelope = _parse("runtime.Unknown", body[len(MAGIC) :])
    head = _converted(envelope).get("typeMeta", {})
    api_version, kind = head.get("apiVersion", ""), head.get("kind", "")
    name = _message_name(api_version, kind)
    if name not in _table()["messages"]:
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    try:
        doc: Document = _converted(_parse(name, envelope.raw))
    except (msgspec.DecodeError, ValueError) as error:
        # A time beyond the calendar, or JSON inside a message that is none.
        raise ProtobufError(f"proto: {error}") from error
    doc["apiVersion"], doc["kind"] = api_version, kind
    return doc


def _message_name(api_version: str, kind: str) -> str:
    if kind in _OPTIONS:
        return f"meta.v1.{kind}"
    group, _, version = api_version.rpartition("/")
    known = builtin_kinds().of_kind(group, version, kind)
    if known is not None and known.type_name in _table()["messages"]:
        return known.type_name  # versions that look the same share a message
    return f"{_SHORT_GROUPS.get(group, group.split('.')[0])}.{version}.{kind}"


def _parse(name: str, data: bytes) -> Any:  # a message whose class was made at run time
    try:
        return _class_of(name).FromString(data)
    except DecodeError as error:
        raise ProtobufError(f"proto: {error}") from error


def _converted(message: Message) -> Any:  # whatever JSON value the message stands for
    name = _names()[message.DESCRIPTOR.name]
    special = _SPECIAL.get(name)
    if special is not None:
        return special(message)
    inline = _table()["inline"]
    out: Document = {}
    for field, value in message.ListFields():
        json_name = _json_names()[name][field.number]
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            out[json_name] = {key: _value(item) for key, item in value.items()}
        elif field.is_repeated:
            out[json_name] = [_value(item) for item in value]
        elif f"{name}.{json_name}" in inline:
            out.update(_converted(value))
        else:
            out[json_name] = _value(value)
    return (out.get("items") or []) if name in _table()["jsonArrayWrappers"] else out


def _value(value: Any) -> Any:
    if isinstance(value, Message):
        return _converted(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)  # Go's JSON has no point where there is nothing behind it
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _time(message: Any) -> str | None:
    # Go always writes creationTimestamp; an empty message is no time.
    return to_time(_seconds(message)) if message.ListFields() else None


def _micro_time(message: Any) -> str | None:
    return to_micro_time(_seconds(message) + message.f2 / 1e9) if message.ListFields() else None


def _seconds(message: Any) -> int:
    seconds: int = message.f1
    if not _SECONDS_MIN <= seconds <= _SECONDS_MAX:
        raise ValueError(f"{seconds} seconds are beyond the calendar")
    return seconds


def _int_or_string(message: Any) -> int | str:
    found: int | str = message.f3 if message.f1 == 1 else message.f2
    return found


def _embedded(message: Any) -> Any:
    return msgspec.json.decode(message.f1) if message.f1 else None


def _raw(message: Any) -> Any:
    """An object with the text it came as."""
    value = _embedded(message)
    return raw_object(value, message.f1) if isinstance(value, dict) else value


def _schema_or_array(message: Any) -> Any:
    """`items` of a schema: one schema, or one for each element."""
    return _converted(message.f1) if message.HasField("f1") else [_converted(item) for item in message.f2]


def _schema_or_bool(message: Any) -> Any:
    return _converted(message.f2) if message.HasField("f2") else bool(message.f1)


def _schema_or_names(message: Any) -> Any:
    if message.f2:
        return list(message.f2)
    return _converted(message.f1) if message.HasField("f1") else None


_SPECIAL: Final[dict[str, Callable[[Any], Any]]] = {
    "meta.v1.Time": _time,
    "meta.v1.MicroTime": _micro_time,
    "api.resource.Quantity": lambda message: message.f1,
    "intstr.IntOrString": _int_or_string,
    "runtime.RawExtension": _raw,
    "meta.v1.FieldsV1": _embedded,
    "apiextensions.v1.JSON": _embedded,
    "apiextensions.v1.JSONSchemaPropsOrArray": _schema_or_array,
    "apiextensions.v1.JSONSchemaPropsOrBool": _schema_or_bool,
    "apiextensions.v1.JSONSchemaPropsOrStringArray": _schema_or_names,
}


@cache
def _table() -> dict[str, Any]:
    raw = data_file("protobuf.json")
    return {
        "messages": raw["messages"],
        "inline": frozenset(raw["inline"]),
        "jsonArrayWrappers": raw["jsonArrayWrappers"],
    }


@cache
def _names() -> dict[str, str]:
    return {_proto_name(name): name for name in _table()["messages"]}


@cache
def _json_names() -> dict[str, dict[int, str]]:
    return {name: {field[0]: field[1] for field in fields} for name, fields in _table()["messages"].items()}


def _proto_name(name: str) -> str:
    return name.replace(".", "_")


def _class_of(name: str) -> type[Message]:
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"doorman.{_proto_name(name)}"))


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="kubernetes.proto", package="doorman", syntax="proto2")
    for name, fields in _table()["messages"].items():
        message = file.message_type.add(name=_proto_name(name))
        for number, json_name, kind in fields:
            _add_field(message, number, json_name, kind, name)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_field(message: descriptor_pb2.DescriptorProto, number: int, json_name: str, kind: str, owner: str) -> None:
    # Members are named by number, except the envelope's, because JSON names repeat under protobuf's naming rules.
    name = json_name if owner == "runtime.Unknown" else f"f{number}"
    field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if kind.startswith("map<"):
        key, _, value = kind[4:-1].partition(",")
        entry = message.nested_type.add(name=f"F{number}Entry")
        entry.options.map_entry = True
        for at, (part, part_kind) in enumerate((("key", key), ("value", value)), start=1):
            _set_type(entry.field.add(name=part, number=at, label=_Field.LABEL_OPTIONAL), part_kind)
        field.label = _Field.LABEL_REPEATED
        field.type = _Field.TYPE_MESSAGE
        field.type_name = f".doorman.{message.name}.F{number}Entry"
        return
    if kind.startswith("repeated "):
        field.label = _Field.LABEL_REPEATED
        kind = kind.removeprefix("repeated ")
    _set_type(field, kind)


def _set_type(field: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _Field.TYPE_MESSAGE
        field.type_name = f".doorman.{_proto_name(kind)}"
