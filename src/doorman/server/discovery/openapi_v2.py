"""OpenAPI v2, made of the parts of v3: for tools that have not moved on. kubectl has."""

from collections.abc import Iterable
from typing import Final

from doorman.api.well_known import KUBERNETES_VERSION
from doorman.base.json_types import Json

Parts = tuple[dict[str, Json], dict[str, Json]]
"""Paths and schemas of one group version."""

_OLD: Final = "#/components/schemas/"
_NEW: Final = "#/definitions/"
_GVK: Final = "x-kubernetes-group-version-kind"


def swagger_part(part: Parts) -> Parts:
    """Paths and definitions of one group version, of those of v3."""
    paths, schemas = part
    return (
        {path: _path(item) for path, item in paths.items()},
        {name: _definition(schema) for name, schema in schemas.items()},
    )


def swagger(parts: Iterable[Parts]) -> dict[str, Json]:
    """The document of all parts."""
    paths: dict[str, Json] = {}
    definitions: dict[str, Json] = {}
    for some_paths, some_definitions in parts:
        paths.update(some_paths)
        definitions.update(some_definitions)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": KUBERNETES_VERSION},
        "paths": paths,
        "definitions": definitions,
    }


def _definition(schema: dict[str, Json]) -> Json:
    """Of an object that keeps whatever it is given nothing is said: clients would refuse what is not named."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return {"type": "object", **{name: schema[name] for name in (_GVK,) if name in schema}}
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
        elif name == "$ref" and isinstance(value, str):  # a schema's schema has a member of that name
            out[name] = value.replace(_OLD, _NEW)
        elif name == "oneOf":
            # A choice is not to be said in v2; what it is read as is a text.
            out["type"] = "string"
        elif name not in ("nullable", "anyOf", "not"):
            out[name] = to_v2(value)
    return out


def _path(item: dict[str, Json]) -> dict[str, Json]:
    operations = {verb: _operation(found) for verb, found in item.items() if verb != "parameters"}
    return {**operations, "parameters": [_parameter(one) for one in item["parameters"]]}


def _operation(operation: dict[str, Json]) -> dict[str, Json]:
    out = {name: value for name, value in operation.items() if name not in ("requestBody", "responses")}
    parameters = [_parameter(one) for one in operation.get("parameters", ())]
    body = operation.get("requestBody")
    if body is not None:
        out["consumes"] = list(body["content"])
        schema = next(iter(body["content"].values()))["schema"]
        needed = {"required": True} if body.get("required") else {}
        parameters.append({"name": "body", "in": "body", "schema": _referred(schema), **needed})
    if parameters:
        out["parameters"] = parameters
    out["produces"] = list(operation["responses"]["200"]["content"])
    out["responses"] = {code: _response(found) for code, found in operation["responses"].items()}
    return out


def _response(response: dict[str, Json]) -> dict[str, Json]:
    told = {"description": response["description"]}
    if "content" not in response:
        return told
    return {**told, "schema": _referred(next(iter(response["content"].values()))["schema"])}


def _referred(schema: dict[str, Json]) -> dict[str, Json]:
    return {"$ref": schema["$ref"].replace(_OLD, _NEW)} if "$ref" in schema else schema


def _parameter(parameter: dict[str, Json]) -> dict[str, Json]:
    kept = {name: value for name, value in parameter.items() if name != "schema"}
    return {**kept, **parameter["schema"]}
