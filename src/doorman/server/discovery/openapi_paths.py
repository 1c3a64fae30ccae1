"""The paths of OpenAPI: what can be asked of a kind and its subresources, with what, and what the answer is made of.

Clients are generated from it, and kubectl reads here whether it may send a strategic merge patch or a dry run.
Subresources that reach containers are left out: nothing answers there.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from doorman.api.kinds import Kind, Subresource
from doorman.api.well_known import JSON
from doorman.base.json_types import Json
from doorman.server.codec.negotiation import YAML

SchemaNamer = Callable[[str], str]
"""Sees to it that a type of the type table is described, and gives the name of its schema."""

_REF: Final = "#/components/schemas/"
_PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_STATUS: Final = "meta.v1.Status"
_DELETE_OPTIONS: Final = "meta.v1.DeleteOptions"
_TYPES: Final = {
    "Binding": "core.v1.Binding",
    "Eviction": "policy.v1.Eviction",
    "Scale": "autoscaling.v1.Scale",
    "TokenRequest": "authentication.v1.TokenRequest",
}
"""Of objects that subresources have for their own."""
_ACTIONS: Final = {
    # verb: method, the action's name, how operations are named, codes of answers
    "list": ("get", "list", "list", ("200",)),
    "create": ("post", "post", "create", ("200", "201", "202")),
    "deletecollection": ("delete", "deletecollection", "delete", ("200",)),
    "get": ("get", "get", "read", ("200",)),
    "update": ("put", "put", "replace", ("200", "201")),
    "patch": ("patch", "patch", "patch", ("200", "201")),
    "delete": ("delete", "delete", "delete", ("200", "202")),
}
_ON_COLLECTIONS: Final = ("list", "create", "deletecollection")
_ON_OBJECTS: Final = ("get", "update", "delete", "patch")
_TOLD: Final = {"200": "OK", "201": "Created", "202": "Accepted", "401": "Unauthorized"}

_TEXT: Final = {"schema": {"type": "string"}}

_WRITES: Final = (("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"))
_SELECTS: Final = (
    ("continue", "string"), ("fieldSelector", "string"), ("labelSelector", "string"), ("limit", "integer"),
    ("resourceVersion", "string"), ("resourceVersionMatch", "string"), ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
)  # fmt: skip
_DELETES: Final = (
    ("dryRun", "string"), ("gracePeriodSeconds", "integer"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"), ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
)  # fmt: skip
_PARAMETERS: Final = {
    "list": (("allowWatchBookmarks", "boolean"), *_SELECTS, ("watch", "boolean")),
    "create": _WRITES,
    "deletecollection": (*_SELECTS, *_DELETES),
    "get": (),
    "update": _WRITES,
    "patch": (*_WRITES, ("force", "boolean")),
    "delete": _DELETES,
}


def paths_of(row: Kind, schema: str, named: SchemaNamer) -> dict[str, Json]:
    """`schema` is the name of the kind's own."""
    base = f"{row.path}/namespaces/{{namespace}}/{row.resource}" if row.namespaced else f"{row.path}/{row.resource}"
    place = [_path_parameter("namespace")] if row.namespaced else []
    made = _Operations(row, named)
    found: dict[str, Json] = {}
    own = made.gvk(row.kind, row.group, row.version)
    collection = dict(made.operations([verb for verb in _ON_COLLECTIONS if verb in row.verbs], own, schema))
    if collection:
        found[base] = {**collection, "parameters": [*place, _PRETTY]}
        if row.namespaced and "list" in row.verbs:
            everywhere = made.operation("list", own, schema)
            everywhere["operationId"] = f"list{made.prefix}{row.kind}ForAllNamespaces"
            found[f"{row.path}/{row.resource}"] = {
                "get": everywhere,
                "parameters": [*everywhere.pop("parameters"), _PRETTY],
            }
    item = dict(made.operations([verb for verb in _ON_OBJECTS if verb in row.verbs], own, schema))
    parameters = [_path_parameter("name"), *place, _PRETTY]
    if item:
        found[f"{base}/{{name}}"] = {**item, "parameters": parameters}
    for sub in row.subresources:
        if operations := _subresource(made, row, sub, schema):
            found[f"{base}/{{name}}/{sub.name}"] = {**operations, "parameters": parameters}
    return found


def _subresource(made: "_Operations", row: Kind, sub: Subresource, schema: str) -> dict[str, Json]:
    if sub.kind == row.kind:
        name = schema
    elif sub.kind in _TYPES:
        name = made.named(_TYPES[sub.kind])
    else:
        return {}
    group, version = (sub.group, sub.version) if sub.version else (row.group, row.version)
    verbs = [verb for verb in (*_ON_COLLECTIONS, *_ON_OBJECTS) if verb in sub.verbs]
    gvk = made.gvk(sub.kind, group, version)
    return dict(made.operations(verbs, gvk, name, sub.name[:1].upper() + sub.name[1:]))


class _Operations:
    """Those of one kind."""

    def __init__(self, row: Kind, named: SchemaNamer) -> None:
        self._row = row
        self.named = named
        group = "".join(
            part[:1].upper() + part[1:] for part in (row.group or "core").removesuffix(".k8s.io").split(".")
        )
        self.prefix = f"{group}{row.version[:1].upper()}{row.version[1:]}"
        """How all operations of a version are named."""
        self._tag = f"{group[:1].lower()}{group[1:]}_{row.version}"

    def gvk(self, kind: str, group: str, version: str) -> dict[str, str]:
        return {"group": group, "version": version, "kind": kind}

    def operations(
        self, verbs: Sequence[str], gvk: dict[str, str], schema: str, part: str = ""
    ) -> Iterator[tuple[str, dict[str, Json]]]:
        for verb in verbs:
            yield _ACTIONS[verb][0], self.operation(verb, gvk, schema, part)

    def operation(self, verb: str, gvk: dict[str, str], schema: str, part: str = "") -> dict[str, Json]:
        _, action, word, codes = _ACTIONS[verb]
        row = self._row
        named = f"{'Namespaced' if row.namespaced else ''}{row.kind}{part}"
        answered = f"{schema}List" if verb == "list" else schema
        if verb == "deletecollection" or (verb == "delete" and not row.returns_deleted):
            answered = self.named(_STATUS)
        out: dict[str, Json] = {
            "tags": [self._tag],
            "operationId": f"{word}{self.prefix}{'Collection' if verb == 'deletecollection' else ''}{named}",
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
            "responses": _responses(codes, _TEXT if part == "Log" else _schema(answered), is_list=verb == "list"),
        }
        if parameters := _QUERIES[verb]:
            out["parameters"] = parameters
        if verb == "patch":
            media = [each for each in _PATCHES if not row.is_custom or "strategic" not in each]
            out["requestBody"] = {"content": {each: {"schema": {"type": "object"}} for each in media}, "required": True}
        elif verb in ("create", "update"):
            out["requestBody"] = {"content": {"*/*": _schema(schema)}, "required": True}
        elif verb.startswith("delete"):
            out["requestBody"] = {"content": {"*/*": _schema(self.named(_DELETE_OPTIONS))}}
        return out


def _responses(codes: Sequence[str], answer: dict[str, Json], *, is_list: bool) -> dict[str, Json]:
    media = (JSON, f"{JSON};stream=watch", YAML) if is_list else (JSON, YAML)
    content = dict.fromkeys(media, answer)
    told = {code: {"description": _TOLD[code], "content": content} for code in codes}
    return {**told, "401": {"description": _TOLD["401"]}}


def _schema(name: str) -> dict[str, Json]:
    return {"schema": {"$ref": _REF + name}}


def _parameter(name: str, type_: str) -> dict[str, Json]:
    return {"name": name, "in": "query", "schema": {"type": type_, "uniqueItems": True}}


def _path_parameter(name: str) -> dict[str, Json]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}


_PRETTY: Final = _parameter("pretty", "string")
_QUERIES: Final = {verb: [_parameter(*each) for each in named] for verb, named in _PARAMETERS.items()}
