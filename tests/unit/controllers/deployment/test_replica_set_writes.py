"""What a Deployment writes of its ReplicaSets."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.apps import Deployment, ReplicaSet
from doorman.client.actions import Delete, Patch, RecordEvent
from doorman.controllers.deployment.deployment_sizes import Resize
from doorman.controllers.deployment.replica_set_writes import cleanup, resizes, wanted_annotations


def deployment(replicas: int = 4, **spec: Any) -> Deployment:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    annotations = {"team": "x", "deployment.kubernetes.io/revision": "7"}
    document = {
        "metadata": {"namespace": "a", "name": "d", "uid": "u", "annotations": annotations},
        "spec": {"replicas": replicas, "strategy": strategy, **spec},
    }
    return msgspec.convert(document, Deployment)


def replica_set(name: str, size: int = 0, revision: int = 1, *, seen: int = 0, **annotations: str) -> ReplicaSet:
    known = {"deployment.kubernetes.io/revision": str(revision), **annotations}
    document = {
        "metadata": {"namespace": "a", "name": name, "uid": name, "generation": 1, "annotations": known},
        "spec": {"replicas": size},
        "status": {"replicas": size, "observedGeneration": seen or 1},
    }
    return msgspec.convert(document, ReplicaSet)


def test_size_that_changes_is_told_and_one_that_does_not_is_not() -> None:
    sizes = {"deployment.kubernetes.io/desired-replicas": "4", "deployment.kubernetes.io/max-replicas": "5"}
    same, other = replica_set("same", 2, **sizes), replica_set("other", 1, **sizes)
    patch, event = resizes(deployment(), [Resize(same, 2), Resize(other, 3)])
    assert isinstance(patch, Patch)
    assert (patch.name, patch.body["spec"]) == ("other", {"replicas": 3})
    assert isinstance(event, RecordEvent)
    assert event.message == "Scaled up replica set other from 1 to 3"


def test_sizes_are_written_down_without_a_word_where_only_they_changed() -> None:
    (patch,) = resizes(deployment(), [Resize(replica_set("r", 2), 2)])
    assert isinstance(patch, Patch)
    assert patch.body["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] == "4"


@pytest.mark.parametrize(
    ("limit", "gone"),
    [(None, []), (-1, []), (3, []), (1, ["r1", "r2"]), (0, ["r1", "r2", "r3"])],
)
def test_oldest_go_first(limit: int | None, gone: list[str]) -> None:
    old = [replica_set(f"r{revision}", revision=revision) for revision in (3, 1, 2)]
    found = cleanup(deployment(revisionHistoryLimit=limit), old)
    assert [one.name for one in found if isinstance(one, Delete)] == gone


def test_those_with_pods_stay() -> None:
    found = cleanup(deployment(revisionHistoryLimit=0), [replica_set("busy", 2), replica_set("idle")])
    assert [one.name for one in found if isinstance(one, Delete)] == ["idle"]


def test_annotations_are_copied_but_those_of_the_deployment_itself() -> None:
    wanted = wanted_annotations(deployment(), None, 3)
    assert wanted["team"] == "x"
    assert wanted["deployment.kubernetes.io/revision"] == "3"
