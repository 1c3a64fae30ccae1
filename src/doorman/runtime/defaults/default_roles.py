"""The roles and bindings every cluster starts with, from a compact table (`role_table.py`)."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from doorman.api.views.access.rbac import PolicyRule, Role
from doorman.api.well_known import RBAC_GROUP
from doorman.base.json_types import Document
from doorman.client.actions import Create, Patch, PatchType
from doorman.client.client import Client
from doorman.controllers.cluster.clusterrole_aggregation import decide_rules, rule_documents
from doorman.runtime.defaults.default_objects import Existing, attempt
from doorman.runtime.defaults.role_table import parse_rule, role_table
from doorman.server.auth.rbac_rules import missing_rights

BOOTSTRAPPING: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
AUTOUPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"
CONTROLLER_PREFIX: Final = "system:controller:"


class Default(msgspec.Struct, frozen=True):
    """One object to be there from the start."""

    resource: str
    namespace: str
    body: dict[str, Any]  # a manifest


def default_objects() -> Iterator[Default]:
    table = role_table()
    cluster_roles = {name: tuple(parse_rule(text) for text in texts) for name, texts in table.cluster_roles.items()}
    for name, texts in table.controllers.items():
        cluster_roles[CONTROLLER_PREFIX + name] = tuple(parse_rule(text) for text in texts)
    views = [
        msgspec.convert({"metadata": _metadata(name, table.labels.get(name)), "rules": rule_documents(rules)}, Role)
        for name, rules in cluster_roles.items()
    ]
    for name, rules in cluster_roles.items():
        yield _role("", name, rules, label=table.labels.get(name))
    for name, label in table.aggregated.items():
        aggregation = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}
        body: Document = {"metadata": _metadata(name, table.labels.get(name)), "aggregationRule": aggregation}
        rules = decide_rules(msgspec.convert(body, Role), views) or ()
        body["rules"] = rule_documents(rules)
        views.append(msgspec.convert(body, Role))
        yield Default(f"clusterroles.{RBAC_GROUP}", "", body)
    for name, (role, *subjects) in table.cluster_role_bindings.items():
        yield _binding("", name, role, subjects)
    for name in table.controllers:
        named = CONTROLLER_PREFIX + name
        yield _binding("", named, named, [f"ServiceAccount kube-system/{name}"])
    for key, texts in table.roles.items():
        namespace, _, name = key.partition("/")
        yield _role(namespace, name, tuple(parse_rule(text) for text in texts))
    for key, (role, *subjects) in table.role_bindings.items():
        namespace, _, name = key.partition("/")
        yield _binding(namespace, name, role, subjects)


async def ensure_roles(client: Client, existing: Existing) -> None:
    """Create what is missing and add what was taken from what is there, unless its annotation says to leave it."""
    defaults = list(default_objects())
    writes = [(default, _write(client, default, existing)) for default in defaults]
    await asyncio.gather(
        *(
            attempt(write, f"{default.resource} {default.body['metadata']['name']}")
            for default, write in writes
            if write is not None
        )
    )


def _write(client: Client, default: Default, existing: Existing) -> Any:  # an awaitable or nothing
    name = default.body["metadata"]["name"]
    found = existing(default.resource, default.namespace, name)
    if found is None:
        return client.create(Create(resource=default.resource, namespace=default.namespace, body=default.body))
    if (found["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false":
        return None
    change = _additions(default.body, found)
    if not change:
        return None
    return client.patch(
        Patch(
            resource=default.resource,
            namespace=default.namespace,
            name=name,
            body=change,
            type=PatchType.MERGE,
        )
    )


def _additions(wanted: Document, found: Document) -> Document:
    if "roleRef" in wanted:
        subjects = found.get("subjects") or []
        missing = [subject for subject in wanted["subjects"] if subject not in subjects]
        return {"subjects": [*subjects, *missing]} if missing else {}
    if "aggregationRule" in wanted:
        return {}  # the controller's to fill
    rules = found.get("rules") or []
    held = msgspec.convert(rules, tuple[PolicyRule, ...])
    lacking = missing_rights(held, msgspec.convert(wanted["rules"], tuple[PolicyRule, ...]))
    return {"rules": [*rules, *rule_documents(lacking)]} if lacking else {}


def _role(namespace: str, name: str, rules: Iterable[PolicyRule], *, label: str | None = None) -> Default:
    resource = f"{'roles' if namespace else 'clusterroles'}.{RBAC_GROUP}"
    return Default(resource, namespace, {"metadata": _metadata(name, label), "rules": rule_documents(rules)})


def _binding(namespace: str, name: str, role: str, subjects: Iterable[str]) -> Default:
    resource = f"{'rolebindings' if namespace else 'clusterrolebindings'}.{RBAC_GROUP}"
    ref = {"apiGroup": RBAC_GROUP, "kind": "Role" if namespace else "ClusterRole", "name": role}
    body = {"metadata": _metadata(name, None), "roleRef": ref, "subjects": [_subject(text) for text in subjects]}
    return Default(resource, namespace, body)


def _metadata(name: str, label: str | None) -> Document:
    labels = BOOTSTRAPPING if label is None else {**BOOTSTRAPPING, label: "true"}
    return {"name": name, "labels": dict(labels), "annotations": {AUTOUPDATE: "true"}}


def _subject(text: str) -> Document:
    kind, _, name = text.partition(" ")
    if kind != "ServiceAccount":
        return {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}
    namespace, _, account = name.partition("/")
    return {"kind": kind, "name": account, "namespace": namespace}
