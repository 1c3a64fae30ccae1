"""Schemas of definitions: they must be structural, their defaults valid, and their rules compile.

What is wrong is found in this order: what a root may not have, the structure, or else the defaults; then, walking
through the schema, what is not supported; and the rules of those parts in which nothing else is wrong.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from doorman.api.machinery.structural_schema import Structural, compile_schema
from doorman.base.bounds import SCHEMA_DEPTH_MAX
from doorman.base.errors import FieldError, forbidden, invalid, not_supported
from doorman.base.json_types import Json
from doorman.validation.apiextensions.custom_rule_checks import expression_errors, rule_text_errors
from doorman.validation.apiextensions.custom_rule_costs import rule_cost_errors, rule_costs, total_cost_errors
from doorman.validation.apiextensions.definition_defaults import default_errors
from doorman.validation.apiextensions.list_extensions import JsonSchema, list_extension_errors
from doorman.validation.apiextensions.list_items import HEAD
from doorman.validation.apiextensions.schema_structure import EMBEDDED, UNKNOWN, structure_errors

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_REFUSED_EMPTY: Final = ("additionalItems", "dependencies", "$ref")
_BESIDE_STATUS: Final = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum",
    "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items",
    "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
)  # fmt: skip
"""What the root may have when the status is written on its own, which then is checked by its own part of the schema."""
_ZEROS: Final[tuple[Json, ...]] = (None, "", False)
_BEFORE_TYPE: Final = ("id", "$schema", "$ref")
_RENAMED: Final = {UNKNOWN: "XPreserveUnknownFields", "x-kubernetes-validations": "XValidations"}


def definition_schema_errors(
    schema: JsonSchema, path: str, *, has_status: bool = False, is_unchanged: bool = False
) -> list[FieldError]:
    """`is_unchanged`: it is stored already, so what its rules cost is not held against it."""
    errors = _root_errors(schema, path) if has_status else []
    if schema.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    walk = _Walk()
    walk.measure(schema, path, depth=0)
    if walk.errors:
        return [*errors, *walk.errors]
    unsupported = _unsupported_somewhere(schema)
    faults = [] if unsupported else structure_errors(schema, path) or default_errors(schema, path)
    errors += faults
    structural = None if faults or unsupported else compile_schema(dict(schema))
    costs = rule_costs(structural, path) if structural is not None else []
    if not is_unchanged:
        walk.cost_errors = rule_cost_errors(costs)
    walk.visit(schema, path, structural, _Place(is_root=True))
    errors += [*walk.errors, *walk.rule_errors]
    if not walk.errors:
        errors += total_cost_errors(costs, path)
    if not errors and unsupported:
        errors.append(invalid(path, "", f"OpenAPIV3Schema '{unsupported.removeprefix('$')}' is not supported"))
    return errors


def _root_errors(schema: JsonSchema, path: str) -> list[FieldError]:
    kind = schema.get("type") or ""
    given = [name for name, value in schema.items() if value not in _ZEROS]
    strange = [name for name in given if _go_name(name) not in _BESIDE_STATUS]
    if kind and kind != "object" and not any(name in _BEFORE_TYPE for name in strange):
        text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [invalid(f"{path}.type", kind, text)]
    if not strange:
        return []
    listed = f"[{' '.join(_BESIDE_STATUS)}]"
    text = f"only {listed} fields are allowed at the root of the schema if the status subresource is enabled"
    return [invalid(path, dict(schema), text)]


def _go_name(name: str) -> str:
    return _RENAMED.get(name, name[:1].upper() + name[1:])


def _unsupported_somewhere(schema: Json) -> str:
    """A member that makes it impossible to say what shape the objects have; empty when there is none."""
    if not isinstance(schema, dict):
        return ""
    own = next((name for name in ("id", "$schema", *_UNSUPPORTED[:0:-1]) if schema.get(name)), "")
    if own or isinstance(schema.get("items"), list):
        return own or "items"
    inner = [schema.get("items"), schema.get("additionalProperties"), *(schema.get("properties") or {}).values()]
    for member in ("allOf", "anyOf", "oneOf"):
        inner += schema.get(member) or ()
    return next((found for part in (*inner, schema.get("not")) if (found := _unsupported_somewhere(part))), "")


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    is_root: bool = False
    is_in_metadata: bool = False
    no_default: str = ""
    """Why there may be no default."""
    uncorrelatable: str = ""
    """The path of what cannot be told from what was there before."""

    def within(self, path: str) -> "_Place":
        return self if self.uncorrelatable else msgspec.structs.replace(self, uncorrelatable=path)


class _Walk:
    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.rule_errors: list[FieldError] = []
        self.cost_errors: Mapping[str, FieldError] = {}
        """By the paths of the expressions that cost too much."""

    def measure(self, schema: Json, path: str, *, depth: int) -> None:
        """No further than this server walks."""
        if depth > SCHEMA_DEPTH_MAX:
            self.errors.append(forbidden(path, f"a schema may be nested {SCHEMA_DEPTH_MAX} deep"))
            return
        for place, part in _parts(schema):
            if not isinstance(part, dict):
                self.errors.append(invalid(f"{path}.{place}", part, "must be a schema"))
            elif not self.errors:
                self.measure(part, f"{path}.{place}", depth=depth + 1)

    def visit(self, schema: JsonSchema, path: str, structural: Structural | None, place: _Place) -> None:
        count = len(self.errors)
        self._own(schema, path, place)
        inside = msgspec.structs.replace(place, is_root=False)
        additional, items = schema.get("additionalProperties"), schema.get("items")
        properties = schema.get("properties") or {}
        if additional is not None and properties and additional is not True:
            text = "additionalProperties and properties are mutual exclusive"
            self.errors.append(forbidden(f"{path}.additionalProperties", text))
        if isinstance(additional, dict):
            within = inside
            if place.is_in_metadata:
                reason = "inside additionalProperties applying to object metadata"
                within = msgspec.structs.replace(inside, no_default=reason)
            known = structural.additional if structural is not None else None
            self.visit(
                additional, f"{path}.additionalProperties", known if isinstance(known, Structural) else None, within
            )
        for name, part in properties.items():
            known = structural.properties.get(name) if structural is not None else None
            self.visit(part, f"{path}.properties[{name}]", known, _inside(schema, name, place, inside))
        for where, part in _combined(schema):
            self.visit(part, f"{path}.{where}", None, inside)
        if isinstance(items, dict):
            within = inside if schema.get("x-kubernetes-list-type") == "map" else inside.within(path)
            self.visit(items, f"{path}.items", structural.items if structural is not None else None, within)
        if schema.get(UNKNOWN) is False:
            self.errors.append(invalid(f"{path}.{UNKNOWN}", False, "must be true or undefined"))
        self.errors += list_extension_errors(schema, path)
        self._rules(schema, path, structural if count == len(self.errors) else None, place, count)

    def _own(self, schema: JsonSchema, path: str, place: _Place) -> None:
        kind = schema.get("type") or ""
        if kind and kind not in _TYPES:
            self.errors.append(not_supported(f"{path}.type", kind, _TYPES))
        if schema.get("default") is not None and place.no_default:
            self.errors.append(forbidden(f"{path}.default", f"must not be set {place.no_default}"))
        self.errors += [
            forbidden(f"{path}.{name}", f"{name} is not supported")
            for name in _UNSUPPORTED
            if schema.get(name) or (name in _REFUSED_EMPTY and schema.get(name) is not None)
        ]
        if kind == "null":
            text = "type cannot be set to null, use nullable as an alternative"
            self.errors.append(forbidden(f"{path}.type", text))
        if isinstance(schema.get("items"), list) and schema["items"]:
            self.errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
        if place.is_in_metadata and schema.get(EMBEDDED):
            self.errors.append(forbidden(f"{path}.{EMBEDDED}", "must not be used inside of resource meta"))
        if schema.get("uniqueItems"):
            text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            self.errors.append(forbidden(f"{path}.uniqueItems", text))

    def _rules(self, schema: JsonSchema, path: str, structural: Structural | None, place: _Place, count: int) -> None:
        """The words of rules, and where nothing is wrong with them or below, what they compile to."""
        rules = schema.get("x-kubernetes-validations") or ()
        for index, rule in enumerate(rules):
            self.errors += rule_text_errors(rule, schema, f"{path}.x-kubernetes-validations[{index}]")
        if structural is None or count != len(self.errors):
            return
        for index, rule in enumerate(rules):
            at = f"{path}.x-kubernetes-validations[{index}]"
            costs = [self.cost_errors.get(f"{at}.{member}") for member in ("rule", "messageExpression")]
            self.rule_errors += [error for error in costs if error is not None]
            self.rule_errors += expression_errors(rule, structural, at, place.uncorrelatable)


def _inside(schema: JsonSchema, name: str, place: _Place, inside: _Place) -> _Place:
    found = inside
    if name in HEAD and (place.is_root or schema.get(EMBEDDED)):
        found = msgspec.structs.replace(found, is_in_metadata=True)
        if place.is_root:
            found = msgspec.structs.replace(found, no_default=f"in top-level {name}")
    return found


def _combined(schema: JsonSchema) -> list[tuple[str, Json]]:
    found = [("not", schema["not"])] if isinstance(schema.get("not"), dict) else []
    for member in ("allOf", "oneOf", "anyOf"):
        found += [(f"{member}[{index}]", part) for index, part in enumerate(schema.get(member) or ())]
    return found


def _parts(schema: JsonSchema) -> list[tuple[str, Json]]:
    found = [(f"properties[{name}]", part) for name, part in (schema.get("properties") or {}).items()]
    found += [(name, schema[name]) for name in ("additionalProperties", "items") if isinstance(schema.get(name), dict)]
    return [*found, *_combined(schema)]
