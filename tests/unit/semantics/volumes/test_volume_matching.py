"""Which volume is right for a claim."""

from typing import Any

import pytest

from doorman.api.views.storage.volume_classes import TopologySelectorRequirement, TopologySelectorTerm
from doorman.semantics.volumes.volume_matching import (
    is_bound_to,
    is_delayed,
    is_fully_bound,
    is_reachable,
    matching_volume,
    mismatch,
    topology_matches,
)
from support.scheduling import make_node
from support.volumes import ZONE, bound_claim_view, claim_view, class_view, volume_view

IN_A = make_node("a-1", labels={ZONE: "a"})


@pytest.mark.parametrize(
    ("claim", "volume", "found"),
    [
        pytest.param({}, {}, True, id="the same"),
        pytest.param({"size": "2Gi"}, {}, False, id="too small"),
        pytest.param({}, {"size": "2Gi"}, True, id="larger"),
        pytest.param({"storageClassName": "fast"}, {}, False, id="another class"),
        pytest.param({"modes": ["ReadWriteMany"]}, {}, False, id="other access modes"),
        pytest.param({}, {"modes": ["ReadWriteOnce", "ReadOnlyMany"]}, True, id="more access modes"),
        pytest.param({"volumeMode": "Block"}, {}, False, id="another volume mode"),
        pytest.param({"volumeMode": "Filesystem"}, {}, True, id="the default volume mode by name"),
        pytest.param({"selector": {"matchLabels": {"disk": "ssd"}}}, {}, False, id="not selected"),
        pytest.param(
            {"selector": {"matchLabels": {"disk": "ssd"}}},
            {"metadata": {"labels": {"disk": "ssd"}}},
            True,
            id="selected",
        ),
        pytest.param({}, {"phase": "Released"}, False, id="released"),
        pytest.param({}, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False, id="about to go"),
        pytest.param({}, {"claimRef": {"namespace": "default", "name": "other"}}, False, id="another's"),
        pytest.param({"volumeAttributesClassName": "gold"}, {}, False, id="other attributes"),
    ],
)
def test_volume_satisfies_claim(claim: dict[str, Any], volume: dict[str, Any], found: bool) -> None:
    assert (matching_volume(claim_view(**claim), [volume_view(**volume)]) is not None) is found


def test_smallest_that_satisfies_is_taken_and_chosen_ones_are_left_out() -> None:
    volumes = [volume_view("large", size="5Gi"), volume_view("small", size="2Gi"), volume_view("tiny", size="1Gi")]
    claim = claim_view(size="2Gi")
    first = matching_volume(claim, volumes)
    assert first is volumes[1]
    assert matching_volume(claim, volumes, chosen=frozenset({"small"})) is volumes[0]


def test_volume_that_is_kept_for_the_claim_comes_first_and_only_where_it_can_be_used() -> None:
    kept = volume_view("kept", size="9Gi", zone="b", claimRef={"namespace": "default", "name": "c"})
    volumes = [volume_view("free", size="1Gi"), kept]
    assert matching_volume(claim_view(), volumes) is kept
    assert matching_volume(claim_view(), volumes, delayed=True) is kept
    assert matching_volume(claim_view(), volumes, node=IN_A) is None


def test_delayed_claim_gets_none_without_a_node() -> None:
    volumes = [volume_view("elsewhere", zone="b"), volume_view("here", zone="a")]
    assert matching_volume(claim_view(), volumes, delayed=True) is None
    assert matching_volume(claim_view(), volumes, node=IN_A, delayed=True) is volumes[1]


def test_node_affinity() -> None:
    assert is_reachable(volume_view(), IN_A)
    assert is_reachable(volume_view(zone="a"), IN_A)
    assert not is_reachable(volume_view(zone="b"), IN_A)


def test_bound_by_name_or_by_uid() -> None:
    claim = claim_view("c")
    assert is_bound_to(volume_view(claimRef={"namespace": "default", "name": "c"}), claim)
    assert is_bound_to(volume_view(claimRef={"namespace": "default", "name": "c", "uid": "uid-c"}), claim)
    assert not is_bound_to(volume_view(claimRef={"namespace": "default", "name": "c", "uid": "older"}), claim)
    assert not is_bound_to(volume_view(claimRef={"namespace": "other", "name": "c"}), claim)
    assert is_fully_bound(bound_claim_view("c", "v"))
    assert not is_fully_bound(claim_view("c", volumeName="v"))


def test_delayed_by_class() -> None:
    classes = {"slow": class_view("slow"), "fast": class_view("fast", mode="Immediate")}
    assert is_delayed(claim_view(storageClassName="slow"), classes)
    assert not is_delayed(claim_view(storageClassName="fast"), classes)
    assert not is_delayed(claim_view(storageClassName="none"), classes)


@pytest.mark.parametrize(
    ("claim", "volume", "why"),
    [
        pytest.param({}, {}, "", id="fits"),
        pytest.param({"size": "2Gi"}, {}, "requested PV is too small", id="size"),
        pytest.param({"storageClassName": "x"}, {}, "storageClassName does not match", id="class"),
        pytest.param({"volumeMode": "Block"}, {}, "incompatible volumeMode", id="mode"),
        pytest.param({"modes": ["ReadWriteMany"]}, {}, "incompatible accessMode", id="access"),
    ],
)
def test_why_a_named_volume_is_not_right(claim: dict[str, Any], volume: dict[str, Any], why: str) -> None:
    assert mismatch(claim_view(**claim), volume_view(**volume)) == why


def test_topology_terms_are_alternatives() -> None:
    in_a = TopologySelectorTerm(match_label_expressions=(TopologySelectorRequirement(key=ZONE, values=("a",)),))
    assert topology_matches((), {})
    assert topology_matches((in_a,), {ZONE: "a"})
    assert not topology_matches((in_a,), {ZONE: "b"})
    assert not topology_matches((in_a,), {})
