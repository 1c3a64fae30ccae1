"""What pods refer to."""

from typing import Any

import pytest

from doorman.semantics.pods.pod_references import first_reference, references_of


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


def projected(source: str) -> dict[str, Any]:
    return pod(volumes=[{"name": "v", "projected": {"sources": [{"downwardAPI": {}}, {source: {}}]}}])


def test_everything_is_found() -> None:
    doc = pod(
        serviceAccountName="robot",
        imagePullSecrets=[{"name": "pull"}],
        initContainers=[{"env": [{"valueFrom": {"secretKeyRef": {"name": "s1"}}}]}],
        containers=[{"envFrom": [{"configMapRef": {"name": "c1"}}, {"secretRef": {"name": "s2"}}]}],
        ephemeralContainers=[{"env": [{"valueFrom": {"configMapKeyRef": {"name": "c2"}}}]}],
        volumes=[
            {"name": "a", "secret": {"secretName": "s3"}},
            {"name": "b", "ephemeral": {}},
            {"name": "c", "flexVolume": {"secretRef": {"name": "s4"}}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "pvc"}},
        ],
        resourceClaims=[{"resourceClaimName": "rc"}, {"resourceClaimTemplateName": "t"}],
    )
    doc["status"] = {"resourceClaimStatuses": [{"resourceClaimName": "made"}]}
    assert sorted(set(references_of(doc))) == [
        ("configmaps", "c1"), ("configmaps", "c2"),
        ("persistentvolumeclaims", "p-b"), ("persistentvolumeclaims", "pvc"),
        ("resourceclaims", "made"), ("resourceclaims", "rc"),
        ("secrets", "pull"), ("secrets", "s1"), ("secrets", "s2"), ("secrets", "s3"), ("secrets", "s4"),
        ("serviceaccounts", "robot"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(pod(), "", id="nothing"),
        pytest.param(pod(volumes=[{"name": "v", "hostPath": {}}, {"name": "w", "emptyDir": {}}]), "", id="of-the-node"),
        pytest.param(projected("downwardAPI"), "", id="of-itself"),
        pytest.param(pod(serviceAccountName="x", imagePullSecrets=[{"name": "s"}]), "serviceaccounts", id="account"),
        pytest.param(pod(imagePullSecrets=[{"name": "s"}]), "secrets", id="pull-secret"),
        pytest.param(pod(volumes=[{"name": "v", "configMap": {}}]), "configmaps", id="config-map"),
        pytest.param(pod(resourceClaims=[{"resourceClaimTemplateName": "t"}]), "resourceclaims", id="claim"),
        pytest.param(pod(volumes=[{"name": "v", "csi": {}}]), "csidrivers (via CSI volumes)", id="driver"),
        pytest.param(pod(volumes=[{"name": "v", "persistentVolumeClaim": {}}]), "persistentvolumeclaims", id="volume"),
        pytest.param(projected("serviceAccountToken"), "serviceaccounts (via projected volumes)", id="token"),
        pytest.param(projected("clusterTrustBundle"), "clustertrustbundles", id="trust"),
        pytest.param(projected("podCertificate"), "podcertificates", id="certificate"),
    ],
)
def test_first_reference(doc: dict[str, Any], expected: str) -> None:
    assert first_reference(doc) == expected
