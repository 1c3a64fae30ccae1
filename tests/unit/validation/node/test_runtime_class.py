"""Runtime classes."""

from typing import Any

import pytest

from doorman.base.errors import FieldErrorType
from doorman.validation.context import Context
from doorman.validation.node.runtime_class import validate_runtime_class_create, validate_runtime_class_update

GT = {"key": "k", "operator": "Gt", "value": "1"}


def runtime_class(handler: str = "h", *tolerations: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "r"}, "handler": handler, "scheduling": {"tolerations": list(tolerations)}}


def test_handler_is_a_label_and_stays() -> None:
    assert validate_runtime_class_create(runtime_class(), Context()) == []
    assert [e.field for e in validate_runtime_class_create(runtime_class("Not a label"), Context())] == ["handler"]
    (error,) = validate_runtime_class_update(runtime_class("g"), runtime_class(), Context())
    assert str(error) == 'handler: Invalid value: "g": field is immutable'


def test_comparison_operators_are_refused_whatever_the_gate_says() -> None:
    for context in (Context(comparison_operators=True), Context(comparison_operators=False)):
        (error,) = validate_runtime_class_create(runtime_class("h", GT), context)
        assert error.field == "scheduling.tolerations[0].operator"


def test_the_same_is_not_tolerated_twice() -> None:
    twice = {"key": "k", "operator": "Exists"}
    (error,) = validate_runtime_class_create(runtime_class("h", twice, {**twice}), Context())
    assert (error.field, error.type) == ("scheduling.tolerations[1]", FieldErrorType.DUPLICATE)


@pytest.mark.parametrize(
    ("overhead", "fields"),
    [
        pytest.param({"cpu": "100m", "example.com/x": "1"}, [], id="good"),
        pytest.param({"cpu": "-1"}, ["overhead.limits[cpu]"], id="negative"),
        pytest.param({"pods": "1"}, ["overhead.limits[pods]"], id="not-of-containers"),
        pytest.param({"bytes": "1"}, ["overhead.limits[bytes]"] * 2, id="no-resource"),
        pytest.param({"hugepages-2Mi": "2Mi"}, ["overhead"], id="huge-pages-alone"),
    ],
)
def test_overhead_is_what_a_container_may_ask_for(overhead: dict[str, str], fields: list[str]) -> None:
    doc = {**runtime_class(), "overhead": {"podFixed": overhead}}
    assert [error.field for error in validate_runtime_class_create(doc, Context())] == fields
