"""Counted sets of pods and terms of placed pods."""

import numpy as np
import pytest

from doorman.api.machinery.label_selectors import NOTHING, parse_selector
from doorman.scheduler.cache.cluster_state import CAPACITY_MIN, ClusterState
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_relations import PodMatcher, Relations, TermKind
from doorman.scheduler.cache.resource_ids import ResourceIds
from support.scheduling import make_node, make_pod

WEB = PodMatcher(frozenset({"default"}), NOTHING, parse_selector("app=web"))
HERMIT = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


class Yard:
    def __init__(self, nodes: int = 2) -> None:
        resources = ResourceIds()
        self.cluster = ClusterState(resources)
        self.shapes = self.cluster.shapes
        for at in range(nodes):
            self.cluster.set_node(make_node(f"n{at}"))

    @property
    def relations(self) -> Relations:
        return self.cluster.relations

    def place(self, name: str, node: str, *, leaving: bool = False, **more: object) -> PodRecord:
        metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else None
        pod = make_pod(name, metadata=metadata, **more)  # type: ignore[arg-type]
        record = PodRecord(pod.metadata.key, pod, self.shapes.take(pod), node, assumed=False)
        self.cluster.add_pod(record)
        return record


@pytest.mark.parametrize("counts_leaving", [True, False])
@pytest.mark.parametrize("made_first", [True, False], ids=["set-before-pods", "set-after-pods"])
def test_set_counts_matching_pods_by_row(counts_leaving: bool, made_first: bool) -> None:
    yard = Yard()
    if made_first:
        yard.relations.pods_matching([WEB], counts_leaving=counts_leaving)
    yard.place("a", "n0", labels={"app": "web"})
    gone = yard.place("b", "n1", labels={"app": "web"})
    yard.place("c", "n1", labels={"app": "web"}, leaving=True)
    yard.place("d", "n1", labels={"app": "db"})
    yard.place("e", "n1", labels={"app": "web"}, namespace="other")
    found = yard.relations.pods_matching([WEB], counts_leaving=counts_leaving)
    assert found.counts[:2].tolist() == [1, 1 + counts_leaving]
    yard.cluster.remove_pod(gone)
    assert found.counts[:2].tolist() == [1, 0 + counts_leaving]


def test_terms_are_shared_and_counted_by_their_owners() -> None:
    yard = Yard()
    records = [yard.place(f"h{at}", "n1", labels={"app": "web", "pod": str(at)}, affinity=HERMIT) for at in range(3)]
    (term,) = yard.relations.terms_about(yard.shapes.find(make_pod("p", labels={"app": "web"})))
    assert (term.kind, term.total, term.owners[:2].tolist()) == (TermKind.REQUIRED_ANTI_AFFINITY, 3, [0, 3])
    assert not yard.relations.terms_about(yard.shapes.find(make_pod("q", labels={"app": "db"})))
    yard.cluster.remove_pod(records[0])
    assert term.total == 2


def test_namespace_labels_change_what_matches() -> None:
    yard = Yard()
    red = PodMatcher(frozenset(), parse_selector("team=red"), parse_selector("app=web"))
    yard.place("a", "n0", labels={"app": "web"})
    assert yard.relations.pods_matching([red], counts_leaving=True).counts.sum() == 0
    version = yard.relations.version
    yard.relations.set_namespace("default", {"team": "red"})
    assert yard.relations.version > version
    assert yard.relations.pods_matching([red], counts_leaving=True).counts.sum() == 1
    yard.relations.set_namespace("default", None)
    assert yard.relations.pods_matching([red], counts_leaving=True).counts.sum() == 0


def test_all_match_is_about_every_matcher_and_none_match_nothing() -> None:
    yard = Yard()
    shape = yard.shapes.find(make_pod("p", labels={"app": "web"}))
    other = PodMatcher(frozenset({"default"}), NOTHING, parse_selector("tier"))
    assert yard.relations.all_match([WEB], shape)
    assert not yard.relations.all_match([WEB, other], shape)
    assert not yard.relations.all_match([], shape)


def test_least_used_sets_are_dropped_and_counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorman.scheduler.cache.pod_relations.POD_SETS_MAX", 2)
    yard = Yard()
    yard.place("a", "n0", labels={"app": "web"})
    first = yard.relations.pods_matching([WEB], counts_leaving=True)
    for text in ("x", "y"):
        matcher = PodMatcher(frozenset({"default"}), NOTHING, parse_selector(text))
        yard.relations.pods_matching([matcher], counts_leaving=True)
    yard.place("b", "n0", labels={"app": "web"})
    again = yard.relations.pods_matching([WEB], counts_leaving=True)
    assert again is not first
    assert again.counts[0] == 2


def test_counts_grow_with_the_cluster() -> None:
    yard = Yard(CAPACITY_MIN)
    found = yard.relations.pods_matching([WEB], counts_leaving=True)
    yard.place("a", "n0", labels={"app": "web"}, affinity=HERMIT)
    yard.cluster.set_node(make_node("late"))
    yard.place("b", "late", labels={"app": "web"}, affinity=HERMIT)
    assert np.flatnonzero(found.counts).tolist() == [0, CAPACITY_MIN]


def test_shapes_that_go_take_their_terms_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorman.scheduler.cache.pod_shapes.IDLE_SHAPES_MAX", 1)
    monkeypatch.setattr("doorman.scheduler.cache.pod_relations.DEAD_TERMS_MIN", 0)
    yard = Yard()
    record = yard.place("h", "n0", labels={"app": "web"}, affinity=HERMIT)
    yard.cluster.remove_pod(record)
    yard.shapes.release(record.shape)
    yard.shapes.find(make_pod("other", labels={"app": "other"}))
    assert len(yard.shapes) == 1
    kept = yard.shapes.take(make_pod("p", labels={"app": "web"}))
    assert not yard.relations.terms_about(kept)
