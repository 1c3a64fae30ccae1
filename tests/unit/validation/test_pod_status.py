"""Writes of a pod's status."""

from typing import Any

import pytest

from doorman.validation.pod_status import validate_pod_status


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
    assert error.field == "metadata.conditions[0].Type"
