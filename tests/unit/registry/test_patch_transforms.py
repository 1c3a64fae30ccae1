"""PATCH bodies: which are taken, and what they make of a document."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from doorman.api.kinds import Kind, builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.patch.field_paths import FieldShape, FieldWalker
from doorman.api.well_known import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from doorman.base.errors import ApiError
from doorman.registry.clean_documents import Body
from doorman.registry.patch_transforms import (
    APPLY_PATCH,
    JSON_PATCH,
    PatchBody,
    checked_config,
    tell_duplicates,
    transform_of,
)
from doorman.server.codec.patch_bodies import patch_type_of, read_patch
from support.api import running_api

SCHEMA = Schema(type_table())
WALKER = FieldWalker(SCHEMA)
NODES = builtin_kinds().named("nodes")
TAINT = {"key": "k", "effect": "NoSchedule"}
NODE = {"metadata": {"name": "n", "labels": {"a": "b"}}, "spec": {"taints": [TAINT]}}


def patched(patch: Any, media: str, validation: str = "Strict", warnings: list[str] | None = None) -> dict[str, Any]:
    read = read_patch(patch_type_of(NODES, media), json.dumps(patch).encode())
    found = warnings if warnings is not None else []
    return transform_of(SCHEMA, NODES, read, validation, found)(json.loads(json.dumps(NODE)))


@pytest.mark.parametrize(
    ("media", "patch", "taints"),
    [
        pytest.param(MERGE_PATCH, {"spec": {"taints": None}}, None, id="merge-removes"),
        pytest.param(
            STRATEGIC_MERGE_PATCH, {"spec": {"taints": [{**TAINT, "key": "l"}]}}, ["l"], id="strategic-replaces"
        ),
        pytest.param(STRATEGIC_MERGE_PATCH, {"spec": {"taints": None}}, None, id="strategic-removes"),
        pytest.param(
            JSON_PATCH, [{"op": "add", "path": "/spec/taints/-", "value": {**TAINT, "key": "l"}}], ["k", "l"], id="json"
        ),
        pytest.param(STRATEGIC_MERGE_PATCH, {}, ["k"], id="nothing"),
        pytest.param(
            STRATEGIC_MERGE_PATCH, {"kind": "Pod", "apiVersion": "v2"}, ["k"], id="strategic-of-whatever-kind"
        ),
        pytest.param(MERGE_PATCH, {"kind": None}, ["k"], id="without-kind"),
        pytest.param(JSON_PATCH, None, ["k"], id="no-operations"),
        pytest.param(
            JSON_PATCH, [{"op": "test", "path": "/spec/podCIDR", "value": None}], ["k"], id="what-is-not-there-is-null"
        ),
    ],
)
def test_taints(media: str, patch: Any, taints: list[str] | None) -> None:
    found = patched(patch, media).get("spec", {}).get("taints")
    assert (found and [taint["key"] for taint in found]) == taints


@pytest.mark.parametrize(
    ("media", "patch", "code", "message"),
    [
        pytest.param("application/json", {}, 415, "415: Unsupported Media Type", id="json-is-no-patch"),
        pytest.param("text/x", {}, 415, "415: Unsupported Media Type", id="unknown"),
        pytest.param(JSON_PATCH, {}, 400, "error decoding patch: json: cannot unmarshal object into", id="map"),
        pytest.param(JSON_PATCH, [1], 400, "error decoding patch: json: cannot unmarshal number", id="list-of-numbers"),
        pytest.param(
            JSON_PATCH,
            [{"op": "test", "path": "/spec/a/b", "value": None}],
            422,
            "the server rejected our request due to an error in our request",
            id="test-of-null-below-what-is-not-there",
        ),
        pytest.param(
            STRATEGIC_MERGE_PATCH,
            {"metadata": {"finalizers": [["a"]]}},
            422,
            ' "" is invalid: patch: ',
            id="list-of-lists",
        ),
        pytest.param(
            STRATEGIC_MERGE_PATCH,
            {"metadata": {"finalizers": [{"a": 1}]}},
            422,
            ' "" is invalid: patch: Invalid value: "map[metadata:map[finalizers:[map[a:1]]]]": unrecognized type',
            id="maps",
        ),
        pytest.param(
            STRATEGIC_MERGE_PATCH,
            {"metadata": {"ownerReferences": ["a", {"$patch": "replace"}]}},
            422,
            ' "" is invalid: patch: Invalid value',
            id="mixed",
        ),
        pytest.param(
            STRATEGIC_MERGE_PATCH,
            {"metadata": {"ownerReferences": [{"uid": {}}]}},
            422,
            ' "" is invalid: patch: Invalid value: "map[metadata:map[ownerReferences:[map[uid:map[]]]]]": unrec',
            id="nothing-to-merge-with",
        ),
        pytest.param(MERGE_PATCH, [], 400, "error decoding patch", id="merge-with-a-list"),
        pytest.param(
            JSON_PATCH,
            [{"op": "test", "path": "/metadata/name", "value": "x"}],
            422,
            "the server rejected our request due to an error in our request",
            id="test-that-fails",
        ),
        pytest.param(MERGE_PATCH, {"spec": {"bogus": 1}}, 422, ' "" is invalid: patch: Invalid value', id="strict"),
        pytest.param(
            STRATEGIC_MERGE_PATCH,
            {"spec": {"taints": [{**TAINT, "key": 1}]}},
            422,
            ' "" is invalid: patch: Invalid value: "map[spec:map[taints:[map[effect:NoSchedule key:1]]]]": '
            "cannot convert int64 to string",
            id="strategic-wrong-type",
        ),
        pytest.param(
            STRATEGIC_MERGE_PATCH,
            {"spec": {"zz": 1, "bogus": None, "aa": "b"}},
            422,
            ' "" is invalid: patch: Invalid value: "map[spec:map[aa:b bogus:<nil> zz:1]]": strict decoding error: '
            'unknown field "spec.aa", unknown field "spec.zz"',
            id="strategic-strict",
        ),
        pytest.param(MERGE_PATCH, {"kind": "Pod"}, 422, ' "" is invalid: patch: Invalid value', id="kind"),
        pytest.param(MERGE_PATCH, {"kind": 5}, 422, ' "" is invalid: patch: Invalid value', id="kind-of-a-number"),
        pytest.param(MERGE_PATCH, {"apiVersion": "v2"}, 422, ' "" is invalid: patch: Invalid value', id="version"),
    ],
)
def test_refused(media: str, patch: Any, code: int, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        patched(patch, media)
    assert caught.value.code == code
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("media", [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH])
def test_what_is_no_json_is_no_patch(media: str) -> None:
    with pytest.raises(ApiError) as caught:
        read_patch(media, b"{bad")
    assert (caught.value.code, caught.value.message) == (400, "invalid JSON patch")


def test_applied_configuration_is_an_object() -> None:
    with pytest.raises(ApiError, match="while decoding JSON: json: cannot unmarshal array"):
        read_patch(APPLY_PATCH, b"[]")


def test_unknown_field_is_warned_about_each_time_anew() -> None:
    warnings: list[str] = []
    read = read_patch(MERGE_PATCH, b'{"spec":{"bogus":1}}')
    transform = transform_of(SCHEMA, NODES, read, "Warn", warnings)
    for _ in range(2):
        assert "bogus" not in transform(json.loads(json.dumps(NODE)))["spec"]
    assert warnings == ['unknown field "spec.bogus"'], "a second try does not say it twice"


def test_custom_kinds_take_no_strategic_patch() -> None:
    custom = msgspec.structs.replace(NODES, is_custom=True)
    with pytest.raises(ApiError) as caught:
        patch_type_of(custom, STRATEGIC_MERGE_PATCH)
    assert (caught.value.code, "strategic" in caught.value.message) == (415, False)
    assert read_patch(patch_type_of(custom, APPLY_PATCH), b"kind: Node").is_apply


def test_warnings_of_others_stay_and_those_of_an_attempt_are_told_once() -> None:
    warnings = ["v1 Things are deprecated"]
    body = json.dumps({"spec": {"odd": 1}}).encode()
    transform = transform_of(SCHEMA, NODES, read_patch(MERGE_PATCH, body), "Warn", warnings)
    for _ in range(2):
        transform(json.loads(json.dumps(NODE)))
    assert warnings == ["v1 Things are deprecated", 'unknown field "spec.odd"']


def keyed_lists(type_name: str | None, depth: int = 7) -> Iterator[dict[str, Any]]:
    """Every way down to a keyed list, which is empty."""
    for name in SCHEMA.fields(type_name) if type_name and depth else ():
        field = WALKER.field(type_name, name)
        if field.shape is FieldShape.KEYED:
            yield {name: []}
        elif field.shape is FieldShape.STRUCT and field.struct != type_name:
            yield from ({name: one} for one in keyed_lists(field.struct, depth - 1))


@pytest.mark.parametrize(
    "kind",
    [kind for kind in builtin_kinds().rows if kind.type_name],
    ids=lambda kind: f"{kind.group_version}-{kind.resource}",
)
def test_empty_keyed_list_says_nothing_when_applied(kind: Kind) -> None:
    head = {"apiVersion": kind.group_version, "kind": kind.kind}
    for said in keyed_lists(kind.type_name):
        patch = PatchBody(type=APPLY_PATCH, body=Body({**said, **head}))
        assert checked_config(SCHEMA, kind, patch) == {"metadata": {}, **said}


def test_merge_patch_tells_unknown_fields_by_name() -> None:
    warnings: list[str] = []
    body = json.dumps({"spec": {"zeta": 1, "taints": [{"key": "k", "effect": "NoSchedule", "b": 1, "a": 1}]}}).encode()
    transform_of(SCHEMA, NODES, read_patch(MERGE_PATCH, body), "Warn", warnings)(json.loads(json.dumps(NODE)))
    assert [text.removeprefix('unknown field "spec.').rstrip('"') for text in warnings] == [
        "taints[0].a", "taints[0].b", "zeta",
    ]  # fmt: skip


def test_duplicates_in_an_applied_configuration_are_told_last() -> None:
    warnings: list[str] = []
    patch = read_patch(APPLY_PATCH, b'{"apiVersion":"v1","kind":"Node","kind":"Node"}')
    tell_duplicates(patch, "Ignore", warnings)
    assert warnings == []
    tell_duplicates(patch, "Warn", warnings)
    assert warnings == ['line 1: key "kind" already set in map']
    with pytest.raises(ApiError, match=r"error strict decoding patch: error converting YAML to JSON: yaml: unmarshal"):
        tell_duplicates(patch, "Strict", warnings)


async def test_apply_to_an_object_whose_elements_nothing_tells_apart() -> None:
    path, headers = "/api/v1/namespaces/default/serviceaccounts", {"content-type": APPLY_PATCH}
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "f"}}
    async with running_api() as api:
        assert (await api.call("POST", path, {**body, "secrets": [{"name": "a"}, {"kind": "b"}]}))[0] == 201
        status, answer = await api.call("PATCH", f"{path}/f?fieldManager=m", body, headers=headers)
    assert status == 500
    assert answer["message"] == (
        "failed to create manager for existing fields: failed to convert new object (default/f; /v1, "
        "Kind=ServiceAccount) to smd typed: .secrets: element 1: associative list with keys has an element that "
        'omits all key fields ["name"] (and doesn\'t have default values for any key fields)'
    )


async def test_owned_fields_are_written_in_order() -> None:
    """Upstream's end-to-end test compares the text."""
    path = "/api/v1/namespaces/default/pods/p?fieldManager=m"
    spec = {"containers": [{"name": "c", "image": "i"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"b": "1", "a": "2"}}, "spec": spec}
    async with running_api() as api:
        await api.given_account("default")
        _, answer = await api.call("PATCH", path, body, headers={"content-type": APPLY_PATCH})
    fields = answer["metadata"]["managedFields"][0]["fieldsV1"]
    labels = '"f:labels":{"f:a":{},"f:b":{}}'
    container = '"f:containers":{"k:{\\"name\\":\\"c\\"}":{".":{},"f:image":{},"f:name":{}}}'
    wanted = f'{{"f:metadata":{{{labels}}},"f:spec":{{{container}}}}}'
    assert json.dumps(fields, separators=(",", ":")) == wanted


@pytest.mark.parametrize(
    ("version", "name", "shown"),
    [
        pytest.param("v2", "Node", "/v2, Kind=Node", id="version"),
        pytest.param("apps/v1", "Node", "apps/v1, Kind=Node", id="group"),
        pytest.param("v1", "Pod", "/v1, Kind=Pod", id="kind"),
        pytest.param(5, "Node", "/, Kind=Node", id="version-that-is-no-text"),
        pytest.param("v1", True, "/v1, Kind=", id="kind-that-is-no-text"),
        pytest.param("a/b/c", "Node", "/, Kind=", id="version-of-no-group"),
        pytest.param(None, None, "/, Kind=", id="nothing"),
    ],
)
def test_configuration_of_something_else_is_not_applied(version: object, name: object, shown: str) -> None:
    patch = PatchBody(type=APPLY_PATCH, body=Body({"apiVersion": version, "kind": name}))
    with pytest.raises(ApiError) as caught:
        checked_config(SCHEMA, NODES, patch)
    assert (caught.value.code, caught.value.message) == (400, f"invalid object type: {shown}")
