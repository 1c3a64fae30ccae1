"""Whether a definition's schema is structural: every value has one type, said outside of combinations.

`allOf`, `anyOf`, `oneOf` and `not` restrict values and say nothing of their shape: what they speak of must be there
outside of them. What is wrong is listed in the order of its words.
"""

from collections.abc import Iterator
from typing import Final

from doorman.base.errors import FieldError, forbidden, invalid, required
from doorman.base.json_types import Json
from doorman.validation.apiextensions.list_extensions import JsonSchema
from doorman.validation.apiextensions.structural import pattern_fault

EMBEDDED: Final = "x-kubernetes-embedded-resource"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"
UNKNOWN: Final = "x-kubernetes-preserve-unknown-fields"
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]
"""How an IntOrString says so in its combinations: the one place where types are allowed there."""
_ROOT, _ITEMS, _FIELD = "at the root", "for specified array items", "for specified object fields"
_METADATA_NAMES: Final = frozenset(("name", "generateName"))
_NOT_NESTED: Final = (
    ("type", "empty"), ("additionalProperties", "undefined"), ("default", "undefined"), ("title", "empty"),
    ("description", "empty"), ("nullable", "false"), (UNKNOWN, "false"), (EMBEDDED, "false"), (INT_OR_STRING, "false"),
    ("x-kubernetes-list-map-keys", "empty"), ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"), ("x-kubernetes-validations", "empty"),
)  # fmt: skip


def structure_errors(schema: JsonSchema, path: str) -> list[FieldError]:
    found = [*_shape_errors(schema, _ROOT, path), *_completeness_errors(schema, schema, path, path)]
    return sorted(found, key=str)


def combinations(schema: JsonSchema) -> Iterator[tuple[str, JsonSchema]]:
    """The schemas inside combinations, with where they stand."""
    for member in ("anyOf", "allOf", "oneOf"):
        for index, part in enumerate(schema.get(member) or ()):
            yield f"{member}[{index}]", part
    if isinstance(schema.get("not"), dict):
        yield "not", schema["not"]


def _shape_errors(schema: JsonSchema, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and not isinstance(items, dict):
        errors.append(required(f"{path}.items", "must be specified"))
    if isinstance(items, dict):
        errors += _shape_errors(items, _ITEMS, f"{path}.items")
    for name, part in (schema.get("properties") or {}).items():
        errors += _shape_errors(part, _FIELD, f"{path}.properties[{name}]")
    if additional is not None and level == _ROOT:
        errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
    if isinstance(additional, dict):
        errors += _shape_errors(additional, _FIELD, f"{path}.additionalProperties")
    if schema.get(INT_OR_STRING):
        errors += [
            invalid(f"{path}.{name}", True, f"must be false if {INT_OR_STRING} is true")
            for name in (UNKNOWN, EMBEDDED)
            if schema.get(name)
        ]
    errors += _value_errors(schema, path)
    errors += _type_errors(schema, level, path)
    return [*errors, *_head_errors(schema, level, path)]


def _type_errors(schema: JsonSchema, level: str, path: str) -> list[FieldError]:
    kind = schema.get("type") or ""
    errors: list[FieldError] = []
    if schema.get(EMBEDDED) and kind != "object":
        text = f"must be object if {EMBEDDED} is true"
        errors.append(invalid(f"{path}.type", kind, text) if kind else required(f"{path}.type", text))
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(UNKNOWN):
        errors.append(required(f"{path}.type", f"must not be empty {level}"))
    if schema.get(EMBEDDED) and schema.get("additionalProperties") is not None:
        errors.append(forbidden(f"{path}.additionalProperties", f"must not be used if {EMBEDDED} is set"))
    if level == _ROOT and kind and kind != "object":
        errors.append(invalid(f"{path}.type", kind, "must be object at the root"))
    return errors


def _head_errors(schema: JsonSchema, level: str, path: str) -> list[FieldError]:
    """`kind`, `apiVersion` and `metadata` of whole objects."""
    properties = schema.get("properties") or {}
    is_object = level == _ROOT or bool(schema.get(EMBEDDED))
    errors = [
        invalid(f"{path}.properties[{name}].type", properties[name].get("type") or "", f"must be {wanted}")
        for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object"))
        if is_object and name in properties and properties[name].get("type") != wanted
    ]
    if level == _ROOT and "metadata" in properties and _says_too_much(properties["metadata"]):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        errors.append(forbidden(f"{path}.properties[metadata]", text))
    if schema.get(EMBEDDED) and not schema.get(UNKNOWN) and not properties:
        text = f"must not be empty if {EMBEDDED} is true without {UNKNOWN}"
        errors.append(required(f"{path}.properties", text))
    return errors


def _says_too_much(metadata: JsonSchema) -> bool:
    known = {"type", "default"}
    if {*(metadata.get("properties") or ())} <= _METADATA_NAMES:
        known.add("properties")
    return any(value not in (None, "", [], {}, False) for name, value in metadata.items() if name not in known)


def _value_errors(schema: JsonSchema, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for place, part in combinations(schema):
        if place.startswith("anyOf") and schema["anyOf"] == _EITHER:
            continue
        is_either = place == "allOf[0]" and part.get("anyOf") == _EITHER
        errors += _nested_errors({**part, "anyOf": []} if is_either else part, f"{path}.{place}")
    pattern = schema.get("pattern")
    if pattern and (fault := pattern_fault(pattern)):
        errors.append(invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {fault}"))
    return errors


def _nested_errors(part: JsonSchema, path: str) -> list[FieldError]:
    errors = _value_errors(part, path)
    if isinstance(part.get("items"), dict):
        errors += _nested_errors(part["items"], f"{path}.items")
    properties = part.get("properties") or {}
    for name, inner in properties.items():
        errors += _nested_errors(inner, f"{path}.properties[{name}]")
    errors += [
        forbidden(f"{path}.{name}", f"must be {wanted} to be structural")
        for name, wanted in _NOT_NESTED
        if part.get(name) or (name == "default" and part.get(name) is not None)
    ]
    if "metadata" in properties:
        errors.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    return errors


def _completeness_errors(part: JsonSchema, schema: Json, place: str, path: str) -> list[FieldError]:
    """`part` stands at `path` and restricts what `schema` says at `place`."""
    if not isinstance(schema, dict):
        return [required(place, f"because it is defined in {path}")]
    errors: list[FieldError] = []
    for where, inner in combinations(part):
        errors += _completeness_errors(inner, schema, place, f"{path}.{where}")
    if part is schema:
        return errors
    if isinstance(part.get("items"), dict):
        errors += _completeness_errors(part["items"], schema.get("items"), f"{place}.items", f"{path}.items")
    known = schema.get("properties") or {}
    for name, inner in (part.get("properties") or {}).items():
        inside = f"properties[{name}]"
        errors += _completeness_errors(inner, known.get(name), f"{place}.{inside}", f"{path}.{inside}")
    return errors
