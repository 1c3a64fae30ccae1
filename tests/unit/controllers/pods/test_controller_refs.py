"""Who belongs to whom."""

from typing import Any

import msgspec
import pytest

from doorman.api.machinery.label_selectors import parse_selector
from doorman.api.views.meta import ObjectMeta, orphanage_of
from doorman.api.views.pods import Pod
from doorman.client.actions import Patch
from doorman.client.informer_cache import InformerCache
from doorman.controllers.pods.controller_refs import Candidates, Claimant, decide_claim
from support.objects import pod


def claimant(deleted: str = "") -> Claimant:
    meta = ObjectMeta(namespace="default", name="d", uid="mine", deletion_timestamp=deleted)
    return Claimant(resource="daemonsets.apps", api_version="apps/v1", kind="DaemonSet", meta=meta)


def view(owner: str = "", label: str = "d", name: str = "p", **metadata: Any) -> Pod:
    owners = [{"uid": owner, "controller": True}] if owner else []
    return msgspec.convert(
        pod(name, metadata={"labels": {"app": label}, "ownerReferences": owners, "uid": name, **metadata}), Pod
    )


@pytest.mark.parametrize(
    ("candidate", "deleted", "mine", "patched"),
    [
        pytest.param(view("mine"), "", True, [], id="1-own"),
        pytest.param(view("mine", "x"), "", False, ["p"], id="1-own-that-does-not-match-is-released"),
        pytest.param(view("mine", "x"), "now", False, [], id="1-not-while-the-owner-is-going"),
        pytest.param(view("another"), "", False, [], id="2-of-another"),
        pytest.param(view(), "", True, ["p"], id="3-orphan-is-adopted"),
        pytest.param(view(label="x"), "", False, [], id="3-orphan-that-does-not-match"),
        pytest.param(view(), "now", False, [], id="3-not-while-the-owner-is-going"),
        pytest.param(view(deletionTimestamp="now"), "", False, [], id="3-not-while-it-is-going"),
    ],
)
def test_claim(candidate: Pod, deleted: str, mine: bool, patched: list[str]) -> None:
    claim = decide_claim(claimant(deleted), parse_selector("app=d"), "pods", [candidate])
    assert claim.mine == ([candidate] if mine else [])
    assert [action.name for action in claim.actions if isinstance(action, Patch)] == patched


def test_adopted_object_names_its_owner_and_is_itself_named_by_uid() -> None:
    (adopt,) = decide_claim(claimant(), parse_selector("app=d"), "pods", [view()]).actions
    assert isinstance(adopt, Patch)
    assert adopt.body["metadata"]["uid"] == "p"
    assert adopt.body["metadata"]["ownerReferences"][0]["uid"] == "mine"


def test_candidates_are_its_own_and_orphans_of_its_namespace() -> None:
    cache: InformerCache[Pod] = InformerCache(
        {
            "owner": lambda one: [owner.uid for owner in one.metadata.owner_references],
            "orphan": orphanage_of,
        }
    )
    for one in (view("mine", name="own"), view("another", name="foreign"), view(name="orphan")):
        cache.put(one.metadata.key, one)
    candidates = Candidates(cache)
    names = [one.metadata.name for one in candidates.of("k", claimant().meta)]
    assert names == ["own", "orphan"]
    late = view(name="late")
    cache.put(late.metadata.key, late)
    assert len(candidates.of("k", claimant().meta)) == 2
    candidates.point_out("k", late.metadata.key)
    assert len(candidates.of("k", claimant().meta)) == 3
    candidates.forget("k")
    assert (candidates._orphans, candidates._uids) == ({}, {})
