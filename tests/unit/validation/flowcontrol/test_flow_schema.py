"""FlowSchemas."""

from typing import Any

import pytest

from doorman.validation.context import Context
from doorman.validation.flowcontrol.flow_schema import FLOW_SCHEMA

SUBJECT = {"kind": "User", "user": {"name": "u"}}
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"]}
SPEC = {"matchingPrecedence": 1000, "priorityLevelConfiguration": {"name": "p"}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({"rules": [{"subjects": [SUBJECT], "resourceRules": [RULE]}]}, [], id="good"),
        pytest.param({"matchingPrecedence": 1}, ["spec.matchingPrecedence"], id="only-exempt-is-first"),
        pytest.param({"matchingPrecedence": 10001}, ["spec.matchingPrecedence"], id="last"),
        pytest.param({"priorityLevelConfiguration": {}}, ["spec.priorityLevelConfiguration.name"], id="no-level"),
        pytest.param({"distinguisherMethod": {"type": "x"}}, ["spec.distinguisherMethod.type"], id="method"),
        pytest.param({"rules": [{}]}, ["spec.rules[0].subjects", "spec.rules[0]"], id="empty-rule"),
        pytest.param(
            {"rules": [{"subjects": [{"kind": "x"}], "resourceRules": [RULE]}]},
            ["spec.rules[0].subjects[0].kind"],
            id="subject",
        ),
        pytest.param(
            {"rules": [{"subjects": [{**SUBJECT, "group": {"name": "g"}}], "resourceRules": [RULE]}]},
            ["spec.rules[0].subjects[0].group"],
            id="two-subjects",
        ),
        pytest.param(
            {"rules": [{"subjects": [{"kind": "ServiceAccount", "serviceAccount": {}}], "resourceRules": [RULE]}]},
            ["spec.rules[0].subjects[0].serviceAccount.name", "spec.rules[0].subjects[0].serviceAccount.namespace"],
            id="account",
        ),
        pytest.param(
            {"rules": [{"subjects": [SUBJECT], "resourceRules": [{**RULE, "verbs": ["x"], "namespaces": ["A"]}]}]},
            ["spec.rules[0].resourceRules[0].verbs", "spec.rules[0].resourceRules[0].namespaces[0]"],
            id="resource-rule",
        ),
        pytest.param(
            {
                "rules": [
                    {
                        "subjects": [SUBJECT],
                        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["a", "/a//b", "/*"]}],
                    }
                ]
            },
            [
                "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]",
                "spec.rules[0].nonResourceRules[0].nonResourceURLs[1]",
            ],
            id="urls",
        ),
    ],
)
def test_flow_schema(given: Any, expected: list[str]) -> None:
    assert [
        error.field for error in FLOW_SCHEMA.create({"metadata": {"name": "x"}, "spec": {**SPEC, **given}}, Context())
    ] == expected
