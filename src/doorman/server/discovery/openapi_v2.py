"""OpenAPI v2, made of the parts of v3: for tools that have not moved on. kubectl has."""

from collections.abc import Iterable
from typing import Any, Final

from doorman.api.well_known import KUBERNETES_VERSION

Json = Any  # any JSON value
Parts = tuple[dict[str, Json], dict[str, Json]]
"""Paths and schemas of one group version."""

_OLD: Final = "#/components/schemas/"
_NEW: Final = "#/definitions/"


def swagger(parts: Iterable[Parts]) -> dict[str, Json]:
    paths: dict[str, Json] = {}
    definitions: dict[str, Json] = {}
    for some_paths, some_schemas in parts:
        paths.update({path: {verb: _operation(op) for verb, op in item.items()} for path, item in some_paths.items()})
        definitions.update({name: _definition(schema) for name, schema in some_schemas.items()})
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": KUBERNETES_VERSION},
        "paths": paths,
        "definitions": definitions,
    }


def _definition(schema: dict[str, Json]) -> Json:
    """Of an object that keeps whatever it is given nothing is said: clients would refuse what is not named."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        named = "x-kubernetes-group-version-kind"
        return {"type": "object", **{name: schema[name] for name in (named,) if name in schema}}
    return to_v2(schema)


def to_v2(schema: Json) -> Json:
    """
    >>> to_v2({"allOf": [{"$ref": "#/components/schemas/a"}], "description": "b"})
    {'$ref': '#/definitions/a', 'description': 'b'}
    >>> to_v2({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
    {'format': 'int-or-string', 'type': 'string'}
    """
    if isinstance(schema, list):
        return [to_v2(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Json] = {}
    for name, value in schema.items():
        if name == "allOf" and len(value) == 1 and "$ref" in value[0]:
            out["$ref"] = value[0]["$ref"].replace(_OLD, _NEW)
        elif name == "oneOf":
            # A choice is not to be said in v2; what it is read as is a text.
            out["type"] = "string"
        elif name not in ("nullable", "anyOf", "not"):
            out[name] = to_v2(value)
    return out


def _operation(operation: dict[str, Json]) -> dict[str, Json]:
    out = {name: value for name, value in operation.items() if name != "requestBody"}
    consumes = operation.get("requestBody", {}).get("content")
    if consumes:
        out["consumes"] = list(consumes)
    if "parameters" in out:
        out["parameters"] = [_parameter(one) for one in out["parameters"]]
    return out


def _parameter(parameter: dict[str, Json]) -> dict[str, Json]:
    kept = {name: value for name, value in parameter.items() if name != "schema"}
    return {**kept, "type": parameter["schema"]["type"]}
