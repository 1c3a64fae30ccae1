"""Resource claims, their templates and their status."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.resource.resource_claim import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from doorman.validation.resource.resource_defaults import default_resource_claim

AT = "spec.devices.requests[0]"
V1 = Context(group_version="resource.k8s.io/v1")
STATUS = Context(group_version="resource.k8s.io/v1", subresource="status")
NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
POD = {"resource": "pods", "name": "p", "uid": "1"}
RESULT = {"request": "r", "driver": "d.example", "pool": "p", "device": "d0"}


def claim(*requests: dict[str, Any], status: dict[str, Any] | None = None, **devices: Any) -> dict[str, Any]:
    spec = {"devices": {"requests": list(requests), **devices}}
    doc = {"metadata": {"name": "c"}, "spec": spec, "status": status or {}}
    default_resource_claim(doc)
    return doc


def exactly(name: str = "r", **wanted: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "gpu.example.com", **wanted}}


def allocation(*results: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"devices": {"results": list(results), **members}}


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(claim(exactly()), [], id="good"),
        pytest.param(claim(exactly(tolerations=[{"operator": "Equal", "value": "v"}])), [], id="equal-without-key"),
        pytest.param(
            claim({"name": "r"}),
            [f"{AT}: Required value: exactly one of `exactly` or `firstAvailable` is required"],
            id="nothing",
        ),
        pytest.param(
            claim({**exactly(), "firstAvailable": [{"name": "s", "deviceClassName": "c"}]}),
            [
                f"{AT}: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple "
                "fields are set"
            ],
            id="both",
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
            claim(exactly(tolerations=[{"operator": "Exists", "value": "v", "effect": "Never"}])),
            [
                f'{AT}.exactly.tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`',
                f'{AT}.exactly.tolerations[0].effect: Unsupported value: "Never": '
                'supported values: "NoExecute", "NoSchedule", "None"',
            ],
            id="toleration",
        ),
        pytest.param(
            claim({"name": "r", "firstAvailable": [{"name": "s"}]}),
            [f"{AT}.firstAvailable[0].deviceClassName: Required value"],
            id="alternative",
        ),
        pytest.param(
            claim(exactly(), constraints=[{"requests": ["r", "r/s"], "matchAttribute": "d.example/a"}]),
            [f'spec.devices.constraints[0].requests[1]: Invalid value: "r/s": {NO_REQUEST}'],
            id="constraint-on-nothing",
        ),
        pytest.param(
            claim(exactly(), constraints=[{}]),
            [
                'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" '
                "is required, but multiple fields are set"
            ],
            id="empty-constraint",
        ),
        pytest.param(
            claim(exactly(), constraints=[{"matchAttribute": "numa"}]),
            [
                'spec.devices.constraints[0].matchAttribute: Invalid value: "numa": '
                "a fully qualified name must be a domain and a name separated by a slash"
            ],
            id="constraint-without-domain",
        ),
        pytest.param(
            claim(exactly(), config=[{}, {"opaque": {}}]),
            [
                "spec.devices.config[0].opaque: Required value",
                "spec.devices.config[1].opaque.parameters: Required value",
                "spec.devices.config[1].opaque.driver: Required value",
            ],
            id="configuration",
        ),
        pytest.param(
            claim(exactly(), config=[{"opaque": {"driver": "d.example", "parameters": "text"}}]),
            ['spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object'],
            id="parameters-that-are-no-object",
        ),
        pytest.param(
            claim(*(exactly(f"r{i}") for i in range(33))),
            ["spec.devices.requests: Too many: 33: must have at most 32 items"],
            id="many-requests",
        ),
    ],
)
def test_claim_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(RESOURCE_CLAIM.create(doc, V1)) == expected


def test_request_of_a_name_that_was_there_is_told_whole() -> None:
    (error,) = RESOURCE_CLAIM.create(claim(exactly(), exactly()), V1)
    assert (error.field, error.body.startswith('Duplicate value: {"name":"r"')) == ("spec.devices.requests[1]", True)


@pytest.mark.parametrize(
    ("version", "field"),
    [
        ("v1", f"{AT}.exactly.allocationMode"),
        ("v1beta2", f"{AT}.exactly.allocationMode"),
        ("v1beta1", f"{AT}.allocationMode"),
    ],
)
def test_place_is_that_of_the_version(version: str, field: str) -> None:
    doc = claim(exactly(allocationMode="x"))
    (error,) = RESOURCE_CLAIM.create(doc, Context(group_version=f"resource.k8s.io/{version}"))
    assert error.field == field


def test_claim_spec_is_fixed() -> None:
    (error,) = RESOURCE_CLAIM.update(claim(), claim(exactly()), V1)
    assert str(error) == "spec: Invalid value: null: field is immutable"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"allocation": {}, "reservedFor": [POD]}, [], id="good"),
        pytest.param(
            {"reservedFor": [POD]},
            ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"],
            id="not-allocated",
        ),
        pytest.param(
            {"allocation": {}, "reservedFor": [POD, POD]},
            ['status.reservedFor[1]: Duplicate value: {"resource":"pods","name":"p","uid":"1"}'],
            id="twice",
        ),
        pytest.param(
            {"allocation": {}, "reservedFor": [{}]},
            [f"status.reservedFor[0].{member}: Required value" for member in ("resource", "name", "uid")],
            id="empty-reservation",
        ),
        pytest.param({"allocation": allocation(RESULT)}, [], id="result"),
        pytest.param(
            {"allocation": allocation({"request": "other", "device": "d0"})},
            [
                f'status.allocation.devices.results[0].request: Invalid value: "other": {NO_REQUEST}',
                "status.allocation.devices.results[0].driver: Required value",
                "status.allocation.devices.results[0].pool: Required value",
            ],
            id="result-of-nothing",
        ),
        pytest.param(
            {"allocation": allocation(RESULT, config=[{"source": "x", "opaque": {"driver": "d", "parameters": {}}}])},
            [
                'status.allocation.devices.config[0].source: Unsupported value: "x": '
                'supported values: "FromClaim", "FromClass"'
            ],
            id="source",
        ),
        pytest.param(
            {"allocation": allocation({**RESULT, "shareID": "x"})},
            [
                'status.allocation.devices.results[0].shareID: Invalid value: "x": must be a lowercase UUID in '
                "8-4-4-4-12 format"
            ],
            id="share",
        ),
        pytest.param(
            {"allocation": allocation(RESULT), "devices": [{**RESULT, "networkData": {"ips": ["10.0.0.0/33"]}}]},
            [
                'status.devices[0].networkData.ips[0]: Invalid value: "10.0.0.0/33": must be a valid address in CIDR '
                "form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
            ],
            id="address",
        ),
        pytest.param(
            {"allocation": allocation(RESULT), "devices": [{**RESULT, "networkData": {"ips": ["2001:DB8::1/64"]}}]},
            [
                'status.devices[0].networkData.ips[0]: Invalid value: "2001:DB8::1/64": '
                'must be in canonical form ("2001:db8::1/64")'
            ],
            id="address-in-capitals",
        ),
    ],
)
def test_claim_status(status: dict[str, Any], expected: list[str]) -> None:
    assert texts(RESOURCE_CLAIM.update(claim(exactly(), status=status), claim(exactly()), STATUS)) == expected


def test_device_that_is_not_allocated_has_no_status() -> None:
    status = {"allocation": allocation(RESULT), "devices": [{**RESULT, "device": "d1"}]}
    (error,) = RESOURCE_CLAIM.update(claim(exactly(), status=status), claim(exactly()), STATUS)
    assert (error.field, error.body.endswith("must be an allocated device in the claim")) == ("status.devices[0]", True)


def test_nobody_reserves_what_is_being_deleted() -> None:
    old, new = (claim(exactly(), status={"allocation": {}, "reservedFor": uids}) for uids in ([], [POD]))
    for doc in (old, new):
        doc["metadata"]["deletionTimestamp"] = "2024-01-02T03:04:05Z"
    (error,) = RESOURCE_CLAIM.update(new, old, STATUS)
    assert error.body.startswith("Forbidden: new entries may not be added while")


def test_allocation_does_not_change_in_place() -> None:
    old = claim(exactly(), status={"allocation": allocation(RESULT)})
    new = claim(exactly(), status={"allocation": allocation({**RESULT, "device": "d1"})})
    (error,) = RESOURCE_CLAIM.update(new, old, STATUS)
    assert str(error) == "status.allocation: Invalid value: null: field cannot be modified once set"
    assert RESOURCE_CLAIM.update(claim(exactly()), old, STATUS) == []


def test_template_is_checked_and_fixed() -> None:
    spec = {"metadata": {"uid": "u"}, "spec": {"devices": {"requests": [{"name": "r", "exactly": {}}]}}}
    doc = {"metadata": {"name": "t"}, "spec": spec}
    assert [error.field for error in RESOURCE_CLAIM_TEMPLATE.create(doc, V1)] == [
        "spec.metadata.uID",
        "spec.spec.devices.requests[0].exactly.deviceClassName",
        "spec.spec.devices.requests[0].exactly.allocationMode",
    ]
    other = {"metadata": {"name": "t"}, "spec": {}}
    assert [error.field for error in RESOURCE_CLAIM_TEMPLATE.update(other, doc, V1)] == ["spec"]
