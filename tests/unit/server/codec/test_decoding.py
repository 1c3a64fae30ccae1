"""From a body to a clean document of the expected kind."""

import json
from typing import Any

import pytest

from doorman.api.kinds import builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.structural_schema import compile_schema
from doorman.base.errors import ApiError
from doorman.registry.custom.custom_kinds import kind_of
from doorman.server.codec.decoding import decode_object, decode_posted, field_validation
from doorman.server.request import Query
from support.widgets import widget_definition

SCHEMA = Schema(type_table())
DEPLOYMENTS = builtin_kinds().named("deployments.apps")


def decoded(body: Any, validation: str = "Warn", warnings: list[str] | None = None) -> dict[str, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode_object(SCHEMA, DEPLOYMENTS, raw, "", validation, warnings if warnings is not None else [])


def deployment(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, **more}


def test_kind_and_version_are_not_kept() -> None:
    assert decoded(deployment()) == {"metadata": {"name": "d"}}
    assert decoded({"metadata": {"name": "d"}}) == {"metadata": {"name": "d"}}, "and need not be there"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            deployment(apiVersion="apps/v1beta1"),
            "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)",
            id="version",
        ),
        pytest.param(
            deployment(kind="DaemonSet"),
            'DaemonSet in version "v1" cannot be handled as a Deployment: '
            "converting (v1.DaemonSet) to (apps.Deployment): unknown conversion",
            id="kind",
        ),
        pytest.param(
            deployment(kind="DaemonSet", spec=5),
            'DaemonSet in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number into Go struct',
            id="kind-that-it-is-not-either",
        ),
        pytest.param(
            deployment(spec={"replicas": "3"}),
            'Deployment in version "v1" cannot be handled as a Deployment: '
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            id="type-of-a-field",
        ),
        pytest.param(b"[1]", "the object provided is unrecognized (must be of type Deployment)", id="list"),
        pytest.param(b"{", "the object provided is unrecognized (must be of type Deployment)", id="cut"),
        pytest.param(deployment(kind=5), "the object provided is unrecognized", id="kind-that-is-no-text"),
        pytest.param(
            deployment(apiVersion="a/b/c"),
            "the object provided is unrecognized (must be of type Deployment): unexpected GroupVersion string: a/b/c (",
            id="version-of-no-group",
        ),
    ],
)
def test_refused(body: Any, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        decoded(body)
    assert caught.value.code == 400
    assert caught.value.message.startswith(message)


TWICE = b'{"metadata":{"name":"d"},"spec":{"replicas":1,"replicas":2,"bogus":1}}'
PROBLEMS = ['duplicate field "spec.replicas"', 'unknown field "spec.bogus"']


def test_strict_refuses_all_problems_at_once() -> None:
    with pytest.raises(ApiError) as caught:
        decoded(TWICE, "Strict")
    assert caught.value.message.endswith(f"strict decoding error: {', '.join(PROBLEMS)}")


def test_warn_takes_it_and_says_so_and_ignore_says_nothing() -> None:
    for validation, expected in (("Warn", PROBLEMS), ("Ignore", [])):
        warnings: list[str] = []
        assert decoded(TWICE, validation, warnings)["spec"] == {"replicas": 2}
        assert warnings == expected


def test_field_validation_is_one_of_three_words() -> None:
    assert [field_validation(Query(q), "X") for q in ("", "fieldValidation=", "fieldValidation=Strict")] == [
        "Warn",
        "Warn",
        "Strict",
    ]
    with pytest.raises(ApiError) as caught:
        field_validation(Query("fieldValidation=strict"), "CreateOptions")
    assert caught.value.code == 422


def posted(body: Any, kind: str = "Eviction", **more: bool) -> str:
    """How it is refused."""
    with pytest.raises(ApiError) as caught:
        decode_posted(SCHEMA, kind, json.dumps(body).encode(), "", "Strict", [], **more)
    assert caught.value.code == 400
    return caught.value.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"kind": 0}, "json: cannot unmarshal number into Go struct field .kind", id="kind"),
        pytest.param({"apiVersion": {}}, "json: cannot unmarshal object into Go struct field .api", id="version"),
        pytest.param({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c", id="group-version"),
    ],
)
def test_posted_object_says_in_words_what_it_is(body: Any, message: str) -> None:
    assert message in posted(body)


def test_of_a_scale_of_a_custom_object_one_thing_is_said_whatever_is_wrong() -> None:
    for body in ([], {"kind": 5}, {"apiVersion": "x"}, {"spec": {"replicas": "x"}}, {"foo": 1}):
        assert posted(body, "Scale", is_custom=True).startswith("no kind is registered for the type v1.Scale in scheme")


@pytest.mark.parametrize(
    ("resource", "scheme"),
    [
        pytest.param("deployments.apps", "pkg/api/legacyscheme/scheme.go:30", id="core"),
        pytest.param(
            "customresourcedefinitions.apiextensions.k8s.io",
            "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:56",
            id="definitions",
        ),
        pytest.param(
            "apiservices.apiregistration.k8s.io",
            "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
            id="services",
        ),
    ],
)
def test_group_that_a_server_of_its_own_serves_knows_its_own_kinds(resource: str, scheme: str) -> None:
    kind = builtin_kinds().named(resource)
    body = json.dumps({"apiVersion": "x", "kind": "Pod"}).encode()
    with pytest.raises(ApiError) as caught:
        decode_object(SCHEMA, kind, body, "", "Warn", [])
    assert caught.value.message.endswith(f'no kind "Pod" is registered for version "x" in scheme "{scheme}"')


def test_object_of_another_kind_than_the_custom_one_is_invalid() -> None:
    schema = Schema(type_table())
    schema.add("custom", compile_schema({"type": "object", "properties": {}}))
    doc = widget_definition()
    widgets = kind_of(doc, doc["spec"]["versions"][0], "custom")
    body = json.dumps({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}).encode()
    with pytest.raises(ApiError) as caught:
        decode_object(schema, widgets, body, "", "Warn", [])
    message = 'Gadget.example.com "g" is invalid: kind: Invalid value: "Gadget": must be Widget'
    assert (caught.value.code, caught.value.message) == (422, message)
