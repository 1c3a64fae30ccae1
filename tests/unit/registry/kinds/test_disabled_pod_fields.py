"""Fields of pods whose features are off."""

from typing import Any

import pytest

from doorman.registry.kinds.disabled_pod_fields import drop_disabled_fields, drop_disabled_status


@pytest.mark.parametrize(
    ("given", "left"),
    [
        pytest.param({"schedulingGroup": {"podGroupName": "g"}, "nodeName": "n"}, {"nodeName": "n"}, id="of-the-pod"),
        pytest.param(
            {"containers": [{"volumeMounts": [{"name": "v", "bindMountOptions": ["noexec"]}]}]},
            {"containers": [{"volumeMounts": [{"name": "v"}]}]},
            id="of-a-mount",
        ),
        pytest.param({"containers": [{"lifecycle": {"stopSignal": "SIGTERM"}}]}, {"containers": [{}]}, id="last-hook"),
        pytest.param(
            {"containers": [{"lifecycle": {"stopSignal": "SIGTERM", "preStop": {"httpGet": {"protocol": "H2C"}}}}]},
            {"containers": [{"lifecycle": {"preStop": {"httpGet": {}}}}]},
            id="of-a-hook",
        ),
        pytest.param({"containers": [{"lifecycle": {}}]}, {"containers": [{"lifecycle": {}}]}, id="empty-stays"),
        pytest.param(
            {"initContainers": [{"livenessProbe": {"grpc": {"port": 1, "mode": "TLS"}}}]},
            {"initContainers": [{"livenessProbe": {"grpc": {"port": 1}}}]},
            id="of-a-probe",
        ),
        pytest.param(
            {
                "volumes": [
                    {"emptyDir": {"mode": 1}},
                    {"configMap": {"defaultUser": 1, "items": [{"user": 2, "key": "k"}]}},
                ]
            },
            {"volumes": [{"emptyDir": {}}, {"configMap": {"items": [{"key": "k"}]}}]},
            id="of-a-volume",
        ),
        pytest.param(
            {
                "volumes": [
                    {"projected": {"sources": [{"podCertificate": {"user": 1}}, {"secret": {"items": [{"user": 1}]}}]}}
                ]
            },
            {"volumes": [{"projected": {"sources": [{"podCertificate": {}}, {"secret": {"items": [{}]}}]}}]},
            id="of-a-projection",
        ),
    ],
)
def test_left_out_of_pods_and_templates(given: dict[str, Any], left: dict[str, Any]) -> None:
    pod = {"spec": given}
    drop_disabled_fields("pods", pod)
    assert pod == {"spec": left}
    drop_disabled_fields("deployments.apps", workload := {"spec": {"template": {"spec": given}}})
    assert workload == {"spec": {"template": {"spec": left}}}


def test_other_kinds_stay_as_they_are() -> None:
    doc = {"spec": {"schedulingGroup": 1}}
    drop_disabled_fields("nodes", doc)
    assert doc == {"spec": {"schedulingGroup": 1}}
    drop_disabled_fields("cronjobs.batch", cron := {"spec": {"jobTemplate": None}})
    assert cron == {"spec": {"jobTemplate": None}}


def test_left_out_of_the_status() -> None:
    status = {"volumeHealth": [1], "phase": "Running", "containerStatuses": [{"volumeMounts": [{"volumeStatus": {}}]}]}
    drop_disabled_status(status)
    assert status == {"phase": "Running", "containerStatuses": [{"volumeMounts": [{}]}]}
