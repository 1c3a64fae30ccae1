"""Schemas of definitions: they must be structural, their defaults valid, and their rules compile."""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.machinery.structural_schema import compile_schema
from doorman.base.bounds import SCHEMA_DEPTH_MAX
from doorman.base.errors import FieldError, forbidden, invalid, not_supported, required
from doorman.validation.apiextensions.custom_rule_checks import rule_check_errors
from doorman.validation.apiextensions.custom_rule_costs import rule_cost_errors
from doorman.validation.apiextensions.list_extensions import list_extension_errors
from doorman.validation.apiextensions.structural import pattern_fault, value_errors

Json = Any  # any JSON value
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_NO_TYPE_INSIDE: Final = ("allOf", "anyOf", "oneOf", "not")


def definition_schema_errors(schema: Mapping[str, Json], path: str, *, is_unchanged: bool = False) -> list[FieldError]:
    """`is_unchanged`: it is stored already, so what its rules cost is not held against it."""
    found = schema.get("type", "")
    if found and found != "object":
        unknown = [] if found in _TYPES else [not_supported(f"{path}.type", found, _TYPES)]
        return [invalid(f"{path}.type", found, "must be object at the root"), *unknown]
    errors: list[FieldError] = []
    if schema.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    _schema_errors(schema, path, errors, depth=0)
    if not found:
        errors.append(required(f"{path}.type", "must not be empty at the root"))
    if not errors:
        _default_errors(schema, path, errors)
        structural = compile_schema(dict(schema))
        errors += rule_check_errors(structural, path)
        errors += rule_cost_errors(structural, path, is_unchanged=is_unchanged)
    return errors


def _default_errors(schema: Mapping[str, Json], path: str, errors: list[FieldError]) -> None:
    """What is filled in must itself be valid."""
    if schema.get("default") is not None:
        errors += value_errors(schema["default"], dict(schema), f"{path}.default")
    for name, part in (schema.get("properties") or {}).items():
        _default_errors(part, f"{path}.properties[{name}]", errors)
    for member in ("additionalProperties", "items"):
        if isinstance(schema.get(member), dict):
            _default_errors(schema[member], f"{path}.{member}", errors)


def _schema_errors(schema: Mapping[str, Json], path: str, errors: list[FieldError], *, depth: int) -> None:
    if depth > SCHEMA_DEPTH_MAX:
        errors.append(forbidden(path, f"a schema may be nested {SCHEMA_DEPTH_MAX} deep"))
        return
    _own_errors(schema, path, errors)
    parts = [(f"{path}.properties[{name}]", part) for name, part in schema.get("properties", {}).items()]
    additional, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(additional, dict):
        parts.append((f"{path}.additionalProperties", additional))
    if isinstance(items, dict):
        parts.append((f"{path}.items", items))
    elif items:
        errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
    for place, part in parts:
        if not isinstance(part, dict):
            errors.append(invalid(place, part, "must be a schema"))
            continue
        if not part.get("type") and not _may_lack_type(part):
            what = "array items" if place.endswith(".items") else "object fields"
            errors.append(required(f"{place}.type", f"must not be empty for specified {what}"))
        _schema_errors(part, place, errors, depth=depth + 1)
    errors += list_extension_errors(schema, path)


def _may_lack_type(schema: Mapping[str, Json]) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields"))


def _own_errors(schema: Mapping[str, Json], path: str, errors: list[FieldError]) -> None:
    found = schema.get("type", "")
    if found and found not in _TYPES:
        errors.append(not_supported(f"{path}.type", found, _TYPES))
    if schema.get("$ref"):
        errors.append(forbidden(f"{path}.$ref", "$ref is not supported"))
    if schema.get("uniqueItems"):
        errors.append(
            forbidden(
                f"{path}.uniqueItems",
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            )
        )
    if schema.get("properties") and schema.get("additionalProperties") is not None:
        errors.append(
            forbidden(f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive")
        )
    if found == "array" and not isinstance(schema.get("items"), dict) and not schema.get("items"):
        errors.append(required(f"{path}.items", "must be specified"))
    pattern = schema.get("pattern")
    if pattern and pattern_fault(pattern):
        errors.append(invalid(f"{path}.pattern", pattern, "must be a valid regular expression"))
    for member in _NO_TYPE_INSIDE:
        parts = schema.get(member, [])
        for index, part in enumerate(parts if isinstance(parts, list) else (parts,)):
            if part.get("type") and not schema.get("x-kubernetes-int-or-string"):
                place = f"{path}.{member}[{index}]" if isinstance(parts, list) else f"{path}.{member}"
                errors.append(forbidden(f"{place}.type", "must be empty to be structural"))
