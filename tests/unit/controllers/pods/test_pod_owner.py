"""What controllers of sets of pods have in common: whose key it is, orphans, and sets that are replaced."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import ReplicaSet
from doorman.api.views.meta import orphanage_of
from doorman.api.views.pods import Pod
from doorman.base.errors import ApiError
from doorman.client.controller_contract import DONE, Result
from doorman.client.informer_cache import InformerCache
from doorman.controllers.pods.pod_control import PodControl
from doorman.controllers.pods.pod_owner import PodOwnerController
from support.objects import pod

NOW = 100.0
INDEXERS: dict[str, Any] = {
    "namespace": lambda one: (one.metadata.namespace,),
    "owner": lambda one: tuple(owner.uid for owner in one.metadata.owner_references),
    "orphan": orphanage_of,
}


class Control(PodControl):
    """Tells what it was asked."""

    def __init__(self, pods: Any) -> None:
        super().__init__("test", pods)
        self.asked: list[str] = []

    def reconcile(self, key: str, now: float) -> Result:
        self.asked.append(key)
        return DONE

    def gave_up(self, key: str, error: Exception, now: float) -> None:
        self.asked.append(f"gave up {key}")

    def forget(self, owner_key: str) -> None:
        self.asked.append(f"forget {owner_key}")


class Sets(PodOwnerController[ReplicaSet]):
    def __init__(self) -> None:
        self.owners: InformerCache[ReplicaSet] = InformerCache(INDEXERS)
        self.pods: InformerCache[Pod] = InformerCache(INDEXERS)
        self.control = Control(self.pods)
        super().__init__(self.owners, self.pods, self.control)
        self.managed: list[str] = []

    def _selects(self, owner: ReplicaSet, pod: Pod) -> bool:
        return pod.metadata.labels.get("app") == owner.metadata.name

    def _manage(self, key: str, found: ReplicaSet, now: float) -> Result:
        self.managed.append(f"{key} {found.metadata.uid}")
        return DONE

    def given_set(self, name: str, uid: str, namespace: str = "a") -> None:
        doc = {"metadata": {"namespace": namespace, "name": name, "uid": uid}}
        self.owners.put(f"{namespace}/{name}", msgspec.convert(doc, ReplicaSet))

    def given_pod(self, name: str, **metadata: Any) -> None:
        view = msgspec.convert(pod(name, namespace="a", metadata={"namespace": "a", **metadata}), Pod)
        self.pods.put(view.metadata.key, view)


@pytest.fixture
def sets() -> Sets:
    return Sets()


def test_keys_of_pods_are_their_control_s(sets: Sets) -> None:
    sets.reconcile("create/a/p", NOW)
    sets.reconcile("delete/a/p", NOW)
    sets.gave_up("create/a/p", ApiError(403, "Forbidden", "no"), NOW)
    sets.gave_up("set/a/r", ApiError(403, "Forbidden", "no"), NOW)
    assert sets.control.asked == ["create/a/p", "delete/a/p", "gave up create/a/p"]


def test_orphan_wakes_the_sets_of_its_namespace_that_would_adopt_it(sets: Sets) -> None:
    sets.given_set("web", "u1")
    sets.given_set("db", "u2")
    sets.given_set("web", "u3", namespace="b")
    sets.given_pod("p", labels={"app": "web"})
    assert sets.reconcile("orphan/a/p", NOW).wakes == [("set/a/web", NOW)]


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"labels": {"app": "web"}, "ownerReferences": [{"uid": "x", "controller": True}]}, id="owned"),
        pytest.param({"labels": {"app": "other"}}, id="nobody-s"),
    ],
)
def test_others_wake_nobody(sets: Sets, metadata: dict[str, Any]) -> None:
    sets.given_set("web", "u1")
    sets.given_pod("p", **metadata)
    assert not sets.reconcile("orphan/a/p", NOW).wakes
    assert not sets.reconcile("orphan/a/gone", NOW).wakes


def test_set_is_managed_and_forgotten_when_it_is_gone(sets: Sets) -> None:
    sets.given_set("web", "u1")
    sets.reconcile("set/a/web", NOW)
    sets.owners.remove("a/web")
    sets.reconcile("set/a/web", NOW)
    assert sets.managed == ["a/web u1"]
    assert sets.control.asked == ["forget set/a/web"]


def test_another_set_of_the_same_name_begins_anew(sets: Sets) -> None:
    sets.given_set("web", "u1")
    sets.reconcile("set/a/web", NOW)
    sets.reconcile("set/a/web", NOW)
    assert sets.control.asked == []
    sets.given_set("web", "u2")
    sets.reconcile("set/a/web", NOW)
    assert sets.control.asked == ["forget set/a/web"]
    assert sets.managed == ["a/web u1", "a/web u1", "a/web u2"]
