"""What a pod gets that nobody wrote."""

from typing import Any

import pytest

from doorman.validation.pods.pod_defaults import default_pod, default_pod_spec, pull_policy


def test_pod_gets_its_defaults() -> None:
    doc: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    default_pod(doc)
    assert doc["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "Always",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }


def test_defaults_again_change_nothing() -> None:
    doc: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v"}]}}
    default_pod(doc)
    once = str(doc)
    default_pod(doc)
    assert str(doc) == once


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param("nginx", "Always", id="no-tag"),
        pytest.param("nginx:latest", "Always", id="latest"),
        pytest.param("nginx:1.27", "IfNotPresent", id="tag"),
        pytest.param("localhost:5000/nginx", "Always", id="port-is-no-tag"),
        pytest.param("nginx@sha256:abc", "IfNotPresent", id="digest"),
        pytest.param("nginx:latest@sha256:" + "0" * 64, "Always", id="latest-with-digest"),
    ],
)
def test_pull_policy(image: str, expected: str) -> None:
    assert pull_policy(image) == expected


def test_limits_become_requests_that_are_missing() -> None:
    container: dict[str, Any] = {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}}
    default_pod({"spec": {"containers": [container]}})
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_template_is_left_to_its_pods() -> None:
    spec: dict[str, Any] = {
        "hostNetwork": True,
        "containers": [{"ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}],
    }
    default_pod_spec(spec)
    container = spec["containers"][0]
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert "enableServiceLinks" not in spec


def test_host_network_ports_probes_and_volumes() -> None:
    spec: dict[str, Any] = {
        "hostNetwork": True,
        "containers": [{"ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"port": 80}}}],
        "volumes": [
            {"name": "a"},
            {"name": "b", "configMap": {"name": "m"}},
            {"name": "c", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"name": "d", "hostPath": {"path": "/x"}},
        ],
    }
    default_pod({"spec": spec})
    container = spec["containers"][0]
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP", "hostPort": 80}]
    assert container["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert spec["volumes"] == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "configMap": {"name": "m", "defaultMode": 420}},
        {
            "name": "c",
            "projected": {
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                "defaultMode": 420,
            },
        },
        {"name": "d", "hostPath": {"path": "/x", "type": ""}},
    ]


def test_old_name_of_the_service_account_is_heard() -> None:
    spec: dict[str, Any] = {"serviceAccount": "x"}
    default_pod_spec(spec)
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("x", "x")
