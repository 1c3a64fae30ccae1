"""From what a client sent to what may be stored: what the server owns, who owns which field, who is asked."""

from typing import Any

import pytest

from doorman.api.identity import User
from doorman.api.kinds import Kind
from doorman.base.errors import ApiError
from doorman.registry.cache.stored_object import unstored
from doorman.registry.caller import Caller
from doorman.registry.fastpath.create_cache import CachedNewObject
from doorman.registry.kind_rules import Unchanged
from doorman.registry.proposal import AdmittedNewObject, Proposer
from doorman.registry.write_target import WriteTarget
from support.api import Api, running_api

CALLER = Caller(user=User(name="u", groups=("system:masters",)), manager="m")
OLD = {
    "metadata": {
        "name": "a", "namespace": "default", "uid": "u1", "resourceVersion": "5",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    },
    "data": {"k": "1"},
}  # fmt: skip


def parts(api: Api, resource: str = "configmaps") -> tuple[Proposer, Kind]:
    registry = api.cluster.registry
    return registry.proposer, registry.kinds.named(resource)


async def proposed(api: Api, doc: dict[str, Any], resource: str = "configmaps", caller: Caller = CALLER) -> Any:
    proposer, kind = parts(api, resource)
    prepared = await proposer.prepare(kind, "default", doc, caller)
    assert isinstance(prepared, AdmittedNewObject)
    new = await proposer.named(prepared, prepared.name or f"{prepared.generate_name}x", "uid-1")
    return unstored(new.value, "", 0).document()


async def changed(api: Api, new: dict[str, Any], **more: Any) -> Any:
    proposer, kind = parts(api)
    target = WriteTarget(kind, "default", "a", more.pop("subresource", ""))
    return (await proposer.update(target, new, OLD, more.pop("caller", CALLER), **more)).doc


async def test_what_a_client_cannot_choose_is_the_server_s() -> None:
    async with running_api() as api:
        sent = {"uid": "mine", "creationTimestamp": "x", "deletionTimestamp": "y", "selfLink": "z"}
        doc = await proposed(api, {"metadata": {"name": "a", **sent}, "data": {"k": "v"}})
        metadata = doc["metadata"]
        assert (metadata["uid"], metadata["creationTimestamp"]) == ("uid-1", "2026-01-01T00:00:00Z")
        assert (metadata["namespace"], "deletionTimestamp" in metadata, "selfLink" in metadata) == (
            "default", False, False,
        )  # fmt: skip


async def test_new_object_has_no_version() -> None:
    async with running_api() as api:
        with pytest.raises(ApiError, match="resourceVersion should not be set"):
            await proposed(api, {"metadata": {"name": "a", "resourceVersion": "7"}})
        await proposed(api, {"metadata": {"name": "a", "resourceVersion": "0"}})


async def test_fields_belong_to_who_sent_them_and_defaults_to_nobody() -> None:
    async with running_api() as api:
        await api.given_account("default")
        doc = await proposed(
            api, {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, "pods"
        )
        (entry,) = doc["metadata"]["managedFields"]
        assert (entry["manager"], entry["operation"]) == ("m", "Update")
        assert doc["spec"]["tolerations"], "admission adds some"
        assert "f:tolerations" not in entry["fieldsV1"]["f:spec"]
        assert doc["status"]["phase"] == "Pending"


async def test_second_of_the_same_is_made_as_the_first_was() -> None:
    async with running_api() as api:
        await api.given_account("default")
        proposer, kind = parts(api, "pods")

        def pod(name: str) -> dict[str, Any]:
            return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

        first = await proposed(api, pod("a"), "pods")
        prepared = await proposer.prepare(kind, "default", pod("b"), CALLER)
        assert isinstance(prepared, CachedNewObject)
        second = unstored(prepared.named("b", "uid-2").value, "", 0).document()
        for doc in (first, second):
            for name in ("name", "uid"):
                doc["metadata"].pop(name)
            doc["spec"].pop("volumes", None)
            for container in doc["spec"]["containers"]:
                container.pop("volumeMounts", None)
        assert second == first


async def test_invalid_object_is_refused_with_all_that_is_wrong() -> None:
    async with running_api() as api:
        with pytest.raises(ApiError) as caught:
            await proposed(api, {"metadata": {"name": "A"}, "data": {"bad key": "v"}})
        assert caught.value.code == 422
        assert {cause.field for cause in caught.value.causes} == {"metadata.name", "data[bad key]"}


async def test_update_keeps_what_a_client_left_out_or_cannot_change() -> None:
    async with running_api() as api:
        new = {"metadata": {"name": "a", "creationTimestamp": "2000-01-01T00:00:00Z"}, "data": {"k": "2"}}
        doc = await changed(api, new)
        assert (doc["metadata"]["uid"], doc["metadata"]["creationTimestamp"]) == ("u1", "2026-01-01T00:00:00Z")
        assert doc["data"] == {"k": "2"}


async def test_update_that_changes_nothing_says_so() -> None:
    async with running_api() as api:
        with pytest.raises(Unchanged):
            await changed(api, {"metadata": dict(OLD["metadata"]), "data": {"k": "1"}})


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        pytest.param({"name": "b"}, 400, id="another-name"),
        pytest.param({"name": "a", "resourceVersion": "4"}, 409, id="another-version"),
        pytest.param({"name": "a", "uid": "u2"}, 409, id="another-object"),
    ],
)
async def test_update_of_something_else_is_refused(metadata: dict[str, Any], code: int) -> None:
    async with running_api() as api:
        with pytest.raises(ApiError) as caught:
            await changed(api, {"metadata": metadata, "data": {"k": "2"}})
        assert caught.value.code == code


async def test_review_says_who_asked_for_which_field() -> None:
    async with running_api() as api:
        proposer, kind = parts(api, "selfsubjectaccessreviews.authorization.k8s.io")
        owners = proposer.owners(kind, {"spec": {"nonResourceAttributes": {"path": "/"}}}, CALLER)
        assert [one["manager"] for one in owners["managedFields"]] == ["m"]
        assert proposer.owners(parts(api)[1], {"data": {}}, CALLER) == {}
