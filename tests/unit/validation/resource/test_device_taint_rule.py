"""Rules that taint devices, and requests for reports on pools."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.resource.device_taint_rule import DEVICE_TAINT_RULE
from doorman.validation.resource.pool_status_request import RESOURCE_POOL_STATUS_REQUEST

V1 = Context(group_version="resource.k8s.io/v1")
STATUS = Context(group_version="resource.k8s.io/v1", subresource="status")
ALPHA = Context(group_version="resource.k8s.io/v1alpha3")
TAINT = {"key": "k", "effect": "NoSchedule"}
DONE = {"type": "Done", "status": "True", "reason": "Ok", "lastTransitionTime": "2024-01-02T03:04:05Z"}


def rule(taint: dict[str, Any], **selector: str) -> dict[str, Any]:
    return {"metadata": {"name": "r", "uid": "u"}, "spec": {"taint": taint, "deviceSelector": selector}}


@pytest.mark.parametrize(
    ("doc", "fields"),
    [
        pytest.param(rule(TAINT, driver="d.example", pool="a/b", device="d0"), [], id="good"),
        pytest.param(rule({"key": "k", "effect": "None"}), [], id="effect-none"),
        pytest.param(rule({"key": "k", "effect": "PreferNoSchedule"}), ["spec.taint.effect"], id="effect"),
        pytest.param(
            {"metadata": {"name": "r"}}, ["spec.taint.key", "spec.taint.key", "spec.taint.effect"], id="empty"
        ),
        pytest.param(rule(TAINT, driver=""), ["spec.deviceSelector.driver"], id="empty-driver"),
        pytest.param(rule(TAINT, pool="a//b"), ["spec.deviceSelector.pool"], id="pool"),
        pytest.param(rule(TAINT, device="a.b"), ["spec.deviceSelector.device"], id="device"),
    ],
)
@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1alpha3"])
def test_rule_create(doc: dict[str, Any], fields: list[str], version: str) -> None:
    errors = DEVICE_TAINT_RULE.create(doc, Context(group_version=f"resource.k8s.io/{version}"))
    assert [error.field for error in errors] == fields


def test_unknown_effect_of_a_stored_rule_may_stay() -> None:
    odd = rule({"key": "k", "effect": "Future"})
    assert DEVICE_TAINT_RULE.update(odd, rule({"key": "k", "effect": "Future"}), V1) == []


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        pytest.param([DONE], [], id="good"),
        pytest.param([DONE, DONE], ['status.conditions[1]: Duplicate value: "Done"'], id="twice"),
        pytest.param(
            [{}],
            [
                "status.conditions[0].type: Required value: is required",
                "status.conditions[0].status: Required value",
                "status.conditions[0].lastTransitionTime: Required value",
                "status.conditions[0].reason: Required value",
            ],
            id="empty",
        ),
        pytest.param(
            [{**DONE, "status": "Maybe"}],
            ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'],
            id="status",
        ),
        pytest.param(
            [{**DONE, "type": f"T{i}"} for i in range(9)],
            ["status.conditions: Too many: 9: must have at most 8 items"],
            id="many",
        ),
    ],
)
def test_rule_status(conditions: list[dict[str, Any]], expected: list[str]) -> None:
    new = {**rule(TAINT), "status": {"conditions": conditions}}
    assert [str(error) for error in DEVICE_TAINT_RULE.update(new, rule(TAINT), STATUS)] == expected


def test_request_for_a_report() -> None:
    def request(**spec: Any) -> dict[str, Any]:
        return {"metadata": {"name": "r"}, "spec": spec}

    checks = RESOURCE_POOL_STATUS_REQUEST
    assert checks.create(request(driver="d.example", poolName="a/b", limit=1), ALPHA) == []
    errors = checks.create(request(poolName="A", limit=1001), ALPHA)
    assert [error.field for error in errors] == ["spec.driver", "spec.poolName", "spec.limit"]
    (error,) = checks.update(request(driver="e.example"), request(driver="d.example"), ALPHA)
    assert str(error) == "spec: Invalid value: null: field is immutable"


def test_report_is_written_once() -> None:
    old = {"metadata": {"name": "r"}, "spec": {"driver": "d"}, "status": {"poolCount": 1}}
    new = {**old, "status": {"poolCount": 2}}
    status = Context(group_version="resource.k8s.io/v1alpha3", subresource="status")
    assert [error.field for error in RESOURCE_POOL_STATUS_REQUEST.update(new, old, status)] == ["status"]
