"""Who may do what, all of it: identities x kinds x subresources x verbs.

What is expected comes from the roles as they are stored, spelled out right by right; the authorizer matches patterns
and remembers. The node's rights are not in roles: they stand here.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from doorman.api.identity import User
from doorman.api.kinds import builtin_kinds
from doorman.server.request import RequestInfo
from support.api import Api, running_api

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate", "escalate")
AUTHENTICATED = ("system:discovery", "system:basic-user", "system:public-info-viewer")
NAMESPACE = "default"

Right = tuple[str, str, str]
"""Verb, group, resource with its subresource."""

IDENTITIES = {
    "plain-user": ("jane", ("system:authenticated",), AUTHENTICATED),
    "anonymous": ("system:anonymous", ("system:unauthenticated",), ("system:public-info-viewer",)),
    "scheduler": (
        "system:kube-scheduler",
        ("system:authenticated",),
        (*AUTHENTICATED, "system:kube-scheduler", "system:volume-scheduler"),
    ),
    "controller-manager": (
        "system:kube-controller-manager",
        ("system:authenticated",),
        (*AUTHENTICATED, "system:kube-controller-manager"),
    ),
    "deployment-controller": (
        "system:serviceaccount:kube-system:deployment-controller",
        ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
        (
            *AUTHENTICATED,
            "system:controller:deployment-controller",
            "system:service-account-issuer-discovery",
            "system:cluster-trust-bundle-discovery",
        ),
    ),
    "viewer": ("viewer", ("system:authenticated",), (*AUTHENTICATED, "view")),
    "editor": ("editor", ("system:authenticated",), (*AUTHENTICATED, "edit")),
    "namespace-admin": ("namespace-admin", ("system:authenticated",), (*AUTHENTICATED, "admin")),
}

NODE_RIGHTS: dict[str, tuple[str, ...]] = {
    "nodes": ("create", "update", "patch"),
    "nodes/status": ("update", "patch"),
    "pods": ("create", "delete"),
    "pods/status": ("update", "patch"),
    "pods/eviction": ("create",),
    "services": ("get", "list", "watch"),
    "endpoints": ("get",),
    "events": ("create", "update", "patch"),
    "events.events.k8s.io": ("create", "update", "patch"),
    "certificatesigningrequests.certificates.k8s.io": ("create", "get", "list", "watch"),
    "podcertificaterequests.certificates.k8s.io": ("create", "get", "list", "watch"),
    "clustertrustbundles.certificates.k8s.io": ("get", "list", "watch"),
    "tokenreviews.authentication.k8s.io": ("create",),
    "subjectaccessreviews.authorization.k8s.io": ("create",),
    "localsubjectaccessreviews.authorization.k8s.io": ("create",),
    "selfsubjectaccessreviews.authorization.k8s.io": ("create",),
    "selfsubjectrulesreviews.authorization.k8s.io": ("create",),
    "selfsubjectreviews.authentication.k8s.io": ("create",),
    "csinodes.storage.k8s.io": ("create",),
    "csidrivers.storage.k8s.io": ("get", "list", "watch"),
    "runtimeclasses.node.k8s.io": ("get", "list", "watch"),
    "resourceslices.resource.k8s.io": ("create",),
}
"""What a node may do without naming an object: by group resource and subresource."""


def resources() -> Iterator[tuple[str, str]]:
    """Every group and resource there is, subresources too, each once."""
    seen: dict[tuple[str, str], None] = {}
    for row in builtin_kinds().rows:
        seen[(row.group, row.resource)] = None
        for sub in row.subresources:
            seen[(row.group, f"{row.resource}/{sub.name}")] = None
    yield from seen


def spelled_out(rules: list[dict[str, Any]]) -> set[Right]:
    """All rights without a resource name that rules give."""
    rights: set[Right] = set()
    for rule in rules:
        if rule.get("resourceNames") or not rule.get("resources"):
            continue
        verbs = VERBS if "*" in rule["verbs"] else rule["verbs"]
        for group, resource in resources():
            if group not in rule["apiGroups"] and "*" not in rule["apiGroups"]:
                continue
            subresource = resource.partition("/")[2]
            patterns = {resource, "*", f"*/{subresource}" if subresource else resource}
            if patterns & set(rule["resources"]):
                rights |= {(verb, group, resource) for verb in verbs}
    return rights


def asked(verb: str, group: str, resource: str, namespace: str = NAMESPACE) -> RequestInfo:
    name, _, subresource = resource.partition("/")
    return RequestInfo(
        is_resource=True,
        verb=verb,
        path="",
        group=group,
        resource=name,
        subresource=subresource,
        namespace=namespace,
    )


def stored_rules(api: Api, role: str) -> list[dict[str, Any]]:
    stored = api.cluster.cache.collection("clusterroles.rbac.authorization.k8s.io").get(role)
    assert stored is not None, f"no cluster role {role}"
    return list(stored.document().get("rules", []))


async def given_bindings(api: Api) -> None:
    """Three people with Kubernetes' roles for people, in one namespace."""
    for user, role in (("viewer", "view"), ("editor", "edit"), ("namespace-admin", "admin")):
        group = "rbac.authorization.k8s.io"
        binding = {
            "metadata": {"name": user},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "apiGroup": group, "name": user}],
        }
        await api.given(f"rolebindings.{group}", binding, namespace=NAMESPACE)


def disagreements(api: Api, user: User, expected: set[Right], namespace: str = NAMESPACE) -> list[str]:
    wrong = []
    for group, resource in resources():
        for verb in VERBS:
            is_allowed = api.cluster.authorizer.decide(user, asked(verb, group, resource, namespace)).is_allowed
            if is_allowed is not ((verb, group, resource) in expected):
                wrong.append(f"{verb} {resource} of {group or 'core'}: {'allowed' if is_allowed else 'refused'}")
    return wrong


@pytest.mark.parametrize("identity", IDENTITIES)
async def test_identity_may_do_what_its_roles_say_and_nothing_else(identity: str) -> None:
    name, groups, roles = IDENTITIES[identity]
    async with running_api() as api:
        await given_bindings(api)
        expected = spelled_out([rule for role in roles for rule in stored_rules(api, role)])
        assert disagreements(api, User(name=name, groups=groups), expected) == []


@pytest.mark.parametrize("identity", ["viewer", "editor", "namespace-admin"])
async def test_rights_in_one_namespace_are_none_in_another(identity: str) -> None:
    name, groups, _ = IDENTITIES[identity]
    async with running_api() as api:
        await given_bindings(api)
        expected = spelled_out([rule for role in AUTHENTICATED for rule in stored_rules(api, role)])
        assert disagreements(api, User(name=name, groups=groups), expected, "kube-system") == []


async def test_masters_may_do_everything() -> None:
    async with running_api() as api:
        everything = {(verb, group, resource) for group, resource in resources() for verb in VERBS}
        assert disagreements(api, User(name="x", groups=("system:masters",)), everything) == []


async def test_node_may_do_what_stands_here_and_nothing_else() -> None:
    async with running_api() as api:
        expected = {
            (verb, group, resource)
            for group, resource in resources()
            for verb in NODE_RIGHTS.get(f"{resource}.{group}" if group else resource, ())
        }
        node = User(name="system:node:n1", groups=("system:nodes", "system:authenticated"))
        assert disagreements(api, node, expected) == []


@pytest.mark.parametrize(
    ("identity", "path", "is_allowed"),
    [
        pytest.param("anonymous", "/healthz", True, id="anonymous-health"),
        pytest.param("anonymous", "/version", True, id="anonymous-version"),
        pytest.param("anonymous", "/api", False, id="anonymous-discovery"),
        pytest.param("anonymous", "/metrics", False, id="anonymous-metrics"),
        pytest.param("anonymous", "/healthz/../metrics", False, id="anonymous-dots"),
        pytest.param("anonymous", "/HEALTHZ", False, id="anonymous-case"),
        pytest.param("plain-user", "/apis/apps/v1", True, id="user-discovery"),
        pytest.param("plain-user", "/openapi/v3/api/v1", True, id="user-openapi"),
        pytest.param("plain-user", "/metrics", False, id="user-metrics"),
        pytest.param("plain-user", "/", False, id="user-root"),
    ],
)
async def test_paths(identity: str, path: str, is_allowed: bool) -> None:
    name, groups, _ = IDENTITIES[identity]
    async with running_api() as api:
        info = RequestInfo(is_resource=False, verb="get", path=path)
        assert api.cluster.authorizer.decide(User(name=name, groups=groups), info).is_allowed is is_allowed
