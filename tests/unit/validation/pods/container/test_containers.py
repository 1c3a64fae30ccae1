"""Containers."""

from typing import Any

import pytest

from doorman.validation.pods.container.containers import (
    container_errors,
    ephemeral_container_errors,
    image_errors,
    init_container_errors,
    is_simple,
)
from doorman.validation.pods.pod_defaults import default_container

NONE: frozenset[str] = frozenset()


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def c(**fields: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", **fields}
    default_container(container)
    return container


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param([], ["c: Required value"], id="none"),
        pytest.param([c()], [], id="simple"),
        pytest.param([c(name="")], ["c[0].name: Required value"], id="no-name"),
        pytest.param([c(image="")], ["c[0].image: Required value"], id="no-image"),
        pytest.param([c(image=" i")], [], id="image-with-space-is-for-pods-to-refuse"),
        pytest.param(
            [c(terminationMessagePolicy="X")],
            [
                'c[0].terminationMessagePolicy: Unsupported value: "X": '
                'supported values: "File", "FallbackToLogsOnError"'
            ],
            id="message-policy",
        ),
        pytest.param(
            [c(readinessProbe={"httpGet": {"port": 0}})],
            ["c[0].readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive"],
            id="probe-without-port",
        ),
        pytest.param(
            [c(livenessProbe={"tcpSocket": {"port": "no--name"}})],
            ['c[0].livenessProbe.tcpSocket.port: Invalid value: "no--name": must not contain consecutive hyphens'],
            id="probe-port-name",
        ),
        pytest.param([c(), c()], ['c[1].name: Duplicate value: "c"'], id="same-name"),
        pytest.param(
            [c(imagePullPolicy="Often")],
            ['c[0].imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"'],
            id="pull-policy",
        ),
        pytest.param(
            [c(ports=[{"containerPort": 0}])], ["c[0].ports[0].containerPort: Required value"], id="port-missing"
        ),
        pytest.param(
            [c(ports=[{"containerPort": 70000}])],
            ["c[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
            id="port-range",
        ),
        pytest.param(
            [c(ports=[{"containerPort": 1, "protocol": "X"}])],
            ['c[0].ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'],
            id="protocol",
        ),
        pytest.param(
            [c(ports=[{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}])],
            ['c[0].ports[1].hostPort: Duplicate value: "TCP//5"'],
            id="host-port-twice",
        ),
        pytest.param([c(env=[{"name": ""}])], ["c[0].env[0].name: Required value"], id="env-without-name"),
        pytest.param(
            [c(volumeMounts=[{"name": "v", "mountPath": "/x"}])],
            ['c[0].volumeMounts[0].name: Not found: "v"'],
            id="mount-of-nothing",
        ),
        pytest.param(
            [c(resources={"claims": [{"name": "d"}]})],
            [
                'c[0].resources.claims[0]: Not found: "d": '
                "must be one of the names in pod.spec.resourceClaims which is empty"
            ],
            id="claim-of-nothing",
        ),
        pytest.param(
            [c(livenessProbe={})],
            ["c[0].livenessProbe: Required value: must specify a handler type"],
            id="probe-without-handler",
        ),
        pytest.param(
            [c(livenessProbe={"exec": {"command": ["x"]}, "successThreshold": 2})],
            ["c[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"],
            id="probe-threshold",
        ),
    ],
)
def test_container_errors(containers: list[dict[str, Any]], expected: list[str]) -> None:
    assert texts(container_errors(containers, {}, NONE, "c", spec={})) == expected


def test_container_with_mounted_volume_and_claim_is_good() -> None:
    container = c(volumeMounts=[{"name": "v", "mountPath": "/x"}], resources={"claims": [{"name": "d"}]})
    assert container_errors([container], {"v": {}}, frozenset({"d"}), "c", spec={}) == []
    twice = c(volumeMounts=[{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}])
    assert texts(container_errors([twice], {"v": {}}, NONE, "c", spec={})) == [
        'c[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique'
    ]


def test_init_container_shares_names_and_has_no_probes() -> None:
    found = texts(init_container_errors([c(readinessProbe={"exec": {}})], [c()], {}, NONE, "i", spec={}))
    assert found == [
        'i[0].name: Duplicate value: "c"',
        "i[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
    ]
    sidecar = c(name="s", restartPolicy="Always", readinessProbe={"exec": {"command": ["x"]}})
    assert init_container_errors([sidecar], [c()], {}, NONE, "i", spec={}) == []


def test_simple_container_is_recognised() -> None:
    assert is_simple(c())
    assert not is_simple(c(name="Bad_Name"))
    assert not is_simple(c(env=[]))


def test_images_of_pods_have_no_space_around_them() -> None:
    assert texts(image_errors([c(), c(image=" i")], "c")) == [
        'c[1].image: Invalid value: " i": must not have leading or trailing whitespace'
    ]


NOT_EPHEMERAL = "Forbidden: cannot be set for an Ephemeral Container"


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param({"targetContainerName": "c"}, [], id="good"),
        pytest.param({"targetContainerName": "x"}, ['e[0].targetContainerName: Not found: "x"'], id="no-target"),
        pytest.param(
            {
                "ports": [{"containerPort": 1, "protocol": "TCP"}],
                "resources": {"limits": {"cpu": "1"}},
                "lifecycle": {"preStop": {}},
            },
            [f"e[0].ports: {NOT_EPHEMERAL}", f"e[0].resources: {NOT_EPHEMERAL}", f"e[0].lifecycle: {NOT_EPHEMERAL}"],
            id="fields",
        ),
        pytest.param(
            {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "s"}]},
            [f"e[0].volumeMounts[0].subPath: {NOT_EPHEMERAL}"],
            id="sub-path",
        ),
        pytest.param(
            {"securityContext": {"runAsUser": -1}},
            [
                "e[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            ],
            id="security",
        ),
    ],
)
def test_ephemeral_container(container: dict[str, Any], expected: list[str]) -> None:
    found = ephemeral_container_errors([c(name="e", **container)], [c()], {"v": {}}, NONE, "e", spec={})
    assert texts(found) == expected
