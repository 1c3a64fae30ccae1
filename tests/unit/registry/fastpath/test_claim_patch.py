"""When the scheduler's writes to a claim go the short way; that both come to the same is a law in tests/property."""

from typing import Any

import pytest

from doorman.registry.fastpath.claim_patch import claim_patch_of

STATUS = {
    "allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}},
    "reservedFor": [{"resource": "pods", "name": "a", "uid": "u-1"}],
}
FOR_ADMIN = {**STATUS, "allocation": {"devices": {"results": [{"adminAccess": True}]}}}


@pytest.mark.parametrize(
    ("body", "subresource", "is_short"),
    [
        pytest.param({"metadata": {"uid": "u", "finalizers": ["f"]}}, "", True, id="finalizer"),
        pytest.param({"metadata": {"uid": "u", "finalizers": ["f"], "labels": {}}}, "", False, id="labels-too"),
        pytest.param({"metadata": {"uid": "u", "resourceVersion": "1"}, "status": STATUS}, "status", True, id="given"),
        pytest.param({"metadata": {"uid": "u"}, "status": {"reservedFor": []}}, "status", False, id="reserved-only"),
        pytest.param({"metadata": {"uid": "u"}, "status": FOR_ADMIN}, "status", False, id="administrator"),
        pytest.param({"metadata": {"uid": "u"}, "status": STATUS}, "other", False, id="another-subresource"),
        pytest.param({"status": STATUS}, "status", False, id="no-metadata"),
    ],
)
def test_patch_that_is_simple_enough(body: Any, subresource: str, is_short: bool) -> None:
    assert (claim_patch_of(body, subresource) is not None) is is_short


def test_reservation_for_somebody_with_an_odd_uid_takes_the_long_way() -> None:
    reserved = [{**STATUS["reservedFor"][0], "uid": 'u"'}]  # type: ignore[dict-item]
    body = {"metadata": {}, "status": {**STATUS, "reservedFor": reserved}}
    assert claim_patch_of(body, "status") is None
