"""Custom objects between versions: pruned, filled in, converted, and what a webhook may not do."""

from typing import Any

import msgspec
import pytest

from doorman.admission.webhooks.webhook_dispatch import Unanswered
from doorman.api.kinds import Kind, builtin_kinds, type_table
from doorman.api.machinery.schema import Schema
from doorman.api.machinery.structural_schema import compile_schema
from doorman.api.views.admissionregistration import ClientConfig
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.registry.custom.custom_versions import MARK, CustomVersions, converter_of


def schema_with(*fields: str, **defaults: int) -> dict[str, Any]:
    properties: dict[str, Any] = {name: {"type": "integer"} for name in (*fields, *defaults)}
    for name, default in defaults.items():
        properties[name]["default"] = default
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


SCHEMA = Schema(type_table())
SCHEMA.add("example.com.v1.Widget", compile_schema(schema_with("old", added=7)))
SCHEMA.add("example.com.v2.Widget", compile_schema(schema_with("new")))


def kind(version: str = "v1", *, stored: str = "v1", converter: ClientConfig | None = None, revision: int = 0) -> Kind:
    names = tuple((one, f"example.com.{one}.Widget") for one in ("v1", "v2"))
    return msgspec.structs.replace(
        builtin_kinds().named("configmaps"), group="example.com", version=version, kind="Widget", is_custom=True,
        type_name=f"example.com.{version}.Widget", stored_version=stored, version_types=names, converter=converter,
        schema_revision=revision,
    )  # fmt: skip


def doc(version: str = "", **spec: int) -> Document:
    mark = {MARK: version} if version else {}
    return {"metadata": {"name": "w", "uid": "u", "labels": {"a": "b"}}, "spec": spec, **mark}


class Hook:
    """A webhook that renames a field, and whatever else it is told."""

    def __init__(self, **wrong: Any) -> None:
        self.wrong = wrong
        self.asked: list[Document] = []

    async def __call__(self, _config: ClientConfig, review: Document, _seconds: int) -> bytes:
        self.asked.append(review)
        if self.wrong.get("away"):
            raise Unanswered("failed to call webhook: connection refused")
        request = review["request"]
        objects = [
            {**one, "apiVersion": request["desiredAPIVersion"], "spec": {"new": one["spec"].get("old", 0), "extra": 1}}
            for one in request["objects"]
        ]
        response = {
            "uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects,
            **self.wrong.get("response", {}),
        }  # fmt: skip
        return self.wrong.get("body") or msgspec.json.encode({"response": response})


def versions(hook: Hook | None = None) -> CustomVersions:
    return CustomVersions(SCHEMA, hook or Hook(), lambda: "uid-1")


@pytest.mark.parametrize(
    ("found", "revision", "expected"),
    [
        pytest.param(kind(stored=""), 5, False, id="one-version"),
        pytest.param(kind(stored="", revision=5), 5, True, id="older-than-its-schema"),
        pytest.param(kind(), 5, True, id="several-versions"),
        pytest.param(builtin_kinds().named("pods"), 0, False, id="built-in"),
    ],
)
def test_is_different(found: Kind, revision: int, expected: bool) -> None:
    assert CustomVersions.is_different(found, revision) is expected


async def test_what_its_schema_forbids_now_goes_and_what_it_gives_comes() -> None:
    (found,) = await versions().read(kind(), [doc("v1", old=1, gone=2)])
    assert found["spec"] == {"old": 1, "added": 7}
    assert MARK not in found


async def test_versions_that_differ_by_name_know_their_own_fields() -> None:
    (found,) = await versions().read(kind("v2"), [doc("v1", old=1)])
    assert found["spec"] == {}
    assert "apiVersion" not in found


async def test_webhook_converts_what_is_stored_in_another_version_and_only_that() -> None:
    hook = Hook()
    wanted = kind("v2", converter=ClientConfig())
    first, second = await versions(hook).read(wanted, [doc("v2", new=3), doc("v1", old=4)])
    assert (first["spec"], second["spec"]) == ({"new": 3}, {"new": 4})
    (review,) = hook.asked
    assert review["request"]["desiredAPIVersion"] == "example.com/v2"
    assert len(review["request"]["objects"]) == 1


async def test_who_cannot_wait_is_told_that_it_takes_a_webhook() -> None:
    assert versions().read_at_once(kind("v2", converter=ClientConfig()), doc("v1", old=1)) is None
    assert versions().read_at_once(kind("v2"), doc("v1", old=1)) is not None
    found = versions().read_at_once(kind(converter=ClientConfig()), doc("v1", old=1))
    assert found is not None
    assert found["spec"] == {"old": 1, "added": 7}


async def test_written_objects_remember_their_version() -> None:
    assert await versions().to_write(kind(stored=""), doc(old=1)) == doc(old=1)
    assert (await versions().to_write(kind(), doc(old=1)))[MARK] == "v1"
    found = await versions().to_write(kind(stored="v2", converter=ClientConfig()), doc(old=1))
    assert (found[MARK], found["spec"]) == ("v2", {"new": 1})


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        pytest.param(Hook(away=True), "failed: connection refused", id="away"),
        pytest.param(Hook(body=b"no"), "no ConversionReview came back", id="nonsense"),
        pytest.param(Hook(response={"uid": "x"}), "expected response.uid=uid-1, got x", id="another-uid"),
        pytest.param(
            Hook(response={"result": {"status": "Failed", "message": "I will not"}}), "I will not", id="it-will-not"
        ),
        pytest.param(Hook(response={"convertedObjects": []}), "returned 0 objects, expected 1", id="too-few"),
        pytest.param(
            Hook(response={"convertedObjects": [{"apiVersion": "example.com/v3", "kind": "Widget"}]}),
            "expected example.com/v2, received example.com/v3", id="another-version",
        ),
    ],
)  # fmt: skip
async def test_webhook_that_fails_is_told(hook: Hook, why: str) -> None:
    with pytest.raises(ApiError, match=why) as caught:
        await versions(hook).read(kind("v2", converter=ClientConfig()), [doc("v1", old=1)])
    assert caught.value.code == 500


async def test_of_metadata_a_webhook_changes_labels_and_annotations_only() -> None:
    answer = {
        "apiVersion": "example.com/v2", "kind": "Widget",
        "metadata": {"name": "other", "uid": "v", "labels": {"c": "d"}}, "spec": {},
    }  # fmt: skip
    hook = Hook(response={"convertedObjects": [answer]})
    (found,) = await versions(hook).read(kind("v2", converter=ClientConfig()), [doc("v1", old=1)])
    assert found["metadata"] == {"name": "w", "uid": "u", "labels": {"c": "d"}}


@pytest.mark.parametrize(
    ("conversion", "has_webhook"),
    [(None, False), ({"strategy": "None"}, False), ({"strategy": "Webhook", "webhook": {"clientConfig": {}}}, True)],
)
def test_converter_of_a_definition(conversion: Any, has_webhook: bool) -> None:
    assert (converter_of({"spec": {"conversion": conversion}}) is not None) is has_webhook
