"""Whose the volume claims of a StatefulSet's pods are."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import StatefulSet
from doorman.api.views.meta import Object
from doorman.api.views.pods import Pod
from doorman.client.informer_cache import InformerCache
from doorman.controllers.statefulset.statefulset_claims import decide_claim_owners, is_about_to_go

SET, POD, OTHER = "set-uid", "pod-uid", "other-uid"


def the_set(when_deleted: str, when_scaled: str) -> StatefulSet:
    policy = {"whenDeleted": when_deleted, "whenScaled": when_scaled}
    spec = {
        "replicas": 1,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        "persistentVolumeClaimRetentionPolicy": policy,
    }
    return msgspec.convert({"metadata": {"namespace": "a", "name": "s", "uid": SET}, "spec": spec}, StatefulSet)


def claim(*owners: str) -> InformerCache[Object]:
    references = [
        {"uid": uid, "controller": True, "kind": "Pod" if uid != SET else "StatefulSet", "name": "s-0"}
        for uid in owners
    ]
    meta = {"namespace": "a", "name": "data-s-0", "uid": "c", "ownerReferences": references}
    cache: InformerCache[Object] = InformerCache()
    cache.put("a/data-s-0", msgspec.convert({"metadata": meta}, Object))
    return cache


def decided(policy: tuple[str, str], owners: list[str], *, is_wanted: bool) -> list[dict[str, Any]]:
    """The owner references of the patch, without what every one has."""
    pod = msgspec.convert({"metadata": {"namespace": "a", "name": "s-0", "uid": POD}}, Pod)
    patches = list(decide_claim_owners(the_set(*policy), pod, 0, claim(*owners), is_wanted=is_wanted))
    assert len(patches) <= 1
    return [
        {key: one[key] for key in ("$patch", "uid", "kind", "controller") if key in one}
        for patch in patches
        for one in patch.body["metadata"]["ownerReferences"]
    ]


TO_SET = {"uid": SET, "kind": "StatefulSet", "controller": True}
TO_POD = {"uid": POD, "kind": "Pod", "controller": True}


def gone(uid: str) -> dict[str, Any]:
    return {"$patch": "delete", "uid": uid}


@pytest.mark.parametrize(
    ("policy", "owners", "is_wanted", "expected"),
    [
        pytest.param(("Retain", "Retain"), [], True, [], id="3-kept"),
        pytest.param(("Retain", "Retain"), [SET], True, [gone(SET)], id="3-kept-again"),
        pytest.param(("Delete", "Retain"), [], True, [TO_SET], id="1-goes-with-the-set"),
        pytest.param(("Delete", "Retain"), [SET], True, [], id="1-does-already"),
        pytest.param(("Delete", "Retain"), [], False, [TO_SET], id="1-beyond-the-replicas-too"),
        pytest.param(("Retain", "Delete"), [], True, [], id="2-wanted"),
        pytest.param(("Retain", "Delete"), [], False, [TO_POD], id="2-goes-with-the-pod"),
        pytest.param(("Retain", "Delete"), [POD], True, [gone(POD)], id="2-wanted-again"),
        pytest.param(("Delete", "Delete"), [SET], False, [gone(SET), TO_POD], id="2-from-the-set-to-the-pod"),
        pytest.param(("Delete", "Delete"), [POD], True, [gone(POD), TO_SET], id="1-from-the-pod-to-the-set"),
        pytest.param(("Delete", "Delete"), [OTHER], True, [], id="4-somebody-elses"),
    ],
)
def test_owners(policy: tuple[str, str], owners: list[str], is_wanted: bool, expected: list[dict[str, Any]]) -> None:
    assert decided(policy, owners, is_wanted=is_wanted) == expected


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        pytest.param([OTHER], True, id="5-of-an-earlier-pod"),
        pytest.param([SET], False, id="5-of-the-set"),
        pytest.param([], False, id="5-of-nobody"),
    ],
)
def test_claim_that_is_about_to_go(owners: list[str], expected: bool) -> None:
    assert is_about_to_go(the_set("Retain", "Delete"), 0, claim(*owners)) is expected


def test_new_owner_stands_behind_those_that_were_there() -> None:
    pod = msgspec.convert({"metadata": {"namespace": "a", "name": "s-0", "uid": POD}}, Pod)
    meta = {"namespace": "a", "name": "data-s-0", "uid": "c", "ownerReferences": [{"uid": OTHER}, {"uid": POD}]}
    cache: InformerCache[Object] = InformerCache()
    cache.put("a/data-s-0", msgspec.convert({"metadata": meta}, Object))
    (patch,) = decide_claim_owners(the_set("Delete", "Retain"), pod, 0, cache, is_wanted=True)
    assert patch.body["metadata"]["$setElementOrder/ownerReferences"] == [{"uid": OTHER}, {"uid": SET}]


def test_owner_that_no_longer_manages_the_claim_manages_it_again() -> None:
    pod = msgspec.convert({"metadata": {"namespace": "a", "name": "s-0", "uid": POD}}, Pod)
    meta = {"namespace": "a", "name": "data-s-0", "uid": "c", "ownerReferences": [{"uid": SET, "controller": False}]}
    cache: InformerCache[Object] = InformerCache()
    cache.put("a/data-s-0", msgspec.convert({"metadata": meta}, Object))
    (patch,) = decide_claim_owners(the_set("Delete", "Retain"), pod, 0, cache, is_wanted=True)
    (reference,) = patch.body["metadata"]["ownerReferences"]
    assert (reference["uid"], reference["controller"]) == (SET, True)
    assert patch.body["metadata"]["$setElementOrder/ownerReferences"] == [{"uid": SET}]
