"""Custom kinds in CEL: the types of a structural schema, and its values."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from doorman.api.machinery.structural_schema import Structural
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.typing.static_types import BOOL, DYN, STRING, Type
from doorman.semantics.cel.value_text import parse_duration, parse_timestamp
from doorman.semantics.cel.values import Value, from_json

_FORMATS: Final = {
    "date-time": Type("google.protobuf.Timestamp"),
    "date": Type("google.protobuf.Timestamp"),
    "duration": Type("google.protobuf.Duration"),
    "byte": Type("bytes"),
}
_SCALARS: Final = {"integer": Type("int"), "number": Type("double"), "boolean": BOOL, "string": STRING}
_METADATA: Final = {"name": STRING, "generateName": STRING}
_META_SCHEMA: Final = "metadata"

MetadataField = Callable[[str], Type | None]


class SchemaTypes:
    """The objects of one schema, by name; `fields` is what the checker asks.

    A kind's own rules see little of its metadata, and may ask for members that its schema leaves open. Policies see
    the schema as it is published (`metadata` given): all of its metadata, and no member that it does not name.
    """

    def __init__(self, metadata: MetadataField | None = None) -> None:
        self._metadata = metadata if metadata is not None else _METADATA.get
        self._is_published = metadata is not None
        self._objects: dict[str, Structural] = {}

    def of(self, schema: Structural, name: str = "self") -> Type:
        if schema.source.get("x-kubernetes-int-or-string"):
            return DYN
        match schema.type:
            case "array":
                return Type("list", of=self.of(schema.items, f"{name}[]") if schema.items is not None else DYN)
            case "string":
                return _FORMATS.get(schema.source.get("format", ""), STRING)
            case "object":
                if isinstance(schema.additional, Structural):
                    return Type("map", of=self.of(schema.additional, f"{name}.*"))
                is_open = schema.keeps_unknown and not (schema.properties or schema.is_object or self._is_published)
                if is_open or schema.additional:
                    return DYN if is_open else Type("map")
                self._objects[name] = schema
                return Type("map", schema=name)
        return _SCALARS.get(schema.type, DYN)

    def fields(self, schema: str, field: str) -> Type | None:
        if schema == _META_SCHEMA:
            return self._metadata(field)
        found = self._objects[schema]
        if found.is_object:
            if field == "metadata":
                return Type("map", schema=_META_SCHEMA)
            if field in ("apiVersion", "kind"):
                return STRING
        known = found.properties.get(field)
        return self.of(known, f"{schema}.{field}") if known is not None else None


def to_value(value: Any, schema: Structural) -> Value:  # JSON
    """A value of the schema's type: numbers are doubles, times are times. What does not fit is left as it is."""
    if isinstance(value, dict):
        return _object_value(value, schema)
    if isinstance(value, list):
        return [to_value(item, schema.items) for item in value] if schema.items is not None else value
    if schema.type == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if schema.type == "string" and isinstance(value, str):
        return _string_value(value, schema.source.get("format", ""))
    return from_json(value)


class _PartlyUnfit(dict[str, Value]):
    """A map with a member that is not of the schema's type, as 1.0 is no integer: who asks for that one is told."""

    cel_type: ClassVar[str] = "map"

    def __getitem__(self, name: str) -> Value:
        found = super().__getitem__(name)
        if isinstance(found, CelError):
            raise found
        return found


def _object_value(value: Mapping[str, Any], schema: Structural) -> dict[str, Value]:
    out: dict[str, Value] = {}
    for name, item in value.items():
        if schema.is_object and name == "metadata":
            out[name] = {key: item[key] for key in _METADATA if key in item}
            continue
        known = schema.properties.get(name)
        if known is None and isinstance(schema.additional, Structural):
            known = schema.additional
        if known is not None and known.type == "integer" and isinstance(item, float):
            out = _PartlyUnfit(out)
            out[name] = CelError("invalid data, expected int, got float64")
            continue
        out[name] = to_value(item, known) if known is not None else from_json(item)
    return out


def _string_value(text: str, form: str) -> Value:
    match form:
        case "date-time":
            return parse_timestamp(text)
        case "date":
            return parse_timestamp(f"{text}T00:00:00Z")
        case "duration":
            return parse_duration(text)
        case "byte":
            return text.encode()
    return text
