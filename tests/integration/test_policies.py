"""Admission policies through the API: what they refuse, warn of, note, change, and what is refused of themselves."""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from doorman.admission.policies.validating_policies import FAILURE_ANNOTATION
from doorman.base import loop_turns
from doorman.base.bounds import TURN_SECONDS_MAX
from support.api import Api, running_api

GROUP = "admissionregistration.k8s.io"
PATH = f"/apis/{GROUP}/v1"
PODS = "/api/v1/namespaces/default/pods"
EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"
RULES = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}
    ]
}
WILD = {"operator": "Exists"}


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


async def given_policy(api: Api, spec: dict[str, Any], *, mutating: bool = False, **binding: Any) -> None:
    prefix = "mutating" if mutating else "validating"
    body = {"metadata": {"name": "pol"}, "spec": {"matchConstraints": RULES, **spec}}
    await api.given(f"{prefix}admissionpolicies.{GROUP}", body)
    actions = {} if mutating else {"validationActions": ["Deny"]}
    bound = {"metadata": {"name": "bind"}, "spec": {"policyName": "pol", **actions, **binding}}
    await api.given(f"{prefix}admissionpolicybindings.{GROUP}", bound)


def validating(*expressions: str, **spec: Any) -> dict[str, Any]:
    return {"validations": [{"expression": text, "message": f"not {text}"} for text in expressions], **spec}


DENIED = "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'pol' with binding 'bind' denied request: "


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(validating("true"), 201, id="holds"),
        pytest.param(validating("object.spec.tolerations.all(t, has(t.key))"), 422, id="does-not"),
        pytest.param(
            validating(
                "variables.wild.size() == 0",
                variables=[
                    {"name": "all", "expression": "object.spec.?tolerations.orValue([])"},
                    {"name": "wild", "expression": "variables.all.filter(t, !has(t.key))"},
                ],
            ),
            422,
            id="variables",
        ),
        pytest.param(
            validating("true", variables=[{"name": "bad", "expression": "object.nope.nope"}]), 201, id="unused-variable"
        ),
        pytest.param(validating("request.operation == 'CREATE' && oldObject == null"), 201, id="request"),
        pytest.param(validating("namespaceObject.metadata.name == 'default'"), 201, id="namespace"),
        pytest.param(
            validating("authorizer.group('').resource('nodes').check('delete').allowed()"), 201, id="authorizer-may"
        ),
        pytest.param(
            validating("authorizer.serviceAccount('a', 'x').group('').resource('nodes').check('get').allowed()"),
            422,
            id="authorizer-account-may-not",
        ),
        pytest.param(validating("authorizer.requestResource.check('create').allowed()"), 201, id="authorizer-request"),
        pytest.param(validating("authorizer.path('/healthz').check('get').allowed()"), 201, id="authorizer-path"),
        pytest.param(
            validating(
                "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, "
                "[1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, a < 10))))))"
            ),
            422,
            id="too-costly",
        ),
    ],
)
async def test_validating_policy(spec: dict[str, Any], expected: int) -> None:
    async with running_api() as api:
        await api.given_account("default")
        await given_policy(api, spec)
        status, answer = await api.call("POST", PODS, pod(tolerations=[WILD]))
        assert status == expected, answer
        if status == 422:
            assert answer["message"].startswith(DENIED)


NINE = "[1,2,3,4,5,6,7,8,9]"
LONG = f"{NINE}.all(a, {NINE}.all(b, {NINE}.all(c, {NINE}.all(d, {NINE}.all(e, a < 10)))))"


@pytest.mark.parametrize(
    ("spec", "mutating"),
    [
        (validating(LONG), False),
        ({"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": f"{LONG} ? [] : []"}}]}, True),
    ],
    ids=["validating", "mutating"],
)
async def test_others_are_answered_while_a_long_expression_is_evaluated(
    spec: dict[str, Any], mutating: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look at the clock is a moment: how long a machine takes decides nothing."""
    moments = itertools.count()
    monkeypatch.setattr(loop_turns, "spent", lambda: next(moments) * TURN_SECONDS_MAX)
    async with running_api() as api:
        await api.given_account("default")
        if mutating:
            spec = {"reinvocationPolicy": "Never", "failurePolicy": "Fail", **spec}
        await given_policy(api, spec, mutating=mutating)
        creating = asyncio.ensure_future(api.call("POST", PODS, pod()))
        for _ in range(20):
            await asyncio.sleep(0)
            status, _ = await api.call("GET", "/api/v1/namespaces/default")
            assert status == 200
        assert not creating.done()
        status, answer = await creating
        assert status == 201, answer


async def test_parameters_of_a_custom_kind_by_labels() -> None:
    async with running_api() as api:
        await api.given_account("default")
        for name, value in (("one", "3"), ("two", "1"), ("other", "0")):
            labels = {"limits": "yes"} if name != "other" else {}
            config = {"metadata": {"name": name, "labels": labels}, "data": {"max": value}}
            await api.given("configmaps", config, namespace="default")
        spec = validating(
            "object.spec.tolerations.size() <= int(params.data.max)",
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        )
        ref = {"selector": {"matchLabels": {"limits": "yes"}}, "parameterNotFoundAction": "Deny"}
        await given_policy(api, spec, paramRef=ref)
        tolerations = [{"key": "a", "operator": "Exists"}] * 2
        status, _ = await api.call("POST", PODS, pod(tolerations=tolerations))
        assert status == 422, "one of the two says no"
        await api.call("DELETE", "/api/v1/namespaces/default/configmaps/two")
        # The default tolerations of every pod make it four.
        status, _ = await api.call("POST", PODS, pod(tolerations=tolerations[:1]))
        assert status == 201
        await api.call("DELETE", "/api/v1/namespaces/default/configmaps/one")
        status, answer = await api.call("POST", PODS, pod("q"))
        assert status == 422
        assert "no params found for policy binding with `Deny` parameterNotFoundAction" in answer["message"]


async def test_warn_and_audit_let_pass_and_tell(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    async with running_api(audit_log=log) as api:
        await api.given_account("default")
        spec = validating(
            "1 > 2", "2 > 3", auditAnnotations=[{"key": "who", "valueExpression": "request.userInfo.username"}]
        )
        await given_policy(api, spec, validationActions=["Warn", "Audit"])
        status, _ = await api.call("POST", PODS, pod())
        assert status == 201
    (event,) = [entry for entry in map(json.loads, log.read_text().splitlines()) if entry["verb"] == "create"]
    assert event["annotations"]["pol/who"] == "admin"
    failures = json.loads(event["annotations"][FAILURE_ANNOTATION])
    assert [(one["message"], one["expressionIndex"]) for one in failures] == [("not 1 > 2", 0), ("not 2 > 3", 1)]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param(validating("nobody == 1"), "spec.validations[0].expression", id="name"),
        pytest.param(validating("1 + 1"), "spec.validations[0].expression", id="not-a-boolean"),
        pytest.param(validating("params.x == 1"), "spec.validations[0].expression", id="params-without-a-kind"),
        pytest.param(
            validating("variables.b", variables=[{"name": "a", "expression": "1"}]),
            "spec.validations[0].expression",
            id="unknown-variable",
        ),
        pytest.param(
            validating(
                "true", variables=[{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]
            ),
            "spec.variables[0].expression",
            id="variable-before-its-turn",
        ),
        pytest.param(
            {"validations": [{"expression": "true", "messageExpression": "1"}]},
            "spec.validations[0].messageExpression",
            id="message-is-no-string",
        ),
        pytest.param(
            validating("true", auditAnnotations=[{"key": "a", "valueExpression": "true"}]),
            "spec.auditAnnotations[0].valueExpression",
            id="annotation-is-no-string",
        ),
        pytest.param(
            validating("true", variables=[{"name": "a-b", "expression": "1"}]), "spec.variables[0].name", id="id"
        ),
        pytest.param(validating("true", failurePolicy="Maybe"), "spec.failurePolicy", id="failure-policy"),
    ],
)
async def test_bad_policy_is_refused(spec: dict[str, Any], field: str) -> None:
    async with running_api() as api:
        body = {"metadata": {"name": "pol"}, "spec": {"matchConstraints": RULES, **spec}}
        status, answer = await api.call("POST", f"{PATH}/validatingadmissionpolicies", body)
        assert status == 422
        assert [cause["field"] for cause in answer["details"]["causes"]] == [field]


def applying(expression: str, **spec: Any) -> dict[str, Any]:
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    return {"mutations": [mutation], "reinvocationPolicy": "Never", **spec}


def patching(expression: str, **spec: Any) -> dict[str, Any]:
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    return {"mutations": [mutation], "reinvocationPolicy": "Never", **spec}


async def test_mutation_by_apply_configuration_merges() -> None:
    async with running_api() as api:
        await api.given_account("default")
        expression = (
            "Object{metadata: Object.metadata{labels: {'team': 'a'}}, spec: Object.spec{containers: "
            "object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: 'Always'})}}"
        )
        await given_policy(api, applying(expression), mutating=True)
        status, answer = await api.call("POST", PODS, pod())
        assert status == 201, answer
        assert answer["metadata"]["labels"] == {"team": "a"}
        (container,) = answer["spec"]["containers"]
        assert (container["image"], container["imagePullPolicy"]) == ("i", "Always")


async def test_mutation_by_json_patch_adds_a_toleration_and_defaults_follow() -> None:
    async with running_api() as api:
        await api.given_account("default")
        expression = (
            "[JSONPatch{op: 'add', path: '/spec/tolerations/-', value: {'key': 'team', 'operator': 'Exists'}}, "
            "JSONPatch{op: 'add', path: '/metadata/annotations', value: {}}, "
            "JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('a/b'), value: 'c'}]"
        )
        await given_policy(api, patching(expression), mutating=True)
        status, answer = await api.call("POST", PODS, pod())
        assert status == 201, answer
        assert [one["key"] for one in answer["spec"]["tolerations"]] == [
            "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "team",
        ]  # fmt: skip
        assert answer["metadata"]["annotations"] == {"a/b": "c"}


@pytest.mark.parametrize(
    ("spec", "status", "why"),
    [
        pytest.param(
            applying("Object{spec: Object.spec{tolerations: []}}"),
            403,
            "error applying patch: may not mutate atomic arrays, maps or structs: .spec.tolerations",
            id="atomic",
        ),
        pytest.param(
            applying("Object{metadata: Object.metadata{name: 'q'}}"), 403, "may not mutate metadata.name", id="name"
        ),
        pytest.param(
            applying("Object{spec: Object.spec{nodeName: object.nope}}"), 403, "no such key: nope", id="error"
        ),
        pytest.param(
            applying("Object{spec: Object.spec{nodeName: object.nope}}", failurePolicy="Ignore"), 201, "", id="ignored"
        ),
        pytest.param(patching("[JSONPatch{op: 'remove', path: '/nope'}]"), 403, "nope", id="patch"),
        pytest.param(
            applying("Object{spec: Object.spec{nodeName: 'Bad_'}}"), 422, "spec.nodeName", id="validated-afterwards"
        ),
        pytest.param(
            applying(
                "Object{spec: Object.spec{nodeName: 'x'}}", matchConditions=[{"name": "n", "expression": "false"}]
            ),
            201,
            "",
            id="condition",
        ),
    ],
)
async def test_mutation_that_must_not_be(spec: dict[str, Any], status: int, why: str) -> None:
    async with running_api() as api:
        await api.given_account("default")
        await given_policy(api, spec, mutating=True)
        found, answer = await api.call("POST", PODS, pod())
        assert found == status, answer
        if status != 201:
            assert why in answer["message"]
        else:
            assert "nodeName" not in answer["spec"]


async def test_policy_is_asked_again_when_another_changed_the_object_after_it() -> None:
    async with running_api() as api:
        await api.given_account("default")
        count = "string(size(object.metadata.?labels.orValue({})))"
        seen = f"Object{{metadata: Object.metadata{{annotations: {{'labels': {count}}}}}}}"
        for name, spec in (
            ("a", applying(seen, reinvocationPolicy="IfNeeded")),
            ("b", applying("Object{metadata: Object.metadata{labels: {'x': 'y'}}}")),
        ):
            body = {"metadata": {"name": name}, "spec": {"matchConstraints": RULES, **spec}}
            await api.given(f"mutatingadmissionpolicies.{GROUP}", body)
            bound = {"metadata": {"name": name}, "spec": {"policyName": name}}
            await api.given(f"mutatingadmissionpolicybindings.{GROUP}", bound)
        _, answer = await api.call("POST", PODS, pod())
        assert answer["metadata"]["annotations"]["labels"] == "1"


async def test_bad_mutating_policy_is_refused() -> None:
    async with running_api() as api:
        for spec, field in (
            (applying("object"), None),
            (applying("1"), "spec.mutations[0].applyConfiguration.expression"),
            (patching("Object{}"), "spec.mutations[0].jsonPatch.expression"),
            ({"mutations": [{"patchType": "Other"}], "reinvocationPolicy": "Never"}, "spec.mutations[0].patchType"),
            ({"mutations": [], "reinvocationPolicy": "Never"}, "spec.mutations"),
        ):
            body = {"metadata": {"name": f"p{field or ''}".lower()[:1]}, "spec": {"matchConstraints": RULES, **spec}}
            status, answer = await api.call("POST", f"{PATH}/mutatingadmissionpolicies?dryRun=All", body)
            if field is None:
                assert status == 201, answer
            else:
                assert (status, answer["details"]["causes"][0]["field"]) == (422, field)


async def given_examples(api: Api, file: str) -> None:
    for doc in yaml.safe_load_all((EXAMPLES / file).read_text()):
        group, _, version = doc["apiVersion"].partition("/")
        plural = next(row.resource for row in api.cluster.kinds.rows if row.kind == doc["kind"])
        status, answer = await api.call("POST", f"/apis/{group}/{version}/{plural}", doc)
        assert status == 201, answer


async def test_example_of_refusing() -> None:
    async with running_api() as api:
        await api.given_account("default")
        await given_examples(api, "no-wildcards.yaml")
        await api.given_role("pods", "jane", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}])
        status, answer = await api.call("POST", PODS, pod(tolerations=[WILD]), user="jane")
        assert status == 403
        assert answer["message"].endswith("denied request: pod p tolerates everything")
        assert (await api.call("POST", PODS, pod(tolerations=[WILD])))[0] == 201, "who may change nodes may"
        assert (await api.call("POST", PODS, pod("q"), user="jane"))[0] == 201


async def test_example_of_changing() -> None:
    async with running_api() as api:
        await given_examples(api, "team.yaml")
        for name, labels in (("blue", {"team": "blue"}), ("grey", {})):
            await api.given("namespaces", {"metadata": {"name": name, "labels": labels}})
            await api.given_account("default", namespace=name)
        _, answer = await api.call("POST", "/api/v1/namespaces/blue/pods", pod())
        assert answer["spec"]["tolerations"][-1] == {
            "key": "team",
            "operator": "Equal",
            "value": "blue",
            "effect": "NoSchedule",
        }
        assert answer["metadata"]["labels"] == {"team": "blue"}
        _, answer = await api.call("POST", "/api/v1/namespaces/grey/pods", pod())
        assert "labels" not in answer["metadata"]
