"""Expressions of policies."""

from typing import Any

import pytest

from doorman.semantics.cel.policy_expressions import expression_faults


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"validations": [{"expression": "object.a > 1"}]}, [], id="good"),
        pytest.param({"validations": [{"expression": "1"}]}, ["spec.validations[0].expression"], id="no-boolean"),
        pytest.param(
            {"validations": [{"expression": "params.a"}]}, ["spec.validations[0].expression"], id="no-parameters"
        ),
        pytest.param(
            {"variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]},
            ["spec.variables[0].expression"],
            id="rule-1-variable-that-comes-later",
        ),
        pytest.param({"validations": [{"expression": " "}]}, [], id="nothing-to-compile"),
    ],
)
def test_expressions(spec: Any, expected: list[str]) -> None:
    assert [error.field for error in expression_faults({"spec": spec})] == expected
