"""Defaults of the other kinds."""

from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds
from doorman.validation.defaults import DEFAULTERS


def test_every_row_is_a_kind_that_is_served() -> None:
    rows = builtin_kinds().rows
    assert set(DEFAULTERS) <= {kind.storage for kind in rows} | {f"{kind.storage}/{kind.version}" for kind in rows}


RBAC = "rbac.authorization.k8s.io"
WEBHOOK = {
    "failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
    "timeoutSeconds": 10,
}  # fmt: skip


@pytest.mark.parametrize(
    ("storage", "doc", "expected"),
    [
        pytest.param(
            "nodes",
            {"status": {"capacity": {"cpu": "1"}}},
            {"status": {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}},
            id="node",
        ),
        pytest.param("nodes", {"spec": {}}, {"spec": {}}, id="node-without-status"),
        pytest.param(
            "nodes",
            {"spec": {"podCIDR": "10.0.0.0/24"}},
            {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}},
            id="node-one-range",
        ),
        pytest.param(
            "nodes",
            {"spec": {"podCIDRs": ["10.0.0.0/24"]}},
            {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}},
            id="node-list-of-ranges",
        ),
        pytest.param(
            "nodes",
            {"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}},
            {"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]}},
            id="node-ranges-that-differ",
        ),
        pytest.param(
            "services",
            {"spec": {"ports": [{"port": 80}]}},
            {
                "spec": {
                    "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
                    "sessionAffinity": "None",
                    "type": "ClusterIP",
                    "internalTrafficPolicy": "Cluster",
                }
            },
            id="service",
        ),
        pytest.param("secrets", {}, {"type": "Opaque"}, id="secret"),
        pytest.param(
            "limitranges",
            {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1"}}]}},
            {
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "max": {"cpu": "2"},
                            "min": {"memory": "1"},
                            "default": {"cpu": "2"},
                            "defaultRequest": {"cpu": "2", "memory": "1"},
                        }
                    ]
                }
            },
            id="limit-range",
        ),
        pytest.param(
            "priorityclasses.scheduling.k8s.io",
            {"value": 1},
            {"value": 1, "preemptionPolicy": "PreemptLowerPriority"},
            id="priority-class",
        ),
        pytest.param(
            "storageclasses.storage.k8s.io",
            {},
            {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
            id="storage-class",
        ),
        pytest.param(
            f"rolebindings.{RBAC}",
            {"roleRef": {"name": "r"}, "subjects": [{"kind": "User"}, {"kind": "ServiceAccount"}]},
            {
                "roleRef": {"name": "r", "apiGroup": RBAC},
                "subjects": [{"kind": "User", "apiGroup": RBAC}, {"kind": "ServiceAccount"}],
            },
            id="role-binding",
        ),
        pytest.param(
            "networkpolicies.networking.k8s.io",
            {"spec": {"egress": [{}]}},
            {"spec": {"egress": [{}], "policyTypes": ["Ingress", "Egress"]}},
            id="network-policy",
        ),
        pytest.param(
            "validatingwebhookconfigurations.admissionregistration.k8s.io",
            {"webhooks": [{}]},
            {"webhooks": [WEBHOOK]},
            id="validating-webhook",
        ),
        pytest.param(
            "mutatingwebhookconfigurations.admissionregistration.k8s.io",
            {"webhooks": [{}]},
            {"webhooks": [{**WEBHOOK, "reinvocationPolicy": "Never"}]},
            id="mutating-webhook",
        ),
        pytest.param(
            "resourceclaims.resource.k8s.io",
            {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"tolerations": [{}]}}]}}},
            {
                "spec": {
                    "devices": {
                        "requests": [
                            {
                                "name": "r",
                                "exactly": {
                                    "tolerations": [{"operator": "Equal"}],
                                    "allocationMode": "ExactCount",
                                    "count": 1,
                                },
                            }
                        ]
                    }
                }
            },
            id="claim",
        ),
        pytest.param(
            "validatingadmissionpolicybindings.admissionregistration.k8s.io",
            {"spec": {"matchResources": {}, "paramRef": {"name": "p"}}},
            {
                "spec": {
                    "matchResources": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}},
                    "paramRef": {"name": "p"},
                }
            },
            id="binding",
        ),
        pytest.param(
            "mutatingadmissionpolicybindings.admissionregistration.k8s.io/v1alpha1",
            {"spec": {"paramRef": {"name": "p"}}},
            {"spec": {"paramRef": {"name": "p", "parameterNotFoundAction": "Deny"}}},
            id="binding of the first version",
        ),
    ],
)
def test_defaulter(storage: str, doc: dict[str, Any], expected: dict[str, Any]) -> None:
    DEFAULTERS[storage](doc)
    assert doc == expected


@pytest.mark.parametrize("storage", sorted(DEFAULTERS))
def test_defaulter_takes_an_empty_document(storage: str) -> None:
    DEFAULTERS[storage]({"metadata": {}})
