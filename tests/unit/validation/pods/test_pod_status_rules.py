"""Writes of a pod's status."""

from typing import Any

import pytest

from doorman.validation.pods.pod_status_rules import validate_pod_status


def pod(status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "uid": "u"}, "spec": spec, "status": status}


def container(state: str, **detail: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "c", "state": {state: detail}}]}


RESTARTED = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"


@pytest.mark.parametrize(
    ("new", "old", "policy", "expected"),
    [
        pytest.param({"phase": "Running"}, {"phase": "Pending"}, "Always", [], id="phase"),
        pytest.param(
            {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]}, {}, "Always", [], id="one-address-of-each-family"
        ),
        pytest.param(
            {"podIPs": [{"ip": "x"}]},
            {},
            "Always",
            ['status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
            id="no-address",
        ),
        pytest.param(
            {"podIPs": [{"ip": "x"}], "phase": "Q"}, {"podIPs": [{"ip": "x"}]}, "Always", [], id="kept-as-it-was"
        ),
        pytest.param(
            {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
            {},
            "Always",
            [
                'status.hostIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: '
                "may specify no more than one IP for each IP family"
            ],
            id="two-addresses-of-a-family",
        ),
        pytest.param(
            {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]},
            {},
            "Always",
            [
                'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.1"}]: '
                "may specify no more than one IP for each IP family"
            ],
            id="the-same-address-twice",
        ),
        pytest.param(
            {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "x"}]},
            {},
            "Always",
            [
                'status.podIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                "status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: x",
                'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"x"}]: '
                "may specify no more than one IP for each IP family",
            ],
            id="families-of-what-is-no-address",
        ),
        pytest.param(
            {"hostIP": "10.0.0.2", "hostIPs": [{"ip": "10.0.0.1"}]},
            {},
            "Always",
            ['status.hostIPs[0].ip: Invalid value: "10.0.0.1": must be equal to `hostIP`'],
            id="another-first-address",
        ),
        pytest.param(
            {"qosClass": "Guaranteed"},
            {"qosClass": "BestEffort"},
            "Always",
            ['status.qosClass: Invalid value: "Guaranteed": field is immutable'],
            id="class-of-service",
        ),
        pytest.param(container("running"), container("terminated"), "Always", [], id="restart-always"),
        pytest.param(container("running"), container("terminated"), "Never", [RESTARTED], id="restart-never"),
        pytest.param(
            container("running"), container("terminated", exitCode=1), "OnFailure", [], id="restart-after-failure"
        ),
        pytest.param(
            container("running"),
            container("terminated", exitCode=0),
            "OnFailure",
            [RESTARTED],
            id="restart-after-success",
        ),
        pytest.param(container("terminated"), container("running"), "Never", [], id="ends"),
        pytest.param({}, container("terminated"), "Never", [], id="status-dropped"),
        pytest.param({"conditions": [{"type": "a.example/b"}]}, {}, "Always", [], id="condition-of-somebody"),
    ],
)
def test_validate_pod_status(new: Any, old: Any, policy: str, expected: list[str]) -> None:
    found = validate_pod_status(pod(new, restartPolicy=policy), pod(old, restartPolicy=policy))
    assert [str(error) for error in found] == expected


def test_ephemeral_containers_never_restart() -> None:
    old = {"ephemeralContainerStatuses": [{"name": "e", "state": {"terminated": {}}}]}
    new = {"ephemeralContainerStatuses": [{"name": "e", "state": {"running": {}}}]}
    (error,) = validate_pod_status(pod(new, restartPolicy="Always"), pod(old, restartPolicy="Always"))
    assert error.field == "status.ephemeralContainerStatuses[0].state"


def test_condition_type_is_a_qualified_name() -> None:
    (error,) = validate_pod_status(pod({"conditions": [{"type": "a b"}]}), pod({}))
    assert error.field == "status.conditions[0].Type"
