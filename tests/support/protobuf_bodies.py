"""Objects as Go clients send them: from JSON to protobuf, the way back of `doorman.server.codec.protobuf`."""

import base64
from calendar import timegm
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from doorman.api.kinds import data_file
from doorman.base.json_types import Document
from doorman.server.codec.protobuf import MAGIC, _class_of, _message_name

Json = Any  # any JSON value
TABLE = data_file("protobuf.json")
MESSAGES: dict[str, list[tuple[int, str, str]]] = TABLE["messages"]
INLINE = frozenset(TABLE["inline"])


def to_protobuf(doc: Document, api_version: str, kind: str) -> bytes:
    """A body with its envelope."""
    name = _message_name(api_version, kind)
    message = _class_of(name)()
    _fill(message, doc, name)
    envelope = _class_of("runtime.Unknown")()
    envelope.typeMeta.f1, envelope.typeMeta.f2 = api_version, kind
    envelope.raw = message.SerializeToString()
    body: bytes = MAGIC + envelope.SerializeToString()
    return body


def is_known(api_version: str, kind: str) -> bool:
    return _message_name(api_version, kind) in MESSAGES


def _fill(message: Any, value: Json, name: str) -> None:  # a message whose class is made at run time
    special = _SPECIAL.get(name)
    if special is not None:
        special(message, value)
        return
    if name in TABLE["jsonArrayWrappers"]:
        value = {"items": value}
    for number, json_name, kind in MESSAGES[name]:
        if f"{name}.{json_name}" in INLINE:
            _fill(getattr(message, f"f{number}"), value, kind)
        elif value.get(json_name) is not None:
            _set(message, f"f{number}", kind, value[json_name])


def _set(message: Any, field: str, kind: str, value: Json) -> None:
    if kind.startswith("map<"):
        inner = kind[4:-1].partition(",")[2]
        members = getattr(message, field)
        for key, item in value.items():
            if inner in MESSAGES:
                _fill(members[key], item, inner)
            else:
                members[key] = _scalar(inner, item)
    elif kind.startswith("repeated "):
        inner = kind.removeprefix("repeated ")
        items = getattr(message, field)
        for item in value:
            if inner in MESSAGES:
                _fill(items.add(), item, inner)
            else:
                items.append(_scalar(inner, item))
    elif kind in MESSAGES:
        part = getattr(message, field)
        part.SetInParent()
        _fill(part, value, kind)
    else:
        setattr(message, field, _scalar(kind, value))


def _scalar(kind: str, value: Json) -> Json:
    return base64.b64decode(value) if kind == "bytes" else value


def _time(message: Any, value: str) -> None:
    message.f1 = timegm(datetime.fromisoformat(value).utctimetuple())


def _micro_time(message: Any, value: str) -> None:
    when = datetime.fromisoformat(value)
    message.f1, message.f2 = timegm(when.utctimetuple()), when.microsecond * 1000


def _quantity(message: Any, value: str) -> None:
    message.f1 = value


def _int_or_string(message: Any, value: int | str) -> None:
    message.f1 = int(isinstance(value, str))
    if isinstance(value, str):
        message.f3 = value
    else:
        message.f2 = value


def _embedded(message: Any, value: Json) -> None:
    message.f1 = msgspec.json.encode(value)


def _schema_or_array(message: Any, value: Json) -> None:
    if isinstance(value, list):
        for item in value:
            _fill(message.f2.add(), item, _SCHEMA)
    else:
        _set(message, "f1", _SCHEMA, value)


def _schema_or_bool(message: Any, value: Json) -> None:
    if isinstance(value, bool):
        message.f1 = value
    else:
        message.f1 = True
        _set(message, "f2", _SCHEMA, value)


def _schema_or_names(message: Any, value: Json) -> None:
    if isinstance(value, list):
        message.f2.extend(value)
    else:
        _set(message, "f1", _SCHEMA, value)


_SCHEMA = "apiextensions.v1.JSONSchemaProps"
_SPECIAL: dict[str, Callable[[Any, Any], None]] = {
    "meta.v1.Time": _time,
    "meta.v1.MicroTime": _micro_time,
    "api.resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "runtime.RawExtension": _embedded,
    "meta.v1.FieldsV1": _embedded,
    "apiextensions.v1.JSON": _embedded,
    f"{_SCHEMA}OrArray": _schema_or_array,
    f"{_SCHEMA}OrBool": _schema_or_bool,
    f"{_SCHEMA}OrStringArray": _schema_or_names,
}
