"""Which schema a request belongs to: with Kubernetes' own schemas, and with the fine print."""

from typing import Any

import msgspec
import pytest

from doorman.api.identity import User
from doorman.api.kinds import data_file
from doorman.api.views.access.flowcontrol import FlowSchema
from doorman.server.flowcontrol.flow_schemas import classify, flow_of, in_order
from doorman.server.request import Query, RequestInfo, parse_request_info

DEFAULTS = in_order(msgspec.convert(doc, FlowSchema) for doc in data_file("flow_control.json")["flowschemas"])
ALL = ("system:authenticated",)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/"
ONE = "/apis/apps/v1/deployments/d"


def ask(method: str, path: str) -> RequestInfo:
    return parse_request_info(method, path, Query(""))


@pytest.mark.parametrize(
    ("user", "groups", "method", "path", "schema", "flow"),
    [
        ("admin", ("system:masters", *ALL), "GET", "/api/v1/pods", "exempt", ""),
        ("kubelet", ALL, "GET", "/healthz", "probes", ""),
        ("system:kube-scheduler", ALL, "PUT",
         LEASES + "kube-system/leases/kube-scheduler", "system-leader-election",
         "system:kube-scheduler"),
        ("system:node:n1", ("system:nodes", *ALL), "PUT", LEASES + "kube-node-lease/leases/n1",
         "system-node-high", "system:node:n1"),
        ("system:node:n1", ("system:nodes", *ALL), "GET", "/api/v1/namespaces/d/configmaps/c", "system-nodes",
         "system:node:n1"),
        ("system:kube-controller-manager", ALL, "GET", "/api/v1/namespaces/d/pods", "kube-controller-manager", "d"),
        ("system:serviceaccount:kube-system:x", ("system:serviceaccounts", *ALL), "GET", "/api/v1/namespaces/d/pods",
         "kube-system-service-accounts", "d"),
        ("system:serviceaccount:d:x", ("system:serviceaccounts", *ALL), "GET", "/api/v1/nodes", "service-accounts",
         "system:serviceaccount:d:x"),
        ("ann", ALL, "POST", "/api/v1/namespaces/d/pods", "global-default", "ann"),
        ("system:anonymous", ("system:unauthenticated",), "GET", "/version", "global-default", "system:anonymous"),
    ],
)  # fmt: skip
def test_requests_find_their_schema(
    user: str, groups: tuple[str, ...], method: str, path: str, schema: str, flow: str
) -> None:
    who, info = User(name=user, groups=groups), ask(method, path)
    found = classify(DEFAULTS, who, info)
    assert found is not None
    assert (found.metadata.name, flow_of(found, who, info)) == (schema, flow)


def one(precedence: int = 5, name: str = "s", **rule: Any) -> FlowSchema:
    subjects = [{"kind": "User", "user": {"name": "*"}}]
    doc = {
        "metadata": {"name": name},
        "spec": {"matchingPrecedence": precedence, "rules": [{"subjects": subjects, **rule}]},
    }
    return msgspec.convert(doc, FlowSchema)


RESOURCE = {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments/scale"], "namespaces": ["a"]}


@pytest.mark.parametrize(
    ("rule", "path", "is_meant"),
    [
        ({"resourceRules": [RESOURCE]}, "/apis/apps/v1/namespaces/a/deployments/d/scale", True),
        ({"resourceRules": [RESOURCE]}, "/apis/apps/v1/namespaces/a/deployments/d", False),
        ({"resourceRules": [RESOURCE]}, "/apis/apps/v1/namespaces/b/deployments/d/scale", False),
        ({"resourceRules": [{**RESOURCE, "resources": ["*"], "namespaces": ["*"]}]}, ONE, False),
        ({"resourceRules": [{**RESOURCE, "resources": ["*"], "clusterScope": True}]}, ONE, True),
        ({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}]}, "/healthz/etcd", True),
        ({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}]}, "/healthz", False),
        ({"nonResourceRules": [{"verbs": ["post"], "nonResourceURLs": ["*"]}]}, "/healthz", False),
        ({}, "/healthz", False),
    ],
)  # fmt: skip
def test_rules(rule: dict[str, Any], path: str, is_meant: bool) -> None:
    assert (classify([one(**rule)], User(name="u"), ask("GET", path)) is not None) is is_meant


def test_lowest_precedence_counts_then_the_name() -> None:
    everything = {"nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}
    schemas = in_order([one(9, "a", **everything), one(5, "c", **everything), one(5, "b", **everything)])
    found = classify(schemas, User(name="u"), ask("GET", "/x"))
    assert found is not None
    assert found.metadata.name == "b"
