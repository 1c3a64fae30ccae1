"""Parameters of policies that are custom objects of several versions, and policies that change such objects."""

from pathlib import Path
from typing import Any

import pytest

from support.api import Api, running_api
from support.knobs import STRING, converting, define, definition, knob, path, version

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CONFIGMAP_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}


async def given(api: Api, prefix: str, rule: dict[str, Any], spec: dict[str, Any], **binding: Any) -> None:
    """A policy `p` and its binding `b`."""
    policy = {"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [rule]}, **spec}}
    bound = {"metadata": {"name": "b"}, "spec": {"policyName": "p", **binding}}
    for plural, body in ((f"{prefix}admissionpolicies", policy), (f"{prefix}admissionpolicybindings", bound)):
        status, made = await api.call("POST", f"{REGISTRATION}/{plural}", body)
        assert status == 201, made


async def judging(api: Api, version_name: str, expression: str, **ref: Any) -> None:
    """Configmaps are judged by knobs of that version."""
    spec = {
        "paramKind": {"apiVersion": f"example.com/{version_name}", "kind": "Knob"},
        "validations": [{"expression": expression, "messageExpression": "string(params.spec)"}],
    }
    ref = {"name": "k", "namespace": "default", "parameterNotFoundAction": "Deny", **ref}
    await given(api, "validating", CONFIGMAP_RULE, spec, paramRef=ref, validationActions=["Deny"])


async def made(api: Api, name: str = "c", value: str = "x") -> tuple[int, Any]:
    return await api.call("POST", CONFIGMAPS, {"metadata": {"name": name}, "data": {"value": value}})


HEAD = "params.kind == 'Knob' && params.apiVersion == 'example.com/{0}' && params.metadata.name == 'k'"


@pytest.mark.parametrize(
    ("version_name", "seen"),
    [
        pytest.param("v1", "{'a': 'x', 'b': 'y'}", id="stored"),
        pytest.param("v2", "{'a': 'x'}", id="what-that-version-knows"),
    ],
)
async def test_parameter_is_seen_in_the_version_the_policy_names(version_name: str, seen: str) -> None:
    async with running_api() as api:
        await define(api, definition(version("v1", storage=True, a=STRING, b=STRING), version("v2", a=STRING)))
        assert (await api.call("POST", path("v1"), knob("v1", a="x", b="y")))[0] == 201
        expression = f"params.spec == {seen} && {HEAD.format(version_name)} && !('$version' in params)"
        await judging(api, version_name, expression)
        status, answer = await made(api)
        assert status == 201, answer


async def test_parameter_is_converted_by_the_webhook_once(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, converter):
        assert (await api.call("POST", path("v1"), knob("v1", text="a b")))[0] == 201
        await judging(api, "v2", f"params.spec == {{'first': 'a', 'last': 'b'}} && {HEAD.format('v2')}")
        for name in ("one", "two", "three"):
            status, answer = await made(api, name)
            assert status == 201, answer
        assert len(converter.reviews) == 1, "it is remembered"
        status, answer = await api.call("PUT", path("v1", "k"), await changed(api, text="a c"))
        assert status == 200, answer
        before = len(converter.reviews)
        status, answer = await made(api, "four")
        assert status == 422, "a change is seen at once"
        assert len(converter.reviews) == before + 1


async def changed(api: Api, **spec: Any) -> Any:
    _, doc = await api.call("GET", path("v1", "k"))
    return {**doc, "spec": spec}


async def test_parameter_that_cannot_be_converted_refuses(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, converter):
        assert (await api.call("POST", path("v1"), knob("v1", text="a b")))[0] == 201
        await judging(api, "v2", "true")
        converter.fault = "cannot split"
        status, answer = await made(api)
        assert status == 422
        assert "failed to configure binding: conversion to example.com/v2, Kind=Knob failed" in answer["message"]
        converter.fault = ""
        assert (await made(api))[0] == 201


async def test_mutating_policy_reads_converted_parameters(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, _):
        assert (await api.call("POST", path("v1"), knob("v1", text="a b")))[0] == 201
        expression = "[JSONPatch{op: 'add', path: '/data/value', value: params.spec.first}]"
        spec = {
            "paramKind": {"apiVersion": "example.com/v2", "kind": "Knob"},
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
        }
        ref = {"name": "k", "namespace": "default", "parameterNotFoundAction": "Deny"}
        await given(api, "mutating", CONFIGMAP_RULE, spec, paramRef=ref)
        status, answer = await made(api)
        assert (status, answer["data"]) == (201, {"value": "a"})


async def test_mutating_policy_changes_what_a_webhook_converts_there_and_back(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, _):
        rule = {"apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["knobs"], "operations": ["*"]}
        config = "Object{spec: Object.spec{last: object.spec.first + '!'}}"
        spec = {
            "reinvocationPolicy": "Never",
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": config}},
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {"expression": "[JSONPatch{op: 'replace', path: '/spec/first', value: 'z'}]"},
                },
            ],
        }
        await given(api, "mutating", rule, spec)
        status, answer = await api.call("POST", path("v1"), knob("v1", text="a b"))
        assert (status, answer.get("spec")) == (201, {"text": "z a!"})
        status, answer = await api.call("GET", path("v2", "k"))
        assert (status, answer["spec"]) == (200, {"first": "z", "last": "a!"})


async def test_failing_conversion_refuses_what_a_mutating_policy_would_change(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, converter):
        rule = {"apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["knobs"], "operations": ["*"]}
        expression = "[JSONPatch{op: 'replace', path: '/spec/first', value: 'z'}]"
        spec = {
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
        }
        await given(api, "mutating", rule, spec)
        converter.fault = "cannot split"
        status, answer = await api.call("POST", path("v1"), knob("v1", text="a b"))
        assert (status, "cannot split" in answer["message"]) == (500, True)
        assert (await api.call("GET", path("v1", "k")))[0] == 404
