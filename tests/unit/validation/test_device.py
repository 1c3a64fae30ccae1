"""Resource slices, device taint rules, device classes."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.device import DEVICE_CLASS, DEVICE_TAINT_RULE, RESOURCE_SLICE

TAINT = {"key": "k", "effect": "NoSchedule"}


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def resource_slice(*devices: dict[str, Any], **spec: Any) -> dict[str, Any]:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    base = {"driver": "d.example", "nodeName": "n1", "pool": pool, "devices": list(devices)}
    return {"metadata": {"name": "s", "uid": "u"}, "spec": {**base, **spec}}


def rule(taint: dict[str, Any], **selector: str) -> dict[str, Any]:
    return {"metadata": {"name": "r", "uid": "u"}, "spec": {"taint": taint, "deviceSelector": selector}}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(resource_slice({"name": "d0", "taints": [TAINT]}), [], id="good"),
        pytest.param(resource_slice(*({"name": f"d{i}"} for i in range(128))), [], id="128-devices"),
        pytest.param(
            resource_slice(*({"name": f"d{i}"} for i in range(129))),
            ["spec.devices: Too many: 129: must have at most 128 items"],
            id="129-devices",
        ),
        pytest.param(
            resource_slice(*({"name": f"d{i}", "taints": [TAINT]} for i in range(65))),
            ["spec.devices: Too many: 65: must have at most 64 items"],
            id="65-tainted-devices",
        ),
        pytest.param(resource_slice(driver=""), ["spec.driver: Required value"], id="no-driver"),
        pytest.param(
            resource_slice(nodeName=""),
            [
                "spec: Required value: "
                "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
            ],
            id="nowhere",
        ),
        pytest.param(
            resource_slice(pool={"name": "a/b", "resourceSliceCount": 0}),
            ["spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"],
            id="pool-count",
        ),
        pytest.param(
            resource_slice({"name": "d0", "attributes": {"a": {}}}),
            ["spec.devices[0].attributes[a]: Required value: exactly one value must be specified"],
            id="attribute-without-value",
        ),
    ],
)
def test_resource_slice_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert texts(RESOURCE_SLICE.create(doc, Context())) == expected


def test_resource_slice_in_two_places_is_refused() -> None:
    (error,) = RESOURCE_SLICE.create(resource_slice(allNodes=True), Context())
    assert error.body.endswith("is required, but multiple fields are set")


def test_resource_slice_keeps_driver_pool_and_node() -> None:
    new = resource_slice(driver="e.example", nodeName="n2", pool={"name": "p", "resourceSliceCount": 1})
    found = RESOURCE_SLICE.update(new, resource_slice(), Context())
    assert [error.field for error in found] == ["spec.nodeName", "spec.driver", "spec.pool.name"]


def test_unknown_effect_that_is_stored_may_stay() -> None:
    odd = {"key": "k", "effect": "Future"}
    stored = resource_slice({"name": "d", "taints": [odd]})
    assert RESOURCE_SLICE.update(stored, stored, Context()) == []
    assert len(RESOURCE_SLICE.create(stored, Context())) == 1
    assert DEVICE_TAINT_RULE.update(rule(odd), rule(odd), Context()) == []
    assert len(DEVICE_TAINT_RULE.update(rule(odd), rule(TAINT), Context())) == 1


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        pytest.param({"driver": "d" * 64}, "spec.deviceSelector.driver", id="long-driver"),
        pytest.param({"pool": "a//b"}, "spec.deviceSelector.pool", id="pool"),
        pytest.param({"device": "a.b"}, "spec.deviceSelector.device", id="device"),
    ],
)
def test_rule_selector_is_checked(selector: dict[str, str], field: str) -> None:
    assert [error.field for error in DEVICE_TAINT_RULE.create(rule(TAINT, **selector), Context())] == [field]


def test_rule_status_write_looks_at_metadata_only() -> None:
    broken = rule({})
    assert DEVICE_TAINT_RULE.update(broken, broken, Context(subresource="status")) == []


def test_device_class_selectors_have_expressions() -> None:
    doc = {"metadata": {"name": "c"}, "spec": {"selectors": [{"cel": {"expression": "true"}}, {"cel": {}}, {}]}}
    for found in (DEVICE_CLASS.create(doc, Context()), DEVICE_CLASS.update(doc, doc, Context())):
        assert texts(found) == [
            "spec.selectors[1].cel.expression: Required value",
            "spec.selectors[2].cel: Required value",
        ]
