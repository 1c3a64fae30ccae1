"""Structural checking: what is stored of a document, what is complained about, what is refused."""

from typing import Any

import pytest

from doorman.api.kinds import type_table
from doorman.api.machinery.decode_errors import DecodeError
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.structural_schema import compile_schema

SCHEMA = Schema(type_table())
CONTAINER = {"name": "c", "image": "i"}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER], **spec}}


def tolerating(**toleration: Any) -> dict[str, Any]:
    return pod(tolerations=[toleration])


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        pytest.param(pod(), pod(), id="clean-already"),
        pytest.param(pod(nodeName=None), pod(), id="null-is-absent"),
        pytest.param(pod(nodeName=""), pod(), id="empty-string-is-absent"),
        pytest.param(pod(hostNetwork=False), pod(), id="false-is-absent"),
        pytest.param(pod(tolerations=[]), pod(), id="empty-list-is-absent"),
        pytest.param(pod(nodeSelector={}), pod(), id="empty-map-is-absent"),
        pytest.param(tolerating(tolerationSeconds=0), tolerating(tolerationSeconds=0), id="zero-that-says-something"),
        pytest.param(pod(enableServiceLinks=False), pod(enableServiceLinks=False), id="false-that-says-something"),
        pytest.param(
            pod(containers=[{**CONTAINER, "resources": {"limits": {"cpu": 1, "memory": "1024Mi"}}}]),
            pod(containers=[{**CONTAINER, "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]),
            id="quantities-are-canonical",
        ),
        pytest.param(
            {"metadata": {"name": "p", "creationTimestamp": "2026-01-01T01:00:00+01:00"}},
            {"metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}},
            id="times-are-in-utc",
        ),
    ],
)
def test_clean(given: dict[str, Any], stored: dict[str, Any]) -> None:
    assert SCHEMA.clean(given, "core.v1.Pod") == (stored, [])


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        pytest.param({"bogus": 1}, ['unknown field "bogus"'], id="top"),
        pytest.param(tolerating(keyy="k"), ['unknown field "spec.tolerations[0].keyy"'], id="in-a-list"),
        pytest.param(
            {"spec": {"a": 1}, "status": {"b": 2}}, ['unknown field "spec.a"', 'unknown field "status.b"'], id="several"
        ),
    ],
)
def test_unknown_fields_go_and_are_named(given: dict[str, Any], problems: list[str]) -> None:
    cleaned, found = SCHEMA.clean(given, "core.v1.Pod")
    assert found == problems
    assert SCHEMA.clean(cleaned, "core.v1.Pod") == (cleaned, [])


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        pytest.param(tolerating(tolerationSeconds="60"), "cannot unmarshal string", id="text-for-a-number"),
        pytest.param(tolerating(key=5), "cannot unmarshal number", id="number-for-a-text"),
        pytest.param(pod(tolerations={}), "cannot unmarshal object", id="object-for-a-list"),
        pytest.param(pod(priority=2**31), "cannot unmarshal number 2147483648", id="number-too-large"),
        pytest.param(pod(priority=1.5), "cannot unmarshal number 1.5", id="fraction"),
        pytest.param({"spec": []}, "cannot unmarshal array", id="list-for-an-object"),
        pytest.param(
            pod(containers=[{**CONTAINER, "resources": {"limits": {"cpu": "much"}}}]), "quantities must", id="quantity"
        ),
        pytest.param({"metadata": {"creationTimestamp": "yesterday"}}, "parsing time", id="time"),
        pytest.param({"metadata": {"creationTimestamp": "2026-02-29T00:00:00Z"}}, "day out of range", id="day"),
        pytest.param({"metadata": {"creationTimestamp": "2026-01-01T24:00:00Z"}}, "hour out of range", id="hour"),
    ],
)
def test_wrong_type_is_refused(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(DecodeError, match=fault):
        SCHEMA.clean(given, "core.v1.Pod")


def test_shared_members_are_not_looked_at_again() -> None:
    """What is the very same as in a clean document is taken as clean: only the rest is checked."""
    known = pod(nodeSelector={"a": "b"})
    changed = {**known, "spec": {**known["spec"], "nodeName": "n"}}
    cleaned, problems = SCHEMA.clean(changed, "core.v1.Pod", known=known)
    assert (cleaned is changed, problems) == (True, [])
    with pytest.raises(DecodeError):
        SCHEMA.clean({**known, "spec": {**known["spec"], "nodeName": 5}}, "core.v1.Pod", known=known)


def test_whole_number_of_floating_point_is_stored_as_go_writes_it() -> None:
    schema = {"maximum": 1000.0, "minimum": 0.5}
    cleaned, _ = SCHEMA.clean(schema, "apiextensions.v1.JSONSchemaProps")
    assert [(type(value), value) for value in cleaned.values()] == [(int, 1000), (float, 0.5)]


def test_unknown_fields_of_a_custom_object_are_told_in_order() -> None:
    schema = Schema(type_table())
    inner = {"type": "object", "properties": {}}
    schema.add("custom", compile_schema({"type": "object", "properties": {"spec": inner}}))
    _, found = schema.clean({"spec": {"b": 1, "a": 1}, "metadata": {"Labels": {}}}, "custom")
    assert found == ['unknown field "metadata.Labels"', 'unknown field "spec.a"', 'unknown field "spec.b"']
