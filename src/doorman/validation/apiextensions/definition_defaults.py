"""Defaults in a definition's schema: what is filled in must itself be valid."""

from collections.abc import Mapping

import msgspec

from doorman.api.json_values import copied
from doorman.api.machinery.structural_schema import compile_schema, prune
from doorman.base.errors import FieldError, invalid
from doorman.base.json_types import Json
from doorman.validation.apiextensions.custom_rules import rule_errors
from doorman.validation.apiextensions.structural import value_errors


def default_errors(schema: Mapping[str, Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if schema.get("default") is not None:
        errors += _value_errors(schema["default"], dict(schema), f"{path}.default")
    items = schema.get("items")
    if isinstance(items, dict):
        errors += default_errors(items, f"{path}.items")
    for name, part in (schema.get("properties") or {}).items():
        errors += default_errors(part, f"{path}.properties[{name}]")
    return errors


def _value_errors(value: Json, schema: dict[str, Json], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    problems: list[str] = []
    structural = compile_schema(schema, is_root=False)
    prune(copied(value), structural, problems)
    if problems:
        errors.append(invalid(path, value, "must not have unknown fields"))
    faults = value_errors(value, schema, "")
    for error in faults:
        # A value is checked as if it stood alone: that is how the message names its parts.
        inner = error.field if error.field != "<nil>" else ""
        errors.append(msgspec.structs.replace(error, field=f"{path}.{inner}" if inner else path))
    return errors if faults else [*errors, *rule_errors(value, None, structural, [], path)]
