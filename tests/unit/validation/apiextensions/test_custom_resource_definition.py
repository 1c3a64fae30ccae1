"""What a CustomResourceDefinition must say before it is taken."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from doorman.validation.apiextensions.custom_resource_definition import APPROVED, DEFINITION, default_definition
from doorman.validation.context import Context
from support.widgets import widget_definition


def definition() -> Any:
    doc = copy.deepcopy(widget_definition())
    default_definition(doc)
    stored = [version["name"] for version in doc["spec"]["versions"] if version.get("storage")]
    return {**doc, "status": {"storedVersions": stored}}


def test_names_and_conversion_are_filled_in() -> None:
    spec = definition()["spec"]
    assert (spec["names"]["singular"], spec["names"]["listKind"]) == ("widget", "WidgetList")
    assert spec["conversion"] == {"strategy": "None"}
    assert DEFINITION.create(definition(), Context()) == []


def _spec(**members: Any) -> Callable[[Any], None]:
    return lambda doc: doc["spec"].update(members)


def _names(**members: Any) -> Callable[[Any], None]:
    return lambda doc: doc["spec"]["names"].update(members)


def _version(**members: Any) -> Callable[[Any], None]:
    return lambda doc: doc["spec"]["versions"][0].update(members)


def _field(**schema: Any) -> Callable[[Any], None]:
    root = {"type": "object", "properties": {"f": schema}}
    return _version(schema={"openAPIV3Schema": root})


SCHEMA = "spec.validation.openAPIV3Schema"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            lambda doc: doc["metadata"].update(name="x.example.com"),
            'metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group',
            id="name",
        ),
        pytest.param(
            _spec(scope="Galaxy"),
            'spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"',
            id="scope",
        ),
        pytest.param(
            _names(listKind="Widget"),
            'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
            id="list-kind",
        ),
        pytest.param(
            _version(schema={}),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
            id="no-schema",
        ),
        pytest.param(
            _version(schema={"openAPIV3Schema": {"type": "string"}}, subresources={}),
            f'{SCHEMA}.type: Invalid value: "string": must be object at the root',
            id="root-is-no-object",
        ),
        pytest.param(
            _field(),
            f"{SCHEMA}.properties[f].type: Required value: must not be empty for specified object fields",
            id="no-type",
        ),
        pytest.param(
            _field(type="array"), f"{SCHEMA}.properties[f].items: Required value: must be specified", id="no-items"
        ),
        pytest.param(
            _field(type="object", anyOf=[{"type": "object"}]),
            f"{SCHEMA}.properties[f].anyOf[0].type: Forbidden: must be empty to be structural",
            id="type-inside-any-of",
        ),
        pytest.param(
            _field(type="string", pattern="("),
            f'{SCHEMA}.properties[f].pattern: Invalid value: "(": must be a valid regular expression, '
            "but isn't: error parsing regexp: missing closing ): `(`",
            id="pattern",
        ),
        pytest.param(
            _version(subresources={"scale": {"specReplicasPath": ".x", "statusReplicasPath": ".status.r"}}),
            'spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec',
            id="scale-path",
        ),
    ],
)
def test_refused(change: Callable[[Any], None], expected: str) -> None:
    doc = definition()
    change(doc)
    assert [str(error) for error in DEFINITION.create(doc, Context())] == [expected]


def test_exactly_one_version_is_stored() -> None:
    doc = definition()
    doc["spec"]["versions"][0]["storage"] = False
    (error,) = DEFINITION.create(doc, Context())
    assert str(error).endswith("must have exactly one version marked as storage version")


def test_protected_groups_need_an_approval() -> None:
    doc = definition()
    doc["spec"]["group"] = "x.k8s.io"
    doc["metadata"]["name"] = "widgets.x.k8s.io"
    (error,) = DEFINITION.create(doc, Context())
    assert error.field == f"metadata.annotations[{APPROVED}]"
    doc["metadata"]["annotations"] = {APPROVED: "https://example.com/why"}
    assert DEFINITION.create(doc, Context()) == []


def test_scope_and_kind_stay_once_established() -> None:
    old = definition()
    old["status"] = {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]}
    new = copy.deepcopy(old)
    new["spec"]["scope"] = "Cluster"
    new["spec"]["names"]["kind"] = "Gadget"
    assert [error.field for error in DEFINITION.update(new, old, Context())] == ["spec.scope", "spec.names.kind"]


def test_version_that_is_there_twice_is_looked_for_twice_among_those_that_were_stored() -> None:
    doc = definition()
    doc["status"] = {"storedVersions": ["v1"]}
    doc["spec"]["versions"] *= 3
    faults = [error.body for error in DEFINITION.create(doc, Context()) if error.field == "status.storedVersions"]
    assert [fault.rpartition(": ")[2] for fault in faults] == ["must have the storage version v1"] * 2


def test_version_that_was_stored_may_not_go() -> None:
    old = definition()
    old["status"] = {"storedVersions": ["v1"]}
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["name"] = "v2"
    new["status"]["storedVersions"].append("v2")
    (error,) = DEFINITION.update(new, old, Context())
    assert error.field == "status.storedVersions[0]"


CLIENT = {"url": "https://example.com/convert"}


@pytest.mark.parametrize(
    ("conversion", "expected"),
    [
        pytest.param({"strategy": "None"}, [], id="none"),
        pytest.param(
            {"strategy": "Webhook", "webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v1"]}},
            [],
            id="webhook",
        ),
        pytest.param(
            {"strategy": "Webhook"},
            [
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "spec.conversion.conversionReviewVersions: Required value",
            ],
            id="webhook-without-an-address",
        ),
        pytest.param(
            {"strategy": "Webhook", "webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v7"]}},
            [
                'spec.conversion.conversionReviewVersions: Invalid value: ["v7"]: '
                "must include at least one of v1, v1beta1"
            ],
            id="reviews-nobody-knows",
        ),
        pytest.param(
            {"strategy": "None", "webhook": {"clientConfig": CLIENT}},
            ["spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook"],
            id="address-without-a-webhook",
        ),
    ],
)
def test_conversion(conversion: dict[str, Any], expected: list[str]) -> None:
    doc = widget_definition(conversion=conversion)
    default_definition(doc)
    assert [str(error) for error in DEFINITION.create(doc, Context()) if "conversion" in error.field] == expected
