"""OpenAPI, from the type table: what `kubectl create`, `apply` and `explain` ask for. One document a version."""

import asyncio
import hashlib
from functools import cache
from typing import Any, Final

import msgspec

from doorman.api.kinds import Kind, Kinds, data_file, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.structural_schema import Structural
from doorman.api.well_known import KUBERNETES_VERSION
from doorman.server.discovery.openapi_paths import paths_of
from doorman.server.discovery.openapi_v2 import Parts, swagger, swagger_part
from doorman.server.request import Query, Request, Response, json_response

_V2_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_SCALARS: Final[dict[str, dict[str, Any]]] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "bool": {"type": "boolean"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "intstr": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "duration": {"type": "string"},
    "raw": {"type": "object"},
}
_NAMED: Final = {
    "quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "intstr": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "time": "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "microtime": "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
}
"""Scalars that Kubernetes describes once and refers to: `kubectl explain` tells a member's type by that name."""
_REFERRED: Final = {("meta.v1.ManagedFieldsEntry", "fieldsV1"): "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"}
"""Members of no type in particular to which Kubernetes gives a name all the same."""
_PREFIXES: Final = {"meta.v1": "io.k8s.apimachinery.pkg.apis.meta.v1"}


class OpenApi:
    def __init__(self, kinds: Kinds, schema: Schema) -> None:
        self._kinds = kinds
        self._schema = schema
        self._made: dict[tuple[str, str], tuple[list[Kind], tuple[bytes, str]]] = {}
        """By group and version: what it was made of, and the document with its digest."""
        self._swagger_parts: dict[tuple[str, str], tuple[list[Kind], Parts]] = {}
        """The same for OpenAPI v2, which is one document of all."""
        self._two: tuple[int, bytes] | None = None
        """The document of OpenAPI v2, with the edition of the kinds it was made of."""

    def answer(self, request: Request) -> Response | None:
        path = request.path.rstrip("/")
        if path == "/openapi/v2":
            return self._version_two(request)
        if path == "/openapi/v3":
            return self._index()
        if not path.startswith("/openapi/v3/"):
            return None
        return self._one(path.removeprefix("/openapi/v3/"), request.query)

    def _version_two(self, request: Request) -> Response:
        if _V2_PROTOBUF in request.headers.get("accept", ""):
            # An empty message is a valid document: old clients find no model in it and skip their own validation.
            return Response(content_type=_V2_PROTOBUF.replace("@", "."))
        if self._two is None or self._two[0] != self._kinds.edition:
            parts = [self._swagger_part(*where) for where in self._places().values()]
            self._two = (self._kinds.edition, msgspec.json.encode(swagger(parts)))
        return Response(body=self._two[1], headers=[("Vary", "Accept-Encoding, Accept")])

    async def prepare(self, request: Request) -> None:
        """Make what takes long to make, a version at a time: others have their turn in between."""
        if request.path.rstrip("/") != "/openapi/v2":
            return
        for where in self._places().values():
            self._swagger_part(*where)
            await asyncio.sleep(0)

    def _swagger_part(self, group: str, version: str) -> Parts:
        rows = self._kinds.in_version(group, version)
        known = self._swagger_parts.get((group, version))
        if known is None or known[0] != rows:
            known = self._swagger_parts[group, version] = (rows, swagger_part(self._parts(rows)))
        return known[1]

    def _places(self) -> dict[str, tuple[str, str]]:
        found = {}
        for group, versions in self._kinds.group_versions().items():
            for version in versions:
                found[f"apis/{group}/{version}" if group else f"api/{version}"] = (group, version)
        return found

    def _index(self) -> Response:
        paths = {
            place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={self._document(*where)[1]}"}
            for place, where in self._places().items()
        }
        response = json_response({"paths": paths})
        response.content_type = "text/plain; charset=utf-8"  # as upstream, which does not say what it is
        response.headers.append(("Etag", f'"{hashlib.sha512(response.body).hexdigest().upper()}"'))
        return response

    def _one(self, place: str, query: Query) -> Response | None:
        where = self._places().get(place)
        if where is None:
            return None
        body, digest = self._document(*where)
        wanted = query.get("hash")
        if wanted and wanted != digest:
            location = ("Location", f"/openapi/v3/{place}?hash={digest}")
            return Response(status=301, headers=[location])
        headers = [("Etag", f'"{digest}"'), ("Vary", "Accept")]
        response = Response(body=body, headers=headers)
        if wanted:
            response.cache_control = "public, immutable"
        return response

    def _document(self, group: str, version: str) -> tuple[bytes, str]:
        rows = self._kinds.in_version(group, version)
        known = self._made.get((group, version))
        if known is None or known[0] != rows:
            known = self._made[group, version] = (rows, self._make(rows))
        return known[1]

    def _parts(self, rows: list[Kind]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Paths and schemas of one version."""
        schemas: dict[str, Any] = {}
        paths: dict[str, Any] = {}
        for row in rows:
            structural = self._schema.structural(row.type_name)
            if structural is not None:
                name = _add_custom(row, structural, schemas)
            elif row.type_name:
                name = _add_schema(row.type_name, schemas)
                _add_version(row, schemas[name])
            else:
                continue
            if "list" in row.verbs:
                _add_list(row, name, schemas)
            paths.update(paths_of(row, name, lambda type_name: _add_schema(type_name, schemas)))
        return paths, schemas

    def _make(self, rows: list[Kind]) -> tuple[bytes, str]:
        paths, schemas = self._parts(rows)
        body = msgspec.json.encode(
            {
                "openapi": "3.0.0",
                "info": {"title": "Kubernetes", "version": KUBERNETES_VERSION},
                "paths": paths,
                "components": {"schemas": schemas},
            }
        )
        return body, hashlib.sha512(body).hexdigest().upper()


@cache
def _all_descriptions() -> dict[str, dict[str, str]]:
    """What `kubectl explain` says, in words of our own: by type and field; `*` is for members many types share."""
    found: dict[str, dict[str, str]] = data_file("descriptions.json")
    return found


def _descriptions(type_name: str) -> dict[str, str]:
    return {**_all_descriptions()["*"], **_all_descriptions().get(type_name, {})}


@cache
def _all_enums() -> dict[str, dict[str, list[str]]]:
    """The texts that a member may be, where the API says so: by type and field."""
    found: dict[str, dict[str, list[str]]] = data_file("enums.json")
    return found


def schema_name(type_name: str) -> str:
    for short, long in _PREFIXES.items():
        if type_name.startswith(short + "."):
            return f"{long}.{type_name.removeprefix(short + '.')}"
    return f"io.k8s.api.{type_name}"


def _add_schema(type_name: str, schemas: dict[str, Any]) -> str:
    name = schema_name(type_name)
    if name in schemas:
        return name
    row = type_table()[type_name]
    told, enums = _descriptions(type_name), _all_enums().get(type_name, {})
    schema: dict[str, Any] = {"type": "object"}
    if "" in told:
        schema["description"] = told[""]
    schemas[name] = schema
    properties: dict[str, Any] = {}
    needed = []
    for field_name, field in row["fields"].items():
        spec = field if isinstance(field, dict) else {"t": field}
        properties[field_name] = _property(spec, schemas)
        if (named := _REFERRED.get((type_name, field_name))) is not None:
            schemas[named] = properties[field_name]
            properties[field_name] = {"allOf": [{"$ref": f"#/components/schemas/{named}"}]}
        if field_name in told:
            properties[field_name]["description"] = told[field_name]
        if field_name in enums:
            _add_enum(properties[field_name], enums[field_name])
        if spec.get("req"):
            needed.append(field_name)
    if properties:
        schema["properties"] = properties
    if needed:
        schema["required"] = needed
    if row.get("mapType"):
        schema["x-kubernetes-map-type"] = row["mapType"]
    if row.get("gvk"):
        schema["x-kubernetes-group-version-kind"] = [
            {"group": group, "version": version, "kind": kind} for group, version, kind in row["gvk"]
        ]
    return name


def _add_enum(shown: dict[str, Any], texts: list[str]) -> None:
    """To a member, or to each of a list."""
    if shown.get("type") == "array":
        shown["items"] = {**shown["items"], "enum": texts}
    else:
        shown["enum"] = texts


def _add_list(row: Kind, item: str, schemas: dict[str, Any]) -> None:
    """What a list of the kind is."""
    name = f"{item}List"
    told = _all_descriptions()["*"]
    metadata = _add_schema("meta.v1.ListMeta", schemas)
    schemas.setdefault(
        name,
        {
            "type": "object",
            "description": f"Objects of kind {row.kind}.",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string", "description": told["apiVersion"]},
                "items": {"type": "array", "items": {"$ref": f"#/components/schemas/{item}"}},
                "kind": {"type": "string", "description": told["kind"]},
                "metadata": {"allOf": [{"$ref": f"#/components/schemas/{metadata}"}]},
            },
        },
    )
    _add_version(row, schemas[name], f"{row.kind}List")


def _add_version(row: Kind, schema: dict[str, Any], kind: str = "") -> None:
    """A version that shares its types with a newer one is named beside it: clients look kinds up by that."""
    own = {"group": row.group, "version": row.version, "kind": kind or row.kind}
    known = schema.setdefault("x-kubernetes-group-version-kind", [])
    if own not in known:
        known.append(own)


def _add_custom(row: Kind, structural: Structural, schemas: dict[str, Any]) -> str:
    """As its definition says, with the members that every object has."""
    _add_schema("meta.v1.ObjectMeta", schemas)
    metadata = {"allOf": [{"$ref": f"#/components/schemas/{schema_name('meta.v1.ObjectMeta')}"}]}
    own: dict[str, Any] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": metadata}
    told = _all_descriptions()["*"]
    own = {name: {**member, "description": told[name]} for name, member in own.items()}
    name = ".".join((*reversed(row.group.split(".")), row.version, row.kind))
    schemas[name] = {
        **structural.source,
        "properties": {**structural.source.get("properties", {}), **own},
        "x-kubernetes-group-version-kind": [{"group": row.group, "version": row.version, "kind": row.kind}],
    }
    return name


def _property(spec: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    out = dict(_expression(spec["t"], schemas))
    for key, extension in (
        ("ps", "patch-strategy"),
        ("mk", "patch-merge-key"),
        ("lt", "list-type"),
        ("mt", "map-type"),
    ):
        if spec.get(key):
            out[f"x-kubernetes-{extension}"] = spec[key]
    if spec.get("lk"):
        out["x-kubernetes-list-map-keys"] = spec["lk"]
    if "def" in spec:
        out["default"] = spec["def"]
    return out


def _expression(expression: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if isinstance(expression, list):
        inner = _expression(expression[1], schemas)
        if expression[0] == "list":
            return {"type": "array", "items": inner}
        return {"type": "object", "additionalProperties": inner}
    if expression.startswith("@"):
        _add_schema(expression[1:], schemas)
        return {"allOf": [{"$ref": f"#/components/schemas/{schema_name(expression[1:])}"}]}
    if expression in _NAMED:
        schemas[_NAMED[expression]] = _SCALARS[expression]
        return {"allOf": [{"$ref": f"#/components/schemas/{_NAMED[expression]}"}]}
    return _SCALARS[expression]
