"""What is refused of a definition's rules."""

from typing import Any

import pytest

from doorman.validation.apiextensions.definition_schema import definition_schema_errors

SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "items": {
            "type": "array",
            "maxItems": 9,
            "items": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}},
        },
    },
}


def faults(rule: Any, *, in_items: bool = False) -> list[str]:
    spec: dict[str, Any] = {**SPEC, "properties": dict(SPEC["properties"])}
    rules = [rule if isinstance(rule, dict) else {"rule": rule}]
    if in_items:
        items = spec["properties"]["items"]
        spec["properties"]["items"] = {**items, "items": {**items["items"], "x-kubernetes-validations": rules}}
    else:
        spec["x-kubernetes-validations"] = rules
    root = {"type": "object", "properties": {"spec": spec}}
    return [str(error) for error in definition_schema_errors(root, "s")]


AT = "s.properties[spec].x-kubernetes-validations[0]"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param("self.replicas > 1 && self.replicas >= oldSelf.replicas", "", id="good"),
        pytest.param({"rule": "oldSelf.hasValue()", "optionalOldSelf": True}, "", id="good-optional"),
        pytest.param("", f"{AT}.rule: Required value: rule is not specified", id="none"),
        pytest.param(
            "self.nope > 1",
            f'{AT}.rule: Invalid value: {{"Rule":"self.nope \\u003e 1"}}: compilation failed: '
            "ERROR: <input>:1:5: undefined field 'nope'",
            id="rule-1-field",
        ),
        pytest.param(
            "self.replicas",
            f'{AT}.rule: Invalid value: {{"Rule":"self.replicas"}}: cel expression must evaluate to a bool',
            id="rule-1-no-boolean",
        ),
        pytest.param(
            "self.replicas + 'a' == ''",
            "found no matching overload for '_+_' applied to '(int, string)'",
            id="rule-1-types",
        ),
        pytest.param({"rule": "true", "messageExpression": "1"}, f"{AT}.messageExpression", id="rule-1-message"),
        pytest.param(
            {"rule": "true", "messageExpression": "nope"}, f"{AT}.messageExpression", id="rule-1-message-name"
        ),
        pytest.param(
            {"rule": "true", "optionalOldSelf": True},
            f"{AT}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
            id="rule-3",
        ),
        pytest.param(
            {"rule": "true", "message": " "},
            f'{AT}.message: Invalid value: " ": must be non-empty if specified',
            id="rule-4-blank",
        ),
        pytest.param({"rule": "true", "message": "a\nb"}, "must not contain line breaks", id="rule-4-lines"),
        pytest.param(
            "true &&\ntrue", "message must be specified if rule contains line breaks", id="rule-4-needs-message"
        ),
        pytest.param({"rule": "true", "reason": "Other"}, f"{AT}.reason: Unsupported value", id="rule-4-reason"),
        pytest.param({"rule": "true", "fieldPath": ".nope"}, "must be a valid path", id="rule-4-path"),
        pytest.param({"rule": "true", "fieldPath": ".replicas"}, "", id="rule-4-good-path"),
        pytest.param({"rule": "true", "fieldPath": "replicas"}, "must be a valid path", id="rule-4-no-path"),
    ],
)
def test_rule(rule: Any, expected: str) -> None:
    found = faults(rule)
    assert len(found) == (1 if expected else 0), found
    assert not expected or expected in found[0]


def test_rule_2_old_values_of_elements_without_keys_cannot_be_found() -> None:
    (error,) = faults("self.name == oldSelf.name", in_items=True)
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[spec]" in error
    assert faults("self.name != ''", in_items=True) == []


def test_message_that_does_not_compile_hides_nothing() -> None:
    first, second = faults({"rule": "true", "messageExpression": "nope", "optionalOldSelf": True})
    assert first.startswith(f"{AT}.messageExpression: ")
    assert second.startswith(f"{AT}.optionalOldSelf: ")
