"""What is the same for every kind that keeps so many pods: whose pods count, and who of a family is told of whom."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import ReplicaSet
from doorman.api.views.meta import orphanage_of
from doorman.api.views.pod_indexes import POD_INDEXERS
from doorman.api.views.pods import Pod
from doorman.client.actions import Patch
from doorman.client.informer_cache import InformerCache
from doorman.controllers.replicas.replica_controller import ReplicaController
from doorman.controllers.replicas.replicaset import REPLICA_SETS

NOW = 100.0
INDEXERS: dict[str, Any] = {
    "namespace": lambda one: (one.metadata.namespace,),
    "owner": lambda one: tuple(owner.uid for owner in one.metadata.owner_references),
    "orphan": orphanage_of,
}
FAMILY = [{"kind": "Deployment", "name": "d", "uid": "deployment", "controller": True}]


def replica_set(
    name: str, replicas: int = 1, *, is_selecting: bool = True, generation: int = 0, **metadata: Any
) -> ReplicaSet:
    labels = {"app": "x", "set": name}
    doc = {
        "metadata": {"namespace": "a", "name": name, "uid": f"uid-{name}", "generation": 1, **metadata},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels} if is_selecting else None,
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
        "status": {"observedGeneration": generation},
    }
    return msgspec.convert(doc, ReplicaSet)


class Desk:
    def __init__(self, *sets: ReplicaSet, writes_counts: bool = True) -> None:
        self.sets: InformerCache[ReplicaSet] = InformerCache(INDEXERS)
        self.pods: InformerCache[Pod] = InformerCache({**INDEXERS, **POD_INDEXERS})
        for one in sets:
            self.sets.put(one.metadata.key, one)
        self.controller = ReplicaController(REPLICA_SETS, self.sets, self.pods, writes_counts=writes_counts)

    def wakes(self, key: str) -> list[str]:
        return [woken for woken, _ in self.controller.reconcile(key, NOW).wakes]


def test_it_makes_the_pods_that_are_missing() -> None:
    made = [key for key in Desk(replica_set("r", 1)).wakes("set/a/r") if key.startswith("create/")]
    assert len(made) == 1
    assert made[0].startswith("create/a/r-")


def test_set_that_selects_nothing_makes_nothing() -> None:
    assert Desk(replica_set("r", 3, is_selecting=False)).wakes("set/a/r") == []


def test_orphan_wakes_the_set_whose_selector_it_matches() -> None:
    desk = Desk(replica_set("r"), replica_set("s"))
    doc = {"metadata": {"namespace": "a", "name": "p", "labels": {"app": "x", "set": "s"}}}
    desk.pods.put("a/p", msgspec.convert(doc, Pod))
    assert desk.wakes("orphan/a/p") == ["set/a/s"]


@pytest.mark.parametrize(
    ("others", "is_written"),
    [
        pytest.param([], False, id="alone"),
        pytest.param([replica_set("old", 1, ownerReferences=FAMILY)], True, id="with-another-that-has-pods"),
        pytest.param([replica_set("old", 0, ownerReferences=FAMILY)], False, id="with-one-that-has-none"),
        pytest.param([replica_set("old", 1)], False, id="with-a-stranger"),
    ],
)
def test_counts_are_written_only_where_a_rollout_goes_by_them(others: list[ReplicaSet], is_written: bool) -> None:
    new = replica_set("new", 0, generation=1, ownerReferences=FAMILY)
    status = {"replicas": 5, "observedGeneration": 1}
    counted = msgspec.structs.replace(new, status=msgspec.convert(status, type(new.status)))
    desk = Desk(counted, *others, writes_counts=False)
    written = [one for one in desk.controller.reconcile("set/a/new", NOW).actions if isinstance(one, Patch)]
    assert bool(written) is is_written


def test_others_of_the_family_are_woken_when_a_set_is_first_seen() -> None:
    old = replica_set("old", 1, generation=1, ownerReferences=FAMILY)
    first = Desk(old, replica_set("new", 0, ownerReferences=FAMILY), writes_counts=False)
    assert "set/a/old" in first.wakes("set/a/new")
    later = Desk(old, replica_set("new", 0, generation=1, ownerReferences=FAMILY), writes_counts=False)
    assert "set/a/old" not in later.wakes("set/a/new")


def test_sources_are_the_sets_and_their_pods() -> None:
    controller = Desk().controller
    assert [source.resource for source in controller.sources] == ["replicasets.apps", "pods"]
    assert controller.name == "replicaset-controller"
