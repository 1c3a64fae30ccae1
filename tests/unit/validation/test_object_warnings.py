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
