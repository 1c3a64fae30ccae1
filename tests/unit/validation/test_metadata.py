"""Metadata of every kind."""

from typing import Any

import pytest

from doorman.semantics.name_syntax import LABEL_VALUE_FAULT, SUBDOMAIN_FAULT, dns_label_faults
from doorman.validation.context import Context
from doorman.validation.metadata import (
    common_update_errors,
    metadata_validator,
    validate_metadata,
    validate_metadata_update,
)

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}
NOT_STANDARD = "name is neither a standard finalizer name nor is it fully qualified"


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"name": "p", "labels": {"a": "b"}, "annotations": {"A/B": "any thing"}}, 0, id="good"),
        pytest.param({}, ["metadata.name: Required value: name or generateName is required"], id="no-name"),
        pytest.param({"name": "Pod"}, [f'metadata.name: Invalid value: "Pod": {SUBDOMAIN_FAULT}'], id="bad-name"),
        pytest.param({"name": "gen-x", "generateName": "gen-"}, 0, id="generate-name-may-end-in-a-hyphen"),
        pytest.param(
            {"name": "Ga-x", "generateName": "Ga-"},
            [
                f'metadata.generateName: Invalid value: "Ga-": {SUBDOMAIN_FAULT}',
                f'metadata.name: Invalid value: "Ga-x": {SUBDOMAIN_FAULT}',
            ],
            id="bad-generate-name",
        ),
        pytest.param(
            {"name": "p", "labels": {"a": "b c"}},
            [f'metadata.labels: Invalid value: "b c": {LABEL_VALUE_FAULT}'],
            id="bad-label-value",
        ),
        pytest.param(
            {"name": "p", "annotations": {"k": "x" * (256 * 1024)}},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
            id="annotations-too-long",
        ),
        pytest.param({"name": "p", "annotations": {"k": "x" * (256 * 1024 - 1)}}, 0, id="annotations-just-fit"),
        pytest.param({"name": "p", "ownerReferences": [OWNER]}, 0, id="owner"),
        pytest.param(
            {"name": "p", "ownerReferences": [{"apiVersion": "apps/", "kind": "X", "name": "n", "uid": "u"}]},
            ['metadata.ownerReferences[0].apiVersion: Invalid value: "apps/": must be <group>/<version> or <version>'],
            id="owner-without-version",
        ),
        pytest.param(
            {"name": "p", "ownerReferences": [{"apiVersion": "v1"}]},
            [
                "metadata.ownerReferences[0].kind: Required value: must not be empty",
                "metadata.ownerReferences[0].name: Required value: must not be empty",
                "metadata.ownerReferences[0].uid: Required value: must not be empty",
            ],
            id="owner-without-anything",
        ),
        pytest.param({"name": "p", "finalizers": ["kubernetes", "a.b/c"]}, 0, id="finalizers"),
        pytest.param(
            {"name": "p", "finalizers": ["mine"]},
            [f'metadata.finalizers[0]: Invalid value: "mine": {NOT_STANDARD}'],
            id="finalizer-without-domain",
        ),
    ],
)
def test_validate_metadata(metadata: dict[str, Any], expected: list[str] | int) -> None:
    assert texts(validate_metadata({"metadata": metadata})) == (expected or [])


def test_validate_metadata_two_controllers_are_refused() -> None:
    owners = [{**OWNER, "controller": True}, {**OWNER, "name": "b", "controller": True}]
    (error,) = validate_metadata({"metadata": {"name": "p", "ownerReferences": owners}})
    assert error.field == "metadata.ownerReferences"
    assert error.body.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for ConfigMap/a and ConfigMap/b'
    )


def test_validate_metadata_events_own_nothing() -> None:
    owner = {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}
    (error,) = validate_metadata({"metadata": {"name": "p", "ownerReferences": [owner]}})
    assert error.body.endswith("/v1, Kind=Event is disallowed from being an owner")


def test_validate_metadata_update_adds_no_finalizer_to_what_is_being_deleted() -> None:
    old = {"metadata": {"name": "p", "deletionTimestamp": "t", "finalizers": ["a.b/c"]}}
    new = {"metadata": {"name": "p", "deletionTimestamp": "t", "finalizers": ["a.b/c", "y.z/g", "x.z/f"]}}
    assert texts(validate_metadata_update(new, old)) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"x.z/f", "y.z/g"}'
    ]
    assert validate_metadata_update(old, new) == []


def test_validate_metadata_update_keeps_what_is_fixed() -> None:
    old, new = {"metadata": {"name": "p", "uid": "1"}}, {"metadata": {"name": "p", "uid": "2"}}
    assert texts(validate_metadata_update(new, old)) == ['metadata.uid: Invalid value: "2": field is immutable']


def test_metadata_validator_gives_each_error_once_on_update() -> None:
    validator = metadata_validator(dns_label_faults)
    doc = {"metadata": {"name": "a.b", "labels": {"": "v"}}}
    assert texts(validator.create(doc, Context()))[0] == 'metadata.name: Invalid value: "a.b": must not contain dots'
    found = validator.update(doc, doc, Context())
    assert len(found) == len(set(found)) == 3


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"generateName": "G" * 70}, [], id="any-name-a-path-may-have"),
        pytest.param({"finalizers": ["nodomain"]}, [], id="finalizer-without-domain"),
        pytest.param(
            {"uid": "2", "labels": {"a": "b c"}},
            [
                f'metadata.labels: Invalid value: "b c": {LABEL_VALUE_FAULT}',
                'metadata.uid: Invalid value: "2": field is immutable',
            ],
            id="what-is-wrong-before-what-is-fixed",
        ),
    ],
)
def test_common_checks_of_updates(changed: dict[str, Any], expected: list[str]) -> None:
    old = {"metadata": {"name": "System:Odd", "uid": "1"}}
    found = texts(common_update_errors({"metadata": {**old["metadata"], **changed}}, old))
    assert list(dict.fromkeys(found)) == expected
