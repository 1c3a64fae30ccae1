"""Admission policies and their bindings."""

from typing import Any

import pytest

from doorman.validation.admissionregistration.policies import BINDING, MUTATING_BINDING, MUTATING_POLICY, POLICY
from doorman.validation.context import Context

CONTEXT = Context(comparison_operators=True, subresource="")
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
MATCH = {"matchConstraints": {"resourceRules": [RULE]}}
TRUE = {"validations": [{"expression": "true"}]}


def fields(validator: Any, body: dict[str, Any]) -> list[str]:
    return [error.field for error in validator.create({"metadata": {"name": "x"}, **body}, CONTEXT)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"validations": [{"expression": "true"}], "matchConstraints": {"resourceRules": [RULE]}}, [], id="good"
        ),
        pytest.param({}, ["spec.matchConstraints", "spec.validations", "spec.auditAnnotations"], id="empty"),
        pytest.param(
            {**MATCH, **TRUE, "variables": [{"name": "-a", "expression": "1"}]}, ["spec.variables[0].name"], id="name"
        ),
        pytest.param(
            {**MATCH, "validations": [{"expression": "variables.y"}]}, ["spec.validations[0].expression"], id="compiles"
        ),
        pytest.param(
            {**MATCH, **TRUE, "paramKind": {"apiVersion": "a..b", "kind": "a/b"}},
            ["spec.paramKind.apiVersion", "spec.paramKind.kind"],
            id="params",
        ),
    ],
)
def test_policy(spec: Any, expected: list[str]) -> None:
    assert fields(POLICY, {"spec": spec}) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"policyName": "p", "validationActions": ["Deny", "Audit"]}, [], id="good"),
        pytest.param({"policyName": "p", "validationActions": ["Deny", "Warn"]}, ["spec.validationActions"], id="2"),
        pytest.param({}, ["spec.policyName", "spec.validationActions"], id="empty"),
    ],
)
def test_binding(spec: Any, expected: list[str]) -> None:
    assert fields(BINDING, {"spec": spec}) == expected


def test_what_is_deleted_is_not_mutated() -> None:
    rules = {"resourceRules": [{**RULE, "operations": ["DELETE"]}]}
    assert fields(MUTATING_BINDING, {"spec": {"policyName": "p", "matchResources": rules}}) == [
        "spec.matchResources.resourceRules.operations"
    ]


def test_mutation_is_of_its_type() -> None:
    mutation = {"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}}
    spec = {**MATCH, "mutations": [mutation], "reinvocationPolicy": "Never"}
    assert fields(MUTATING_POLICY, {"spec": spec}) == [
        "spec.mutations[0].jsonPatch",
        "spec.mutations[0].applyConfiguration",
    ]
