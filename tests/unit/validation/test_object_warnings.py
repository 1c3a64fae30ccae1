"""Warnings of kinds that say little."""

import base64
from typing import Any

import pytest

from doorman.validation.warnings import warnings_of

PEM = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n").decode()


def said(storage: str, old: dict[str, Any] | None = None, **members: Any) -> list[str]:
    return warnings_of(storage, {"metadata": {"name": "a"}, **members}, old)


@pytest.mark.parametrize(
    ("storage", "members", "expected"),
    [
        pytest.param("nodes", {"spec": {"externalID": "x"}}, "spec.externalID: this field is deprecated", id="node"),
        pytest.param(
            "secrets",
            {"type": "kubernetes.io/tls", "data": {"tls.crt": "Yg==", "tls.key": "Yg=="}},
            "tls: failed to find any PEM data in certificate input",
            id="no-certificate",
        ),
        pytest.param(
            "secrets",
            {"type": "kubernetes.io/tls", "data": {"tls.crt": PEM, "tls.key": PEM}},
            'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping',
            id="no-key",
        ),
        pytest.param(
            "ingresses.networking.k8s.io",
            {"metadata": {"name": "a", "annotations": {"kubernetes.io/ingress.class": "c"}}, "spec": {}},
            'annotation "kubernetes.io/ingress.class" is deprecated',
            id="ingress",
        ),
        pytest.param(
            "endpoints",
            {"subsets": [{"addresses": [{"ip": "fd00:0::1"}]}]},
            "subsets[0].addresses[0].ip: IPv6 address",
            id="endpoints",
        ),
        pytest.param(
            "networkpolicies.networking.k8s.io",
            {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "fd00:0::/64"}}]}]}},
            "spec.egress[0].to[0].ipBlock.cidr: ",
            id="network-policy",
        ),
        pytest.param(
            "runtimeclasses.node.k8s.io",
            {"scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}},
            "scheduling.nodeSelector: deprecated since v1.14",
            id="runtime-class",
        ),
        pytest.param(
            "serviceaccounts",
            {"metadata": {"name": "a", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}},
            "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated",
            id="service-account",
        ),
        pytest.param(
            "statefulsets.apps",
            {"spec": {"revisionHistoryLimit": -1}},
            "spec.revisionHistoryLimit: a neg",
            id="history",
        ),
        pytest.param("jobs.batch", {"metadata": {"name": "a.b"}}, "metadata.name: this is used in Pod names", id="job"),
    ],
)
def test_warning(storage: str, members: dict[str, Any], expected: str) -> None:
    (found,) = said(storage, **members)
    assert found.startswith(expected)


@pytest.mark.parametrize("storage", ["nodes", "secrets", "endpoints", "serviceaccounts", "ingresses.networking.k8s.io"])
def test_nothing_is_said_of_plain_objects(storage: str) -> None:
    assert said(storage) == []


@pytest.mark.parametrize("storage", ["deployments.apps", "replicasets.apps", "replicationcontrollers", "jobs.batch"])
@pytest.mark.parametrize(
    ("name", "fault"), [("a.b", "must not contain dots"), ("a" * 64, "must be no more than 63 characters"), ("a", "")]
)
def test_name_that_is_no_label_is_part_of_host_names(storage: str, name: str, fault: str) -> None:
    head = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    expected = [f"{head}a DNS label is recommended: [{fault}]"] if fault else []
    assert said(storage, metadata={"name": name}) == expected
    assert said(storage, old={"metadata": {"name": name}}, metadata={"name": name}) == []


def test_changes_of_replication_controllers_are_not_warned_of() -> None:
    spec = {"template": {"spec": {"imagePullSecrets": [{}]}}}
    assert len(said("replicationcontrollers", spec=spec)) == 1
    assert said("replicationcontrollers", old={"metadata": {"name": "a"}}, spec=spec) == []


@pytest.mark.parametrize(
    ("finalizers", "old", "warned"),
    [
        pytest.param(["a.b/c", "orphan", "kubernetes"], [], [], id="good"),
        pytest.param(["a", "a"], [], ['"a": prefer a domain-qualified finalizer name to avoid'], id="no-domain"),
        pytest.param(
            ["a.b"], [], ['"a.b": prefer a domain-qualified finalizer name including a path (/) to'], id="path"
        ),
        pytest.param(["a", "b"], ["a"], ['"b": prefer'], id="only-new-ones"),
    ],
)
def test_finalizers_of_custom_objects(finalizers: list[str], old: list[str], warned: list[str]) -> None:
    before = {"metadata": {"finalizers": old}}
    found = warnings_of("widgets.example.com", {"metadata": {"finalizers": finalizers}}, before, is_custom=True)
    assert len(found) == len(warned)
    assert all(text.startswith(f"metadata.finalizers: {part}") for text, part in zip(found, warned, strict=True))
