"""ValidatingAdmissionPolicy: a row for each rule."""

from typing import Any

import pytest

from doorman.admission.policies.validating_policies import ValidatingAdmissionPolicies
from doorman.base.errors import ApiError
from doorman.semantics.cel.policy_expressions import expression_faults

RULES = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}
NO_WILD = "!has(object.spec.tolerations) || object.spec.tolerations.all(t, has(t.key))"
WILD = {"metadata": {"name": "p"}, "spec": {"tolerations": [{"operator": "Exists"}]}}
NAMESPACE = {"metadata": {"name": "ns", "labels": {"tier": "dev"}}}


def policy(*validations: Any, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"matchConstraints": RULES, "validations": list(validations), **spec}}


def binding(*actions: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": list(actions or ["Deny"]), **spec},
    }


def outcome(asked: Any, world: Any, found: Any, bound: Any, **more: Any) -> tuple[int, str, list[str]]:
    cluster = world(
        validatingadmissionpolicies=[found], validatingadmissionpolicybindings=[bound], namespaces=[NAMESPACE], **more
    )
    request = asked(WILD)
    try:
        ValidatingAdmissionPolicies().validate(request, cluster, 0.0)
    except ApiError as error:
        return error.code, str(error), request.warnings
    return 200, "", request.warnings


HEAD = "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "


@pytest.mark.parametrize(
    ("found", "bound", "code", "told"),
    [
        pytest.param(policy({"expression": "true"}), binding(), 200, "", id="rule-1-holds"),
        pytest.param(
            policy({"expression": "false"}), binding(policyName="other"), 200, "", id="rule-1-unbound"
        ),
        pytest.param(
            policy({"expression": "false"}, matchConditions=[{"name": "x", "expression": "request.name == 'q'"}]),
            binding(), 200, "", id="rule-1-condition",
        ),
        pytest.param(
            policy({"expression": "false"}), binding(matchResources={"namespaceSelector": {"matchLabels": {"a": "b"}}}),
            200, "", id="rule-1-binding-is-for-others",
        ),
        pytest.param(
            policy({"expression": "namespaceObject.metadata.labels.tier == 'prod'"}), binding(), 422,
            f"{HEAD}failed expression: namespaceObject.metadata.labels.tier == 'prod'", id="rule-2-namespace",
        ),
        pytest.param(
            policy({"expression": "variables.ok", "message": "m"}, variables=[{"name": "ok", "expression": "1 > 2"}]),
            binding(), 422, f"{HEAD}m", id="rule-2-variables",
        ),
        pytest.param(
            policy({"expression": NO_WILD, "message": "no wildcard", "reason": "Forbidden"}), binding(), 403,
            f"{HEAD}no wildcard", id="rule-3-message-and-reason",
        ),
        pytest.param(
            policy({"expression": "false", "message": "m", "messageExpression": "'pod ' + object.metadata.name"}),
            binding(), 422, f"{HEAD}pod p", id="rule-3-message-expression",
        ),
        pytest.param(
            policy({"expression": "object.none.x"}), binding(), 422,
            f"{HEAD}expression 'object.none.x' resulted in error: no such key: none", id="rule-4-fail",
        ),
        pytest.param(
            policy({"expression": "object.none.x"}, failurePolicy="Ignore"), binding(), 200, "", id="rule-4-ignore"
        ),
        pytest.param(
            policy({"expression": "false"}, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}),
            binding(paramRef={"name": "none", "namespace": "ns"}), 422,
            f"{HEAD}failed to configure binding: no params found for policy binding with `Deny` "
            "parameterNotFoundAction", id="rule-6-no-parameter",
        ),
        pytest.param(
            policy({"expression": "int(params.data.max) > 5"}, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}),
            binding(paramRef={"name": "limits", "namespace": "ns"}), 422,
            f"{HEAD}failed expression: int(params.data.max) > 5", id="rule-6-parameter",
        ),
    ],
)  # fmt: skip
def test_policy(found: Any, bound: Any, code: int, told: str, asked: Any, world: Any) -> None:
    limits = {"metadata": {"name": "limits"}, "data": {"max": "3"}}
    assert outcome(asked, world, found, bound, configmaps=[limits])[:2] == (code, told)


def test_rule_5_warn_lets_pass_and_tells(asked: Any, world: Any) -> None:
    code, _, warnings = outcome(asked, world, policy({"expression": "false", "message": "m"}), binding("Warn", "Audit"))
    assert code == 200
    assert warnings == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': m"]


def test_rule_7_what_does_not_compile_is_named() -> None:
    hooks = {"webhooks": [{"matchConditions": [{"expression": "1 +"}]}]}
    assert [fault.field for fault in expression_faults(hooks)] == ["webhooks[0].matchConditions[0].expression"]
    assert [fault.field for fault in expression_faults(policy({"expression": "("}))] == [
        "spec.validations[0].expression"
    ]
    assert expression_faults(policy({"expression": NO_WILD})) == []
