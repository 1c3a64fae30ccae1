"""Resource claims and their templates."""

from typing import Any

import pytest

from doorman.validation.claim import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from doorman.validation.context import Context
from doorman.validation.defaults import default_resource_claim


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def claim(*requests: dict[str, Any], status: dict[str, Any] | None = None) -> dict[str, Any]:
    doc = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": list(requests)}}, "status": status or {}}
    default_resource_claim(doc)
    return doc


def exactly(name: str = "r", **wanted: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "gpu.example.com", **wanted}}


AT = "spec.devices.requests[0]"


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(claim(exactly()), [], id="good"),
        pytest.param(claim(exactly(tolerations=[{"operator": "Equal", "value": "v"}])), [], id="equal-without-key"),
        pytest.param(claim(exactly(), exactly()), ['spec.devices.requests[1]: Duplicate value: "r"'], id="same-name"),
        pytest.param(
            claim({"name": "r"}),
            [f"{AT}: Required value: exactly one of `exactly` or `firstAvailable` is required"],
            id="nothing",
        ),
        pytest.param(
            claim(exactly(allocationMode="Some")),
            [f'{AT}.exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"'],
            id="mode",
        ),
        pytest.param(
            claim(exactly(allocationMode="All", count=2)),
            [f"{AT}.exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'"],
            id="all-with-count",
        ),
        pytest.param(
            claim(exactly(count=-1)), [f"{AT}.exactly.count: Invalid value: -1: must be greater than zero"], id="count"
        ),
        pytest.param(
            claim(exactly(tolerations=[{"operator": "Exists"}] * 17)),
            [f"{AT}.exactly.tolerations: Too many: 17: must have at most 16 items"],
            id="many-tolerations",
        ),
        pytest.param(
            claim({"name": "r", "firstAvailable": [{"name": "s"}]}),
            [f"{AT}.firstAvailable[0].deviceClassName: Required value"],
            id="alternative",
        ),
    ],
)
def test_claim_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(RESOURCE_CLAIM.create(doc, Context())) == expected


def test_claim_spec_is_fixed() -> None:
    (error,) = RESOURCE_CLAIM.update(claim(), claim(exactly()), Context())
    assert (error.field, error.body.endswith("field is immutable")) == ("spec", True)


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        pytest.param({"allocation": {}, "reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]}, [], id="good"),
        pytest.param(
            {"reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]}, ["status.reservedFor"], id="not-allocated"
        ),
        pytest.param(
            {"allocation": {}, "reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}] * 2},
            ["status.reservedFor[1].uid"],
            id="twice",
        ),
        pytest.param(
            {"allocation": {}, "reservedFor": [{}]},
            ["status.reservedFor[0].resource", "status.reservedFor[0].name", "status.reservedFor[0].uid"],
            id="empty",
        ),
    ],
)
def test_claim_status(status: dict[str, Any], fields: list[str]) -> None:
    found = RESOURCE_CLAIM.update(claim(status=status), claim(), Context(subresource="status"))
    assert [error.field for error in found] == fields


def test_allocation_does_not_change_in_place() -> None:
    old, new = claim(status={"allocation": {"a": 1}}), claim(status={"allocation": {"a": 2}})
    (error,) = RESOURCE_CLAIM.update(new, old, Context(subresource="status"))
    assert error.field == "status.allocation"


def test_template_is_checked_and_fixed() -> None:
    spec = {"spec": {"devices": {"requests": [{"name": "", "exactly": {"allocationMode": "All"}}]}}}
    doc = {"metadata": {"name": "t"}, "spec": spec}
    assert [error.field for error in RESOURCE_CLAIM_TEMPLATE.create(doc, Context())] == [
        "spec.spec.devices.requests[0].name",
        "spec.spec.devices.requests[0].exactly.deviceClassName",
    ]
    other = {"metadata": {"name": "t"}, "spec": {}}
    assert [error.field for error in RESOURCE_CLAIM_TEMPLATE.update(other, doc, Context())] == ["spec"]
