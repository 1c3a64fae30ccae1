"""Webhook configurations."""

from typing import Any

import pytest

from doorman.validation.admissionregistration.webhooks import CONFIGURATION
from doorman.validation.context import Context

CONTEXT = Context(comparison_operators=True, subresource="")
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://127.0.0.1/"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}


def fields(validator: Any, body: dict[str, Any]) -> list[str]:
    return [error.field for error in validator.create({"metadata": {"name": "x"}, **body}, CONTEXT)]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({}, [], id="good"),
        pytest.param({"name": "a.b"}, ["name"], id="two-segments"),
        pytest.param({"sideEffects": None}, ["sideEffects"], id="side-effects-are-not-told"),
        pytest.param({"sideEffects": ""}, ["sideEffects"], id="side-effects-of-no-known-sort"),
        pytest.param({"name": ""}, ["name"], id="no-name"),
        pytest.param({"clientConfig": {}}, ["clientConfig"], id="nowhere"),
        pytest.param({"clientConfig": {"url": "http://a/?b#c"}}, ["clientConfig.url"] * 3, id="url"),
        pytest.param({"clientConfig": {"url": "https://a", "service": {}}}, ["clientConfig"], id="both"),
        pytest.param({"clientConfig": {"service": {"name": "s", "namespace": "n"}}}, [], id="service"),
        pytest.param(
            {"clientConfig": {"service": {"namespace": "n"}}},
            ["clientConfig.service.namespace"],
            id="service-without-a-name-is-told-as-upstream-tells-it",
        ),
        pytest.param({"clientConfig": {"service": {"name": "s"}}}, ["clientConfig.service.name"], id="no-namespace"),
        pytest.param(
            {"clientConfig": {"service": {"name": "s", "namespace": "n", "path": "a//b"}}},
            ["clientConfig.service.path"] * 3,
            id="path-with-empty-segments",
        ),
        pytest.param(
            {"clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/A/"}}},
            ["clientConfig.service.path"],
            id="path-with-a-capital",
        ),
        pytest.param(
            {"clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/a/b/"}}}, [], id="path-of-a-folder"
        ),
        pytest.param({"sideEffects": "Some"}, ["sideEffects"], id="side-effects"),
        pytest.param({"timeoutSeconds": 31}, ["timeoutSeconds"], id="timeout"),
        pytest.param({"admissionReviewVersions": ["v7"]}, ["admissionReviewVersions"], id="versions"),
        pytest.param({"failurePolicy": "Shrug"}, ["failurePolicy"], id="failure-policy"),
        pytest.param({"rules": [{**RULE, "operations": ["READ"]}]}, ["rules[0].operations[0]"], id="operation"),
        pytest.param({"matchConditions": [{"name": "c"}]}, ["matchConditions[0].expression"], id="condition"),
    ],
)
def test_webhook(more: Any, expected: list[str]) -> None:
    assert fields(CONFIGURATION, {"webhooks": [{**HOOK, **more}]}) == [f"webhooks[0].{field}" for field in expected]


def test_names_are_used_once() -> None:
    assert fields(CONFIGURATION, {"webhooks": [HOOK, HOOK]}) == ["webhooks[1].name"]
