"""Device classes and the expressions that select their devices."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.resource.device_class import DEVICE_CLASS
from doorman.validation.resource.devices.device_selectors import expression_errors

V1 = Context(group_version="resource.k8s.io/v1")
GOOD = 'device.driver == "d.example" && device.attributes["d.example"].model.startsWith("a")'


def device_class(name: str = "c", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def selector(expression: str) -> dict[str, Any]:
    return {"cel": {"expression": expression}}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        pytest.param(device_class(selectors=[selector(GOOD)], extendedResourceName="example.com/gpu"), [], id="good"),
        pytest.param(device_class(selectors=[{}]), ["spec.selectors[0].cel: Required value"], id="no-expression"),
        pytest.param(
            device_class(selectors=[selector("true")] * 33),
            ["spec.selectors: Too many: 33: must have at most 32 items"],
            id="many-selectors",
        ),
        pytest.param(
            device_class(extendedResourceName="gpu"),
            [
                'spec.extendedResourceName: Invalid value: "gpu": '
                "a name must be a domain-prefixed path, such as 'example.com/my-prop'"
            ],
            id="resource-without-domain",
        ),
        pytest.param(
            device_class(extendedResourceName="kubernetes.io/gpu"),
            ['spec.extendedResourceName: Invalid value: "kubernetes.io/gpu": must not have "kubernetes.io/" domain'],
            id="native-resource",
        ),
        pytest.param(
            device_class("x" * 254),
            [f'metadata.name: Invalid value: "{"x" * 254}": must be no more than 253 bytes'],
            id="long-name",
        ),
    ],
)
def test_device_class_create(doc: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in DEVICE_CLASS.create(doc, V1)] == expected


def test_what_a_name_is_generated_from_is_not_judged() -> None:
    doc = device_class()
    doc["metadata"]["generateName"] = "Bad_"
    assert DEVICE_CLASS.create(doc, V1) == []


def test_stored_selector_is_not_judged_again_unless_one_is_added() -> None:
    stored = device_class(selectors=[selector("no such thing")])
    assert DEVICE_CLASS.update(device_class(selectors=[selector("no such thing")]), stored, V1) == []
    more = device_class(selectors=[selector("no such thing"), selector("true")])
    assert [error.field for error in DEVICE_CLASS.update(more, stored, V1)] == ["spec.selectors[0].cel.expression"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param(GOOD, "", id="good"),
        pytest.param('device.capacity["d.example"].memory.isGreaterThan(quantity("1Gi"))', "", id="quantity"),
        pytest.param('device.attributes["d.example"].version.isGreaterThan(semver("1.0.0"))', "", id="version"),
        pytest.param('device.attributes["d.example"].shared', "", id="attribute-alone"),
        pytest.param("device.allowMultipleAllocations", "", id="shared"),
        pytest.param('cel.bind(own, device.attributes["d.example"], own.a && own.b)', "", id="bind"),
        pytest.param("1", 'e: Invalid value: "1": must evaluate to bool or the unknown type, not int', id="number"),
        pytest.param(
            "",
            "e: Invalid value: \"\": compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' "
            "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
            "BYTES, IDENTIFIER}",
            id="empty",
        ),
        pytest.param(
            "device.nothing",
            "e: Invalid value: \"device.nothing\": compilation failed: ERROR: <input>:1:7: undefined field 'nothing'\n"
            " | device.nothing\n | ......^",
            id="no-such-member",
        ),
        pytest.param(
            'device.attributes["a"].list.exists(x, x == 1)',
            'e: Invalid value: "device.attributes[\\"a\\"].list.exists(x, x == 1)": compilation failed: ERROR: '
            "<input>:1:23: expression of type 'any' cannot be range of a comprehension "
            "(must be list, map, or dynamic)\n"
            ' | device.attributes["a"].list.exists(x, x == 1)\n | ......................^',
            id="attribute-is-no-list",
        ),
        pytest.param(
            " || ".join(
                "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, "
                f'device.attributes["{name}"].x.matches(device.driver))))'
                for name in "ab"
            ),
            "too complex, exceeds cost limit",
            id="expensive",
        ),
        pytest.param("'" + "x" * 10241 + "'", "e: Too long: may not be more than 10240 bytes", id="long"),
    ],
)
def test_expression(expression: str, expected: str) -> None:
    found = "".join(str(error) for error in expression_errors(expression, "e"))
    assert found == expected or (expected and found.endswith(f"Forbidden: {expected}"))
