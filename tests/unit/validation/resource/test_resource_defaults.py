"""Defaults of claims, their templates and requests for reports."""

from typing import Any

import pytest

from doorman.validation.defaults import DEFAULTERS

CLAIMS = "resourceclaims.resource.k8s.io"


def defaulted(row: str, *requests: dict[str, Any]) -> Any:
    doc = {"spec": {"devices": {"requests": list(requests)}}}
    DEFAULTERS[row](doc)
    return doc["spec"]["devices"]["requests"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param({"deviceClassName": "c"}, {"allocationMode": "ExactCount", "count": 1}, id="nothing-said"),
        pytest.param({"deviceClassName": "c", "count": 3}, {"allocationMode": "ExactCount", "count": 3}, id="count"),
        pytest.param({"deviceClassName": "c", "allocationMode": "All"}, {"allocationMode": "All"}, id="all"),
    ],
)
@pytest.mark.parametrize("row", [CLAIMS, f"{CLAIMS}/v1beta1"])
def test_amount(row: str, wanted: dict[str, Any], expected: dict[str, Any]) -> None:
    (exactly,) = defaulted(row, {"name": "r", "exactly": dict(wanted)})
    assert exactly["exactly"] == {**wanted, **expected}
    (first,) = defaulted(row, {"name": "r", "firstAvailable": [dict(wanted)]})
    assert first["firstAvailable"] == [{**wanted, **expected}]


def test_request_without_a_class_has_no_amount_in_v1beta1() -> None:
    request = {"name": "r", "exactly": {"adminAccess": True}}
    assert defaulted(f"{CLAIMS}/v1beta1", {**request, "exactly": dict(request["exactly"])}) == [request]
    (found,) = defaulted(CLAIMS, request)
    assert found["exactly"]["count"] == 1


def test_toleration_is_equal_unless_it_says_otherwise() -> None:
    (found,) = defaulted(CLAIMS, {"name": "r", "exactly": {"tolerations": [{"key": "k"}, {"operator": "Exists"}]}})
    assert [one["operator"] for one in found["exactly"]["tolerations"]] == ["Equal", "Exists"]


def test_report_is_of_a_hundred_pools() -> None:
    doc: dict[str, Any] = {"spec": {"driver": "d"}}
    DEFAULTERS["resourcepoolstatusrequests.resource.k8s.io"](doc)
    assert doc["spec"]["limit"] == 100
