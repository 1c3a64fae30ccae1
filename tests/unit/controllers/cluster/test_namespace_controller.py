"""A namespace that is deleted is emptied, pods first, and goes."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.core import Namespace
from doorman.api.views.meta import Object, ObjectMeta
from doorman.client.actions import Delete, Patch, Update
from doorman.controllers.cluster.namespace_controller import (
    NamespaceController,
    decide_conditions,
    decide_finalize,
    decide_what_holds_up,
)
from support.objects import pod
from support.stage import Stage

CONTENTS = ("pods", "configmaps", "deployments.apps")


def stage_with() -> Stage:
    stage = Stage({"namespaces": Namespace, "configmaps": Object, "deployments.apps": Object})
    contents = {resource: stage.caches[resource] for resource in CONTENTS}
    stage.add(NamespaceController(stage.caches["namespaces"], contents))
    for name in ("a", "b"):
        document = {"metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        stage.create("namespaces", document)
    return stage


def deleted(stage: Stage) -> list[tuple[float, str]]:
    return [(at, f"{action.resource}/{action.namespace}/{action.name}") for at, action in stage.done(Delete)]


def test_active_namespace_is_left_alone() -> None:
    stage = stage_with()
    stage.create("configmaps", {"metadata": {"namespace": "a", "name": "c"}})
    stage.at(600)
    assert stage.actions == []


def test_empty_namespace_goes_after_the_delay() -> None:
    stage = stage_with()
    stage.at(1)
    stage.delete("namespaces", "a")
    stage.at(1.4)
    assert stage.get("namespaces", "a")["status"]["phase"] == "Terminating"  # type: ignore[index]
    stage.at(2)
    assert stage.get("namespaces", "a") is None
    assert stage.get("namespaces", "b") is not None


def test_pods_go_first_and_everything_else_only_when_none_is_left() -> None:
    stage = stage_with()
    stage.create("pods", pod("p", "n1", namespace="a"))
    stage.create("pods", pod("other", "n1", namespace="b"))
    stage.create("configmaps", {"metadata": {"namespace": "a", "name": "c"}})
    stage.create("deployments.apps", {"metadata": {"namespace": "a", "name": "d"}})
    stage.delete("namespaces", "a")
    stage.at(60)
    assert deleted(stage) == [(0.5, "pods/a/p")]
    assert stage.done(Delete)[0][1].propagation == "Background"
    remaining = conditions(stage)["NamespaceContentRemaining"]
    assert remaining["status"] == "True"
    assert remaining["message"] == "Some resources are remaining: pods. has 1 resource instances"
    stage.delete("pods", "a/p", grace_seconds=0)
    stage.at(120)
    assert {name for _, name in deleted(stage)} == {"pods/a/p", "configmaps/a/c", "deployments.apps/a/d"}
    assert stage.get("namespaces", "a") is None
    assert stage.get("pods", "b/other") is not None


def conditions(stage: Stage) -> dict[str, Any]:
    document = stage.get("namespaces", "a")
    assert document is not None
    return {one["type"]: one for one in document["status"]["conditions"]}


def test_finalizers_that_hold_content_are_named() -> None:
    stage = stage_with()
    stage.create("configmaps", {"metadata": {"namespace": "a", "name": "c", "finalizers": ["kit.example/f"]}})
    stage.delete("namespaces", "a")
    stage.at(60)
    held = conditions(stage)["NamespaceFinalizersRemaining"]
    assert (held["status"], held["reason"]) == ("True", "SomeFinalizersRemain")
    assert held["message"] == (
        "Some content in the namespace has finalizers remaining: kit.example/f in 1 resource instances"
    )
    writes = len(stage.done(Patch, "namespaces"))
    stage.at(300)
    assert len(stage.done(Patch, "namespaces")) == writes
    stage.patch("configmaps", "a/c", {"metadata": {"finalizers": None}})
    stage.at(310)
    assert stage.get("namespaces", "a") is None


def test_finalize_keeps_the_finalizers_of_others() -> None:
    namespace = msgspec.convert({"metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes", "x/y"]}}, Namespace)
    action = decide_finalize(namespace)
    assert isinstance(action, Update)
    assert (action.subresource, action.body["spec"]) == ("finalize", {"finalizers": ["x/y"]})


PLAIN = Object(metadata=ObjectMeta(name="plain"))
HELD = Object(metadata=ObjectMeta(name="held", finalizers=("x/y",)))
GOING = Object(metadata=ObjectMeta(name="going", deletion_timestamp="2026-01-01T00:00:00Z"))


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"pods": [PLAIN], "configmaps": [HELD]}, {"pods": [PLAIN]}, id="pods-first"),
        pytest.param({"pods": [], "configmaps": [PLAIN]}, {"pods": [], "configmaps": []}, id="goes-at-once"),
        pytest.param({"configmaps": [PLAIN, HELD, GOING]}, {"configmaps": [HELD, GOING]}, id="stays"),
    ],
)
def test_what_holds_up(contents: dict[str, list[Object]], expected: dict[str, list[Object]]) -> None:
    assert decide_what_holds_up(contents) == expected


@pytest.mark.parametrize(("contents", "count"), [({}, 0), ({"pods": (Object(),)}, 1)])
def test_conditions_are_given_only_if_they_changed(contents: dict[str, tuple[Object, ...]], count: int) -> None:
    first = decide_conditions({}, Namespace(), 0.0)
    assert [(one["type"], one["status"]) for one in first][3:] == [
        ("NamespaceContentRemaining", "False"),
        ("NamespaceFinalizersRemaining", "False"),
    ]
    known = msgspec.convert({"status": {"conditions": first}}, Namespace)
    assert len(decide_conditions(contents, known, 9.0)) == count
