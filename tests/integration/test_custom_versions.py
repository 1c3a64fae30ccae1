"""Custom kinds with several versions: what is stored, what each version shows, and webhooks that convert."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.api import Api, running_api
from support.knobs import APPLY, INTEGER, MERGE, STRING, converting, define, definition, knob, path, redefine, version


async def test_new_default_is_seen_in_objects_that_are_older() -> None:
    async with running_api() as api:
        await define(api, definition(version("v1", storage=True, size=STRING)))
        _, made = await api.call("POST", path("v1"), knob("v1", size="s"))
        await redefine(api, versions=[version("v1", storage=True, size=STRING, turns={**INTEGER, "default": 3})])
        _, read = await api.call("GET", path("v1", "k"))
        assert read["spec"] == {"size": "s", "turns": 3}
        assert read["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"], "nothing was written"
        _, listed = await api.call("GET", path("v1"))
        assert listed["items"][0]["spec"] == {"size": "s", "turns": 3}


async def test_field_that_is_no_longer_described_is_no_longer_shown() -> None:
    async with running_api() as api:
        await define(api, definition(version("v1", storage=True, size=STRING, color=STRING)))
        await api.call("POST", path("v1"), knob("v1", size="s", color="red"))
        await redefine(api, versions=[version("v1", storage=True, size=STRING)])
        assert (await api.call("GET", path("v1", "k")))[1]["spec"] == {"size": "s"}


async def test_versions_without_a_webhook_differ_by_name_and_by_what_they_know() -> None:
    async with running_api() as api:
        old, new = version("v1", size=STRING, color=STRING), version("v2", storage=True, size=STRING)
        await define(api, definition(old, new))
        status, made = await api.call("POST", path("v1"), knob("v1", size="s", color="red"))
        assert (status, made["apiVersion"], made["spec"]) == (201, "example.com/v1", {"size": "s"})
        assert "$version" not in made
        _, read = await api.call("GET", path("v2", "k"))
        assert (read["apiVersion"], read["spec"]) == ("example.com/v2", {"size": "s"})
        _, patched = await api.call("PATCH", path("v1", "k"), {"spec": {"size": "t"}}, headers=MERGE)
        assert (patched["apiVersion"], patched["spec"], patched["metadata"]["generation"]) == (
            "example.com/v1",
            {"size": "t"},
            2,
        )
        _, again = await api.call("PATCH", path("v2", "k"), {"spec": {"size": "t"}}, headers=MERGE)
        assert again["metadata"]["resourceVersion"] == patched["metadata"]["resourceVersion"], "nothing to write"


async def test_webhook_converts_what_is_read_and_written(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, converter):
        _, made = await api.call("POST", path("v1"), knob("v1", text="a b"))
        assert converter.reviews == [], "stored as it came"
        _, read = await api.call("GET", path("v2", "k"))
        assert (read["apiVersion"], read["spec"]) == ("example.com/v2", {"first": "a", "last": "b"})
        assert (read["metadata"]["name"], read["metadata"]["labels"]) == ("k", {"via": "webhook"})
        assert read["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        status, patched = await api.call("PATCH", path("v2", "k"), {"spec": {"last": "c"}}, headers=MERGE)
        assert (status, patched["spec"]) == (200, {"first": "a", "last": "c"})
        assert (await api.call("GET", path("v1", "k")))[1]["spec"] == {"text": "a c"}
        status, second = await api.call("POST", path("v2"), knob("v2", "l", first="x", last="y"))
        assert (status, second["apiVersion"], second["spec"]) == (201, "example.com/v2", {"first": "x", "last": "y"})
        before = len(converter.reviews)
        _, listed = await api.call("GET", path("v2"))
        assert [one["spec"]["first"] for one in listed["items"]] == ["a", "x"]
        assert [len(one["objects"]) for one in converter.reviews[before:]] == [2], "one review for the whole list"


async def test_last_words_of_an_object_are_in_the_version_of_the_request(tmp_path: Path) -> None:
    """It goes with its last finalizer, through a version that is not the stored one."""
    async with converting(tmp_path) as (api, _):
        held = knob("v2", first="a", last="b")
        held["metadata"]["finalizers"] = ["example.com/held"]
        assert (await api.call("POST", path("v2"), held))[0] == 201
        _, marked = await api.call("DELETE", path("v2", "k"))
        assert (marked["apiVersion"], marked["spec"]) == ("example.com/v2", {"first": "a", "last": "b"})
        status, last = await api.call("PATCH", path("v2", "k"), {"metadata": {"finalizers": None}}, headers=MERGE)
        assert (status, last["apiVersion"], last["spec"]) == (200, "example.com/v2", {"first": "a", "last": "b"})
        assert "$version" not in last
        assert (await api.call("GET", path("v2", "k")))[0] == 404


async def test_webhook_converts_for_watchers_and_appliers(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, _):
        status, made = await api.call(
            "PATCH", path("v2", "k") + "?fieldManager=me", knob("v2", first="a", last="b"), headers=APPLY
        )
        assert (status, made["spec"]) == (201, {"first": "a", "last": "b"})
        lines = await watched(api, path("v2"))
        assert json.loads(lines[0])["object"]["spec"] == {"first": "a", "last": "b"}


async def test_failing_webhook_is_told_to_the_client_and_ends_a_watch(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, converter):
        await api.call("POST", path("v1"), knob("v1", text="a b"))
        converter.fault = "cannot split"
        status, answer = await api.call("GET", path("v2", "k"))
        assert (status, answer["message"]) == (
            500,
            "conversion webhook for example.com/v2, Kind=Knob failed: cannot split",
        )
        assert (await api.call("GET", path("v1", "k")))[0] == 200, "what is stored needs no webhook"
        (line,) = await watched(api, path("v2"))
        assert json.loads(line)["type"] == "ERROR"


async def watched(api: Api, place: str) -> list[bytes]:
    """The first lines of a watch of what is there."""
    response = await api.answer("GET", place + "?watch=true")
    assert response.stream is not None
    lines = response.stream.lines()
    try:
        return (await anext(lines)).splitlines()
    finally:
        response.stream.close()
        await lines.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_lists_of_a_custom_kind_are_merged_by_key_when_applied() -> None:
    ports = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": {"name": STRING, "port": INTEGER}},
    }
    async with running_api() as api:
        await define(api, definition(version("v1", storage=True, ports=ports, tags={"type": "array", "items": STRING})))
        one = knob("v1", ports=[{"name": "a", "port": 1}], tags=["x"])
        two = knob("v1", ports=[{"name": "b", "port": 2}])
        await api.call("PATCH", path("v1", "k") + "?fieldManager=one", one, headers=APPLY)
        _, merged = await api.call("PATCH", path("v1", "k") + "?fieldManager=two", two, headers=APPLY)
        assert merged["spec"]["ports"] == [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
        other = knob("v1", tags=["y"])
        status, refused = await api.call("PATCH", path("v1", "k") + "?fieldManager=two", other, headers=APPLY)
        assert (status, refused["details"]["causes"][0]["field"]) == (409, ".spec.tags")


@pytest.mark.parametrize(
    ("member", "value", "kept"),
    [
        pytest.param(
            {"x-kubernetes-preserve-unknown-fields": True, "type": "object"}, {"a": {"b": 1}}, True, id="free"
        ),
        pytest.param({"type": "object", "properties": {}}, {"a": 1}, False, id="closed"),
        pytest.param({"x-kubernetes-int-or-string": True}, "50%", True, id="percent"),
        pytest.param({"x-kubernetes-int-or-string": True}, 5, True, id="number"),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}},
            True,
            id="a-whole-object",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"data": {"type": "object"}}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
            True,
            id="a-whole-object-of-known-shape",
        ),
    ],
)
async def test_value_is_kept_or_pruned(member: dict[str, Any], value: Any, kept: bool) -> None:
    async with running_api() as api:
        await define(api, definition(version("v1", storage=True, thing=member)))
        status, made = await api.call("POST", path("v1"), knob("v1", thing=value))
        assert status == 201, made
        assert (made["spec"]["thing"] == value) is kept


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(["x"], id="texts"),
        pytest.param([None], id="nulls"),
        pytest.param([{"name": {}}], id="keys-that-are-objects"),
        pytest.param("x", id="no-list"),
    ],
)
async def test_list_of_the_wrong_things_is_invalid_not_a_fault_of_ours(value: Any) -> None:
    ports = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": {"name": STRING}},
    }
    async with running_api() as api:
        await define(api, definition(version("v1", storage=True, ports=ports)))
        status, answer = await api.call("POST", path("v1"), knob("v1", ports=value))
        assert (status, answer["reason"]) == (422, "Invalid")
        apply = path("v1", "k") + "?fieldManager=me"
        status, answer = await api.call("PATCH", apply, knob("v1", ports=value), headers=APPLY)
        # So Kubernetes answers, too: it cannot tell what such a configuration would own.
        assert status == 500
        assert answer["message"].startswith("failed to create typed patch object (")


POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


async def given_policy(api: Api, version_name: str, operation: str, expression: str) -> None:
    rule = {
        "apiGroups": ["example.com"],
        "apiVersions": [version_name],
        "resources": ["knobs"],
        "operations": [operation],
    }
    constraints = {"resourceRules": [rule], "matchPolicy": "Equivalent"}
    policy = {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": constraints, "validations": [{"expression": expression}]},
    }
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    for where, body in ((POLICIES, policy), (POLICIES.replace("policies", "policybindings"), binding)):
        status, made = await api.call("POST", where, body)
        assert status == 201, made


async def test_policy_sees_the_version_its_rule_names() -> None:
    async with running_api() as api:
        await define(api, definition(version("v1", storage=True, a=STRING), version("v2", a=STRING, b=STRING)))
        await given_policy(api, "v1", "CREATE", "!has(object.spec.b) && object.apiVersion == 'example.com/v1'")
        status, made = await api.call("POST", path("v2"), knob("v2", a="x", b="y"))
        assert status == 201, made


async def test_policy_sees_what_a_webhook_converted_to_the_version_its_rule_names(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, _):
        await given_policy(api, "v1", "*", "object.spec.text == 'a b' && request.requestKind.version == 'v2'")
        status, refused = await api.call("POST", path("v2"), knob("v2", first="a", last="c"))
        assert (status, refused["reason"]) == (422, "Invalid")
        status, made = await api.call("POST", path("v2"), knob("v2", first="a", last="b"))
        assert status == 201, made
        status, refused = await api.call("PATCH", path("v2", "k"), {"spec": {"last": "c"}}, headers=MERGE)
        assert (status, refused["reason"]) == (422, "Invalid")


async def test_policy_sees_what_is_deleted_in_the_version_of_the_request(tmp_path: Path) -> None:
    async with converting(tmp_path) as (api, _):
        await api.call("POST", path("v1"), knob("v1", text="a b"))
        await given_policy(api, "v2", "DELETE", "oldObject.spec == {'first': 'a', 'last': 'c'}")
        status, refused = await api.call("DELETE", path("v2", "k"))
        assert (status, refused["reason"]) == (422, "Invalid")
        change = {"spec": {"last": "c"}}
        assert (await api.call("PATCH", path("v2", "k"), change, headers=MERGE))[0] == 200
        status, gone = await api.call("DELETE", path("v2", "k"))
        assert status == 200, gone


async def test_scale_is_read_where_the_version_of_the_request_keeps_it(tmp_path: Path) -> None:
    below = {"scale": {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count"}}
    async with running_api() as api:
        old = version("v1", storage=True, count=INTEGER)
        new = version("v2", count={**INTEGER, "default": 7})
        await define(api, definition({**old, "subresources": below}, {**new, "subresources": below}))
        await api.call("POST", path("v1"), knob("v1", count=2))
        for name in ("v1", "v2"):
            status, scale = await api.call("GET", path(name, "k") + "/scale")
            assert (status, scale["spec"]) == (200, {"replicas": 2})
        change = {"spec": {"replicas": 4}}
        status, scale = await api.call("PATCH", path("v2", "k") + "/scale", change, headers=MERGE)
        assert (status, scale["spec"]) == (200, {"replicas": 4})
