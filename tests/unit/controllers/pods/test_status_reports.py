"""Statuses and references as controllers report them."""

import pytest

from doorman.api.views.meta import ObjectMeta
from doorman.client.actions import ObjectReference, PatchType
from doorman.controllers.pods.status_reports import reference_to, status_patch

META = ObjectMeta(namespace="a", name="j", uid="u", resource_version="7")


@pytest.mark.parametrize(
    ("guarded", "body"),
    [
        pytest.param(False, {"status": {"active": 1}}, id="whatever-happened-meanwhile"),
        pytest.param(True, {"metadata": {"resourceVersion": "7"}, "status": {"active": 1}}, id="only-this-version"),
    ],
)
def test_status_patch(guarded: bool, body: dict[str, object]) -> None:
    patch = status_patch("jobs.batch", META, {"active": 1}, guarded=guarded)
    assert (patch.resource, patch.namespace, patch.name, patch.subresource) == ("jobs.batch", "a", "j", "status")
    assert (patch.body, patch.type) == (body, PatchType.MERGE)


def test_reference_carries_the_version() -> None:
    assert reference_to(META, api_version="batch/v1", kind="Job") == ObjectReference(
        kind="Job", namespace="a", name="j", uid="u", api_version="batch/v1", resource_version="7"
    )
