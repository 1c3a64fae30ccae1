"""Nodes."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.core.node_rules import validate_node_create, validate_node_update


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def node(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "n", "uid": "u"}, "spec": spec, "status": status or {}}


NEGATIVE = 'Invalid value: "-1": must be greater than or equal to 0'


def test_create_checks_capacity_and_allocatable() -> None:
    doc = node({"capacity": {"cpu": "-1"}, "allocatable": {"cpu": "-1"}})
    assert texts(validate_node_create(doc, Context())) == [
        f"status.capacity.cpu: {NEGATIVE}",
        f"status.allocatable.cpu: {NEGATIVE}",
    ]


CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
FAMILY = "may specify no more than one CIDR for each IP family"


@pytest.mark.parametrize(
    ("cidrs", "expected"),
    [
        pytest.param(["10.0.0.0/24", "fd00::/64"], [], id="V12-one-of-each-family"),
        pytest.param(
            ["10.0.0.1/24"],
            ['spec.podCIDRs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length'],
            id="V12-host-bits",
        ),
        pytest.param(
            ["10.0.0.0/24", "x"],
            [
                f'spec.podCIDRs[1]: Invalid value: "x": {CIDR}',
                "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:"
                "invalid CIDR[1]: <nil> (invalid CIDR address: x)",
                f'spec.podCIDRs: Invalid value: ["10.0.0.0/24","x"]: {FAMILY}',
            ],
            id="V12-no-family",
        ),
        pytest.param(["a"], [f'spec.podCIDRs[0]: Invalid value: "a": {CIDR}'], id="V12-no-range"),
        pytest.param(["10.0.0.0"], [f'spec.podCIDRs[0]: Invalid value: "10.0.0.0": {CIDR}'], id="V12-no-prefix"),
        pytest.param(["10.0.0.0/33"], [f'spec.podCIDRs[0]: Invalid value: "10.0.0.0/33": {CIDR}'], id="V12-too-long"),
        pytest.param(
            ["10.0.0.0/24", "10.0.1.0/24"],
            [f'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: {FAMILY}'],
            id="V12-one-family-twice",
        ),
        pytest.param(
            ["10.0.0.0/24", "10.0.0.0/24"],
            [f'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.0.0/24"]: {FAMILY}'],
            id="V12-repeated",
        ),
    ],
)
def test_pod_cidrs(cidrs: list[str], expected: list[str]) -> None:
    assert texts(validate_node_create(node(podCIDRs=cidrs), Context())) == expected


def test_status_write_checks_allocatable_too() -> None:
    doc = node({"allocatable": {"cpu": "-1"}})
    assert texts(validate_node_update(doc, node(), Context(subresource="status"))) == [
        f"status.allocatable.cpu: {NEGATIVE}"
    ]


def test_swap_is_looked_at_with_the_whole_node_only() -> None:
    doc = node({"nodeInfo": {"swap": {"capacity": -1}}})
    fault = "metadata.nodeSwapStatus.capacity: Invalid value: -1: must be greater than zero"
    assert texts(validate_node_create(doc, Context())) == [fault]
    assert texts(validate_node_update(doc, node(), Context(subresource="status"))) == []


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(node(taints=[{"key": "k", "effect": "NoSchedule"}]), node(), [], id="V13-taints-are-free"),
        pytest.param(node(taints=[{"key": "k"}]), node(), ["metadata.taints[0].effect: Required value"], id="V14-once"),
        pytest.param(node(podCIDRs=["10.0.0.0/24"]), node(), [], id="V13-cidrs-set"),
        pytest.param(
            node(podCIDRs=["10.0.1.0/24"]),
            node(podCIDRs=["10.0.0.0/24"]),
            ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
            id="V13-cidrs-changed",
        ),
        pytest.param(node(providerID="a"), node(), [], id="V13-provider-set"),
        pytest.param(
            node(),
            node(providerID="a"),
            ["spec.providerID: Invalid value: null: field cannot be cleared once set"],
            id="V13-provider-cleared",
        ),
        pytest.param(
            node(externalID="x"), node(), ["spec.externalID: Forbidden: may not be updated"], id="V13-external"
        ),
        pytest.param(
            node({"addresses": [{"type": "a", "address": "b"}] * 2}),
            node(),
            ['status.addresses[1]: Duplicate value: {"type":"a","address":"b"}'],
            id="address-twice",
        ),
    ],
)
def test_validate_node_update(new: dict[str, Any], old: dict[str, Any], expected: list[str]) -> None:
    assert texts(validate_node_update(new, old, Context())) == expected


def test_stored_invalid_taint_blocks_any_update_that_keeps_it() -> None:
    bad = node(taints=[{"key": "k", "effect": "Odd"}])
    labelled = {**bad, "metadata": {**bad["metadata"], "labels": {"a": "b"}}}
    assert len(validate_node_update(labelled, bad, Context())) == 1
    assert len(validate_node_update(labelled, bad, Context(subresource="status"))) == 1
