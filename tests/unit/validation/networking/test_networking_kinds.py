"""Ingresses, their classes, network policies, service ranges and addresses: what is refused, in which words."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.validators import validator_of


def create(resource: str, **members: Any) -> list[str]:
    doc = {"metadata": {"name": members.pop("name", "x"), "namespace": "ns"}, **members}
    return [str(error) for error in validator_of(f"{resource}.networking.k8s.io").create(doc, Context())]


def backend(**port: Any) -> dict[str, Any]:
    return {"service": {"name": "s", "port": port or {"number": 80}}}


def path(**members: Any) -> dict[str, Any]:
    rule = {"path": "/", "pathType": "Prefix", "backend": backend(), **members}
    return {"rules": [{"http": {"paths": [rule]}}]}


AT = "spec.rules[0].http.paths[0]"

INGRESSES = [
    ("a default", {"defaultBackend": backend()}, []),
    ("a path", path(), []),
    ("nothing", {}, ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
    ("no type", path(pathType=None), [f"{AT}.pathType: Required value: pathType must be specified"]),
    (
        "another type",
        path(pathType="X"),
        [f'{AT}.pathType: Unsupported value: "X": supported values: "Exact", "ImplementationSpecific", "Prefix"'],
    ),
    ("relative", path(path="a"), [f'{AT}.path: Invalid value: "a": must be an absolute path']),
    ("a step back", path(path="/a/.."), [f"{AT}.path: Invalid value: \"/a/..\": cannot end with '/..'"]),
    ("any path", path(path="", pathType="ImplementationSpecific"), []),
    (
        "two ports",
        {"defaultBackend": backend(name="a", number=1)},
        ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
    ),
    ("no port", {"defaultBackend": {"service": {"name": "s"}}},
     ["spec.defaultBackend: Required value: port name or number is required"]),
    ("an address", {"rules": [{"host": "1.2.3.4"}]},
     ['spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address']),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "expected"), [row[1:] for row in INGRESSES], ids=[row[0] for row in INGRESSES])
def test_ingress(spec: dict[str, Any], expected: list[str]) -> None:
    assert create("ingresses", spec=spec) == expected


POLICIES = [
    ("empty", {}, []),
    ("a range of ports", {"ingress": [{"ports": [{"port": 80, "endPort": 90}]}]}, []),
    (
        "an end without a beginning",
        {"ingress": [{"ports": [{"endPort": 90}]}]},
        ["spec.ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is not specified"],
    ),
    ("nobody", {"egress": [{"to": [{}]}]}, ["spec.egress[0].to[0]: Required value: must specify a peer"]),
    (
        "a range and a selector",
        {"egress": [{"to": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
        ["spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer"],
    ),
    (
        "no part of the range",
        {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/9"]}}]}]},
        [
            'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/9": '
            "must be a strict subset of `cidr`"
        ],
    ),
    ("another type", {"policyTypes": ["x"]},
     ['spec.policyTypes[0]: Unsupported value: "x": supported values: "Ingress", "Egress"']),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "expected"), [row[1:] for row in POLICIES], ids=[row[0] for row in POLICIES])
def test_network_policy(spec: dict[str, Any], expected: list[str]) -> None:
    assert create("networkpolicies", spec=spec) == expected


def test_ingress_class_names_who_serves_it() -> None:
    assert create("ingressclasses", spec={"controller": "example.com/a"}) == []
    assert create("ingressclasses", spec={"controller": "a"}) == [
        'spec.controller: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")'
    ]
    parameters = {"kind": "", "name": "", "scope": "Cluster", "namespace": "n"}
    assert create("ingressclasses", spec={"controller": "example.com/a", "parameters": parameters}) == [
        "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
        "spec.parameters.kind: Required value",
        "spec.parameters.name: Required value",
    ]


def test_service_range() -> None:
    assert create("servicecidrs", spec={"cidrs": ["10.0.0.0/24"]}) == []
    assert create("servicecidrs") == ["spec.cidrs: Required value: at least one CIDR required"]
    assert create("servicecidrs", spec={"cidrs": ["10.0.0.1/24"]}) == [
        'spec.cidrs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length'
    ]


def test_address_is_named_by_itself_and_says_whose_it_is() -> None:
    parent = {"resource": "services", "name": "s"}
    assert create("ipaddresses", name="10.0.0.1", spec={"parentRef": parent}) == []
    assert create("ipaddresses", name="2001:DB8::1", spec={"parentRef": {}}) == [
        'metadata.name: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")',
        "spec.parentRef.resource: Required value",
        "spec.parentRef.name: Required value",
    ]
