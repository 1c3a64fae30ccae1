"""What a path names, and with which verbs: refusals as Kubernetes v1.37 gives them."""

import pytest

from support.api import running_api
from support.knobs import STRING, define, definition, path, version

NOT_FOUND = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"
SPACE = "/api/v1/namespaces/default"


@pytest.mark.parametrize(
    ("method", "place", "status", "message"),
    [
        pytest.param("PUT", f"{SPACE}/configmaps", 405, NOT_ALLOWED, id="all-at-once"),
        pytest.param("POST", f"{SPACE}/configmaps/a", 405, NOT_ALLOWED, id="create-with-a-name"),
        pytest.param("POST", "/api/v1/configmaps", 405, NOT_ALLOWED, id="create-without-a-namespace"),
        pytest.param("GET", f"{SPACE}/nodes/a", 404, NOT_FOUND, id="namespace-for-what-has-none"),
        pytest.param("GET", f"{SPACE}/bindings/a", 404, NOT_FOUND, id="name-of-what-is-only-created"),
        pytest.param("DELETE", "/apis/authentication.k8s.io/v1/tokenreviews/a", 404, NOT_FOUND, id="review-by-name"),
        pytest.param("PUT", path("v1"), 400, "name must be provided", id="custom-kind-without-a-name"),
        pytest.param("PATCH", path("v1"), 400, "name must be provided", id="custom-kind-patched-without-a-name"),
    ],
)
async def test_refusals(method: str, place: str, status: int, message: str) -> None:
    async with running_api() as api:
        await define(api, definition(version("v1", storage=True, size=STRING)))
        found, answer = await api.call(method, place, {})
        assert (found, answer["message"]) == (status, message)


async def test_what_nobody_does_is_not_warned_of() -> None:
    async with running_api() as api:
        refused = await api.answer("PUT", f"{SPACE}/endpoints", {})
        assert (refused.status, [name for name, _ in refused.headers if name.lower() == "warning"]) == (405, [])
        listed = await api.answer("GET", f"{SPACE}/endpoints")
        assert [name for name, _ in listed.headers if name.lower() == "warning"] == ["Warning"]


@pytest.mark.parametrize("media", ["merge-patch+json", "strategic-merge-patch+json"])
async def test_object_is_looked_for_before_its_patch_is_read(media: str) -> None:
    async with running_api() as api:
        headers = {"content-type": f"application/{media}"}
        place = f"{SPACE}/configmaps/a"
        assert (await api.call("PATCH", place, [], headers=headers))[0] == 404
        assert (await api.call("PATCH", f"{place}?dryRun=Bad", [], headers=headers))[0] == 422
        await api.given("configmaps", {"metadata": {"name": "a"}}, namespace="default")
        status, answer = await api.call("PATCH", place, [], headers=headers)
        assert (status, "cannot unmarshal array" in answer["message"]) == (400, True)
