"""Rules of webhooks and policies."""

from typing import Any

import pytest

from doorman.validation.admissionregistration.match_rules import rule_errors

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, [], id="good"),
        pytest.param({"operations": ["*", "CREATE"]}, ["r.operations"], id="star-and-another-operation"),
        pytest.param({"apiGroups": [], "apiVersions": [""]}, ["r.apiGroups", "r.apiVersions[0]"], id="empty"),
        pytest.param({"resources": ["pods/*", "pods/status"]}, ["r.resources[1]"], id="covered"),
        pytest.param({"resources": ["*", "pods"]}, ["r.resources"], id="star-and-another-resource"),
        pytest.param({"resources": ["*/*", "pods"]}, ["r.resources"], id="all-and-another"),
        pytest.param({"scope": "x"}, ["r.scope"], id="scope"),
        pytest.param({"resourceNames": ["a/b", "c", "c"]}, ["r.resourceNames[0]", "r.resourceNames[2]"], id="names"),
    ],
)
def test_rule(given: Any, expected: list[str]) -> None:
    assert [error.field for error in rule_errors({**RULE, **given}, "r")] == expected
