"""The recorded `validation` and `admission` cases, through defaulting, admission and validation alone.

A case is played on a dictionary of documents in place of a server. Steps that need one (controllers, authorization,
watches) end a case early: what came before them still counts.
"""

import copy
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from doorman.admission.chain import AdmissionSettings, Chain, build_chain
from doorman.admission.plugin_contract import Attributes, Docs, Operation, Weigh
from doorman.api.identity import ADMIN, User
from doorman.api.kinds import Kind, builtin_kinds, type_table
from doorman.api.machinery.decode_errors import DecodeError
from doorman.api.machinery.schema import Schema
from doorman.api.patch.json_patch import json_patch, merge_patch
from doorman.api.patch.strategic_merge_patch import strategic_merge
from doorman.api.well_known import JOBS
from doorman.base.errors import ApiError, already_exists, bad_request, invalid_object, not_found
from doorman.base.json_types import Document
from doorman.registry.kinds.job_strategy import generate_selector
from doorman.semantics.pods.pod_resources import Amounts
from doorman.semantics.pods.qos import qos_class
from doorman.validation.defaults import DEFAULTERS
from doorman.validation.validators import Context, validator_of

CONFORMANCE = Path(__file__).parents[2] / "conformance"
_match_spec = importlib.util.spec_from_file_location("kit_match", CONFORMANCE / "kitlib" / "match.py")
assert _match_spec is not None
assert _match_spec.loader is not None
_match = importlib.util.module_from_spec(_match_spec)
_match_spec.loader.exec_module(_match)

SCHEMA = Schema(type_table())
KINDS = builtin_kinds()
NAMESPACE = "kit-ns"
PATH = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
    r"(?:/namespaces/(?P<ns>[^/]+)(?=/))?/(?P<resource>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?$"
)
AUTHORIZATION = re.compile(r"User \\?\"[^\"]+\" cannot|requests? user")


class _EndOfCase(Exception):
    """The rest of the case needs a server."""


class _World:
    """Documents by (group resource, namespace, name)."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.docs: dict[tuple[str, str, str], Document] = {}
        for name in ("default", "kube-system", "kube-node-lease", NAMESPACE):
            metadata = dict(namespace) if name == NAMESPACE else {}
            self.docs["namespaces", "", name] = {"metadata": {**metadata, "name": name}, "status": {"phase": "Active"}}
            self.docs["serviceaccounts", name, "default"] = {"metadata": {"name": "default", "namespace": name}}
        for name, value in (("system-node-critical", 2000001000), ("system-cluster-critical", 2000000000)):
            key = "priorityclasses.scheduling.k8s.io", "", name
            self.docs[key] = {"metadata": {"name": name}, "value": value}
        self.chain: Chain = build_chain(AdmissionSettings(suffix=lambda: "abcde"))

    def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        return self.docs.get((resource, namespace, name))

    def labels(self, resource: str, namespace: str, name: str) -> Mapping[str, str] | None:
        found = self.get(resource, namespace, name)
        return None if found is None else found["metadata"].get("labels", {})

    def total(self, resource: str, namespace: str, _name: str, weigh: Weigh) -> Amounts:
        found: Amounts = {}
        for doc in self.list(resource, namespace):
            for name, amount in weigh(dict(doc)).items():
                found[name] = found.get(name, Fraction(0)) + amount
        return found

    def find_kind(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        raise AssertionError(f"nobody asks for {api_version} {kind}")

    def converted(self, api_version: str, kind: str, docs: Docs) -> Docs:
        raise AssertionError(f"nobody shows {len(docs)} {api_version} {kind}")

    async def convert_ahead(self, api_version: str, kind: str, docs: Docs) -> None:
        raise AssertionError(f"nobody shows {len(docs)} {api_version} {kind}")

    def list(self, resource: str, namespace: str = "") -> Iterable[Mapping[str, Any]]:
        return [doc for (one, where, _), doc in self.docs.items() if one == resource and where == namespace]

    def write(self, kind: Kind, step: "_Step", body: Any) -> Document:
        if step.method == "POST":
            new, old = self._read(kind, body), None
            new.setdefault("metadata", {})
            if kind.namespaced and new["metadata"].setdefault("namespace", step.namespace) != step.namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
        else:
            found = self.docs.get((kind.group_resource, step.namespace, step.name))
            if found is None:
                raise not_found(kind.named, step.name)
            old = copy.deepcopy(found)
            new = self._read(kind, self._patched(kind, step, copy.deepcopy(found), body))
            named = new["metadata"].get("name")
            if named != step.name:
                raise bad_request(f"the name of the object ({named}) does not match the name on the URL ({step.name})")
            new["metadata"] = {
                **{k: v for k, v in old["metadata"].items() if k in ("uid", "namespace")},
                **new["metadata"],
            }
        return self._propose(kind, step, new, old)

    def _propose(self, kind: Kind, step: "_Step", new: Document, old: Document | None) -> Document:
        if kind.storage in DEFAULTERS:
            DEFAULTERS[kind.storage](new)
        attributes = Attributes(
            operation=Operation.CREATE if old is None else Operation.UPDATE,
            group=kind.group,
            version=kind.version,
            kind=kind.kind,
            resource=kind.resource,
            subresource=step.subresource,
            namespace=step.namespace,
            name=step.name or new["metadata"].get("name", ""),
            user=step.user,
            obj=new,
            old=old,
        )
        self.chain.admit(attributes, self, 0.0)
        if step.subresource == "status" and old is not None:
            new["spec"] = old.get("spec", {})
        elif kind.storage == JOBS and old is None:
            new["metadata"].setdefault("uid", f"uid-{len(self.docs)}")
            generate_selector(new)
        elif kind.storage == "pods":
            new["status"] = {"phase": "Pending", "qosClass": str(qos_class(new["spec"]))}
        if new["metadata"].get("generateName") and not new["metadata"].get("name"):
            new["metadata"]["name"] = new["metadata"]["generateName"] + "abcde"
        context = Context(subresource=step.subresource)
        validator = validator_of(kind.storage)
        errors = validator.create(new, context) if old is None else validator.update(new, old, context)
        if errors:
            raise invalid_object(kind.kind, kind.group, new["metadata"].get("name", ""), errors)
        self.chain.validate(attributes, self, 0.0)
        self.chain.limit(attributes, self, 0.0)
        key = kind.group_resource, step.namespace, new["metadata"]["name"]
        if old is None and key in self.docs:
            raise already_exists(kind.named, key[2])
        if not step.is_dry:
            new["metadata"].setdefault("uid", f"uid-{len(self.docs)}")
            self.docs[key] = copy.deepcopy(new)
        return new

    def _read(self, kind: Kind, body: Any) -> Document:
        try:
            return SCHEMA.clean(copy.deepcopy(body), kind.type_name)[0]
        except DecodeError as error:
            version = quoted(kind.version if not kind.group else f"{kind.group}/{kind.version}")
            raise bad_request(
                f"{kind.kind} in version {version} cannot be handled as a {kind.kind}: {error}"
            ) from error

    def _patched(self, kind: Kind, step: "_Step", live: Document, body: Any) -> Document:
        if step.method == "PUT":
            return dict(body)
        match step.content_type:
            case "application/json-patch+json":
                return json_patch(live, body)
            case "application/merge-patch+json":
                return merge_patch(live, body)
            case "application/strategic-merge-patch+json":
                return strategic_merge(SCHEMA, kind.type_name, live, body)
        raise _EndOfCase


def quoted(text: str) -> str:
    return f'"{text}"'


class _Step:
    def __init__(self, raw: Mapping[str, Any], kind: Kind, found: re.Match[str], query: str) -> None:
        self.method: str = raw.get("method", "GET")
        self.kind = kind
        self.namespace: str = found["ns"] or ""
        self.name: str = found["name"] or ""
        self.subresource: str = found["sub"] or ""
        self.is_dry = "dryRun=All" in query
        headers = raw.get("headers") or {}
        self.content_type: str = headers.get("Content-Type", "")
        self.user = ADMIN
        if "Impersonate-User" in headers:
            groups = (headers.get("Impersonate-Group", ""), "system:authenticated")
            self.user = User(name=headers["Impersonate-User"], groups=groups)


def _parse(raw: Mapping[str, Any]) -> _Step:
    path, _, query = raw["path"].partition("?")
    found = PATH.fullmatch(path)
    if found is None or "dryRun=Some" in query or "fieldValidation" in query:
        raise _EndOfCase
    kind = KINDS.at(found["group"] or "", found["core"] or found["version"], found["resource"])
    if kind is None or (found["sub"] or "") not in ("", "status"):
        raise _EndOfCase
    return _Step(raw, kind, found, query)


def _play(world: _World, raw: Mapping[str, Any]) -> tuple[int, Any]:
    step = _parse(raw)
    key = step.kind.group_resource, step.namespace, step.name
    try:
        match step.method:
            case "GET":
                if key not in world.docs:
                    raise not_found(step.kind.named, step.name)
                return 200, world.docs[key]
            case "DELETE":
                attributes = Attributes(
                    operation=Operation.DELETE,
                    group=step.kind.group,
                    kind=step.kind.kind,
                    resource=step.kind.resource,
                    namespace=step.namespace,
                    name=step.name,
                    user=step.user,
                    old=world.docs.get(key),
                )
                world.chain.admit(attributes, world, 0.0)
                if step.kind.resource in ("pods", "namespaces"):
                    raise _EndOfCase
                return 200, world.docs.pop(key)
            case _:
                if "body" not in raw:
                    raise _EndOfCase
                return (201 if step.method == "POST" else 200), world.write(step.kind, step, raw["body"])
    except ApiError as error:
        return error.code, error.status()


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    text = json.dumps(value)
    for name, found in values.items():
        text = text.replace("${" + name + "}", found)
    return json.loads(text)


def _cases() -> Iterator[Any]:
    for suite in ("validation", "admission"):
        for path in sorted((CONFORMANCE / "cases" / suite).glob("*.json")):
            found = json.loads(path.read_text())
            for case in found if isinstance(found, list) else [found]:
                yield pytest.param(case, id=f"{suite}/{path.stem}: {case['name']}")


SIZE = {"cpu": "4", "memory": "8Gi", "pods": "110"}
"""Of the kit's nodes."""


@pytest.mark.parametrize("case", list(_cases()))
def test_recorded_case(case: Mapping[str, Any]) -> None:
    world = _World(case.get("namespace") or {})
    for node in case.get("nodes") or ():
        spec = {"taints": node["taints"]} if node.get("taints") else {}
        doc = {"metadata": {"name": node["name"], "uid": f"uid-{node['name']}"}, "spec": spec}
        doc["status"] = {"capacity": dict(SIZE), "allocatable": dict(SIZE)}
        world.docs["nodes", "", node["name"]] = doc
        lease = {"metadata": {"name": node["name"], "namespace": "kube-node-lease"}, "spec": {}}
        world.docs["leases.coordination.k8s.io", "kube-node-lease", node["name"]] = lease
    values = {"ns": NAMESPACE}
    for raw in case["steps"]:
        step = _filled(raw, values)
        if step["do"] == "sleep":
            continue
        if step["do"] != "http" or AUTHORIZATION.search(json.dumps(step.get("expect") or "")):
            return
        try:
            status, body = _play(world, step)
        except _EndOfCase:
            return
        expected = step.get("expect") or {}
        found = _match.difference(expected, {"status": status, "body": body})
        assert found is None, f"{step.get('method', 'GET')} {step['path']}: {found}"
        for name, where in (step.get("save") or {}).items():
            value = body
            for part in where.split("."):
                value = value[part]
            values[name] = value
