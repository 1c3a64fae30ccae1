"""Resource slices and their devices."""

from typing import Any

import pytest

from doorman.api.machinery.resource_conversion import from_slice
from doorman.validation.context import Context
from doorman.validation.resource.resource_slice import RESOURCE_SLICE

TAINT = {"key": "k", "effect": "NoSchedule"}
PLACES = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
OWN_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
UNION = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"
LABEL = "a lowercase RFC 1123 label must consist of"
TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
V1 = Context(group_version="resource.k8s.io/v1")


def resource_slice(*devices: dict[str, Any], **spec: Any) -> dict[str, Any]:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    base = {"driver": "d.example", "nodeName": "n1", "pool": pool, "devices": list(devices)}
    whole = {name: value for name, value in {**base, **spec}.items() if value is not None}
    return {"metadata": {"name": "s", "uid": "u"}, "spec": whole}


def device(**members: Any) -> dict[str, Any]:
    return resource_slice({"name": "d0", **members})


def found(doc: dict[str, Any]) -> list[str]:
    return [str(error) for error in RESOURCE_SLICE.create(doc, V1)]


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
        pytest.param(
            resource_slice({"name": "d"}, {"name": "d"}), ['spec.devices[1]: Duplicate value: "d"'], id="same-name"
        ),
        pytest.param(resource_slice(driver=""), ["spec.driver: Required value"], id="no-driver"),
        pytest.param(resource_slice(driver="GPU.Example"), [], id="capitals"),
        pytest.param(
            resource_slice(driver="a" * 64), ["spec.driver: Too long: may not be more than 63 bytes"], id="long-driver"
        ),
        pytest.param(resource_slice(nodeName=None), [f"spec: Required value: {PLACES}"], id="nowhere"),
        pytest.param(
            resource_slice(nodeName=""),
            [
                'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
                f"spec: Required value: {PLACES}",
            ],
            id="empty-node",
        ),
        pytest.param(
            resource_slice(allNodes=True),
            [f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {PLACES}, but multiple fields are set'],
            id="two-places",
        ),
        pytest.param(
            resource_slice(allNodes=False),
            ["spec.allNodes: Invalid value: false: must be either unset or set to true"],
            id="not-all-nodes",
        ),
        pytest.param(
            resource_slice(pool={"name": "a/b", "resourceSliceCount": 0, "generation": -1}),
            [
                "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
                "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
            ],
            id="pool",
        ),
        pytest.param(
            resource_slice(pool={"resourceSliceCount": 1}), ["spec.pool.name: Required value"], id="pool-without-name"
        ),
        pytest.param(
            resource_slice(sharedCounters=[{"name": "c", "counters": {"m": {"value": "1"}}}]),
            ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'],
            id="counters-and-devices",
        ),
        pytest.param(
            resource_slice(devices=None, sharedCounters=[{}]),
            [
                "spec.sharedCounters[0].name: Required value",
                "spec.sharedCounters[0].counters: Required value",
            ],
            id="empty-counters",
        ),
    ],
)
def test_resource_slice_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert found(doc) == expected


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(
            device(attributes={"a": {}}),
            [f'spec.devices[0].attributes[a]: Invalid value: "": must specify one of: {UNION}'],
            id="attribute-without-value",
        ),
        pytest.param(
            device(attributes={"a": {"int": 1, "bool": True}}),
            [f'spec.devices[0].attributes[a]: Invalid value: "{{int, bool}}": must specify exactly one of: {UNION}'],
            id="attribute-with-two-values",
        ),
        pytest.param(
            device(attributes={"a": {"version": "01.2.3"}}),
            [
                'spec.devices[0].attributes[a].version: Invalid value: "01.2.3": '
                "must be a string compatible with semver.org spec 2.0.0"
            ],
            id="version",
        ),
        pytest.param(
            device(attributes={"a": {"string": "x" * 65}}),
            ["spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes"],
            id="long-text",
        ),
        pytest.param(
            device(attributes={f"a{i}": {"int": i} for i in range(33)}),
            ["spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32"],
            id="many-attributes",
        ),
        pytest.param(
            device(taints=[{}]),
            [
                'spec.devices[0].taints[0].key: Invalid value: "": name part must be non-empty',
                'spec.devices[0].taints[0].key: Invalid value: "": name part must consist of alphanumeric characters, '
                "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
                "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                "spec.devices[0].taints[0].effect: Required value",
            ],
            id="empty-taint",
        ),
        pytest.param(
            device(nodeName="n1"),
            [
                "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
                "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            ],
            id="device-with-a-place-of-its-own",
        ),
        pytest.param(
            resource_slice({"name": "d"}, nodeName=None, perDeviceNodeSelection=True),
            [f"spec.devices[0]: Required value: {OWN_PLACE}"],
            id="device-without-a-place-of-its-own",
        ),
        pytest.param(
            device(consumesCounters=[{"counterSet": "c", "counters": {"m": {"value": "1"}}}] * 3),
            ["spec.devices[0].consumesCounters: Too many: 3: must have at most 2 items"],
            id="many-consumptions",
        ),
        pytest.param(
            device(bindingConditions=["a"]),
            [
                "spec.devices[0].bindingFailureConditions: Invalid value: null: "
                "bindingFailureConditions are required to use bindingConditions"
            ],
            id="binding-without-failure",
        ),
        pytest.param(
            device(bindingConditions=["a"], bindingFailureConditions=["a"]),
            [
                'spec.devices[0].bindingFailureConditions[0]: Invalid value: "a": '
                "bindingFailureConditions must not overlap with bindingConditions"
            ],
            id="binding-is-failure",
        ),
    ],
)
def test_device(doc: dict[str, Any], expected: list[str]) -> None:
    assert found(doc) == expected


def test_empty_name_of_a_device_is_badly_formed() -> None:
    (text,) = found(resource_slice({}))
    assert text.startswith(f'spec.devices[0].name: Invalid value: "": {LABEL}')


def test_slice_has_one_term_only() -> None:
    both = found(resource_slice(nodeName=None, nodeSelector={"nodeSelectorTerms": [TERM, TERM]}))
    assert [text.endswith("must have exactly one node selector term") for text in both] == [True]


def test_v1beta1_tells_of_declared_members_where_it_has_them() -> None:
    stored = device(attributes={"a": {}})
    (error,) = RESOURCE_SLICE.create(stored, Context(group_version="resource.k8s.io/v1beta1"))
    assert error.field == "spec.devices[0].basic.attributes[a]"
    assert from_slice(stored)["spec"]["devices"][0]["basic"] == {"attributes": {"a": {}}}


def test_resource_slice_keeps_driver_pool_and_node() -> None:
    new = resource_slice(driver="e.example", nodeName="n2", pool={"name": "p", "resourceSliceCount": 1})
    errors = RESOURCE_SLICE.update(new, resource_slice(), V1)
    assert [error.field for error in errors] == ["spec.pool.name", "spec.driver", "spec.nodeName"]


def test_unknown_effect_that_is_stored_may_stay() -> None:
    odd = {"key": "k", "effect": "Future"}
    stored = resource_slice({"name": "d", "taints": [odd]})
    assert RESOURCE_SLICE.update(resource_slice({"name": "d", "taints": [odd]}), stored, V1) == []
    worse = resource_slice({"name": "d", "taints": [odd, {"key": "j", "effect": "Future"}]})
    assert {error.field for error in RESOURCE_SLICE.update(worse, stored, V1)} == {
        "spec.devices[0].taints[0].effect",
        "spec.devices[0].taints[1].effect",
    }
