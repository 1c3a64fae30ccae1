"""Objects go with their owners, in the way the deletion asked for."""

from typing import Any

import msgspec
import pytest

from doorman.api.kinds import builtin_kinds
from doorman.api.views.meta import Object, ObjectMeta, OwnerReference
from doorman.client.actions import Delete, Patch
from doorman.client.controller_contract import ObjectChange
from doorman.controllers.cluster.garbage_collector import (
    GarbageCollector,
    Owners,
    decide_dependent,
    decide_owner,
    kind_finder,
)
from support.stage import Stage

KINDS = ("pods", "replicasets.apps", "deployments.apps", "nodes", "leases.coordination.k8s.io", "namespaces")
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "d1", "controller": True}
REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r1", "controller": True}


def stage_with() -> Stage:
    stage = Stage(dict.fromkeys(KINDS, Object))
    stage.add(GarbageCollector({name: stage.caches[name] for name in KINDS}, kind_finder(builtin_kinds())))
    return stage


def add(stage: Stage, resource: str, name: str, uid: str, *owners: dict[str, Any], namespace: str = "a") -> None:
    metadata: dict[str, Any] = {"name": name, "uid": uid, "ownerReferences": list(owners)}
    if namespace:
        metadata["namespace"] = namespace
    stage.create(resource, {"metadata": metadata, "spec": {"nodeName": "n"} if resource == "pods" else {}})


def family(stage: Stage, *, blocking: bool = True) -> None:
    add(stage, "deployments.apps", "d", "d1")
    add(stage, "replicasets.apps", "r", "r1", {**DEPLOYMENT, "blockOwnerDeletion": blocking})
    add(stage, "pods", "p", "p1", {**REPLICA_SET, "blockOwnerDeletion": blocking})
    stage.settle()


def remove(stage: Stage, resource: str, key: str, policy: str) -> None:
    namespace, _, name = key.rpartition("/")
    stage._delete(Delete(resource=resource, namespace=namespace, name=name, propagation=policy, grace_seconds=0))


def left(stage: Stage) -> list[str]:
    return [name for name in KINDS for _ in stage.documents[name]]


def test_only_owners_and_dependents_are_looked_at_when_they_go() -> None:
    stage = Stage(dict.fromkeys(KINDS, Object))
    collector = GarbageCollector({name: stage.caches[name] for name in KINDS}, kind_finder(builtin_kinds()))
    stage.add(collector)
    family(stage)
    add(stage, "pods", "q", "q1")
    stage.settle()
    keys = {source.resource: source.keys for source in collector.sources}

    def woken(resource: str, key: str, **going: Any) -> list[str]:
        there = stage.caches[resource].get(key)
        marked = msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, **going))
        gone = ObjectChange(resource, marked, None)
        return [*keys[resource](ObjectChange(resource, there, marked)), "|", *keys[resource](gone)]

    now = "2026-01-01T00:00:00Z"
    assert woken("pods", "a/q", deletion_timestamp=now) == ["|"]
    assert woken("pods", "a/q", deletion_timestamp=now, finalizers=("orphan",)) == ["object/pods/a/q", "|"]
    assert woken("pods", "a/p", deletion_timestamp=now) == ["object/pods/a/p", "|", "object/replicasets.apps/a/r"]
    assert woken("deployments.apps", "a/d", deletion_timestamp=now) == ["owner/d1", "|", "owner/d1"]


def test_background_takes_the_whole_family() -> None:
    stage = stage_with()
    family(stage)
    remove(stage, "deployments.apps", "a/d", "Background")
    stage.settle()
    assert stage.get("replicasets.apps", "a/r") is None
    document = stage.get("pods", "a/p")
    assert document is not None
    assert document["metadata"]["deletionTimestamp"]
    first = stage.done(Delete)[0][1]
    assert (first.resource, first.uid, first.propagation) == ("replicasets.apps", "r1", "Background")
    assert first.resource_version


def test_foreground_waits_for_blocking_dependents() -> None:
    stage = stage_with()
    family(stage)
    remove(stage, "deployments.apps", "a/d", "Foreground")
    stage.at(60)
    assert left(stage) == ["pods", "replicasets.apps", "deployments.apps"]
    assert stage.done(Delete, "replicasets.apps")[0][1].propagation == "Foreground"
    remove(stage, "pods", "a/p", "Background")
    stage.at(61)
    assert left(stage) == []


def test_foreground_does_not_wait_for_dependents_that_do_not_block() -> None:
    stage = stage_with()
    family(stage, blocking=False)
    remove(stage, "deployments.apps", "a/d", "Foreground")
    stage.settle()
    assert stage.get("deployments.apps", "a/d") is None


def test_orphan_releases_the_dependents() -> None:
    stage = stage_with()
    family(stage)
    remove(stage, "deployments.apps", "a/d", "Orphan")
    stage.settle()
    assert stage.get("deployments.apps", "a/d") is None
    document = stage.get("replicasets.apps", "a/r")
    assert document is not None
    assert document["metadata"]["ownerReferences"] == []
    assert "deletionTimestamp" not in document["metadata"]


def test_object_with_another_solid_owner_stays_and_loses_the_dangling_reference() -> None:
    stage = stage_with()
    add(stage, "deployments.apps", "d", "d1")
    add(stage, "deployments.apps", "e", "e1")
    add(stage, "replicasets.apps", "r", "r1", DEPLOYMENT, {**DEPLOYMENT, "name": "e", "uid": "e1", "controller": False})
    stage.settle()
    remove(stage, "deployments.apps", "a/d", "Background")
    stage.settle()
    document = stage.get("replicasets.apps", "a/r")
    assert document is not None
    assert [owner["uid"] for owner in document["metadata"]["ownerReferences"]] == ["e1"]


def test_owner_not_in_the_cache_is_asked_for_first() -> None:
    stage = stage_with()
    add(stage, "pods", "p", "p1", REPLICA_SET)
    stage.settle()
    asked = stage.done(Patch)[0][1]
    assert (asked.resource, asked.name, asked.body) == ("replicasets.apps", "r", {"metadata": {"uid": "r1"}})
    assert stage.done(Delete) == []
    stage.at(1)
    assert [action.uid for _, action in stage.done(Delete)] == ["p1"]


def test_owner_that_is_there_after_all_keeps_its_dependent() -> None:
    stage = stage_with()
    document = {"metadata": {"name": "r", "namespace": "a", "uid": "r1", "resourceVersion": "1"}}
    stage.documents["replicasets.apps"]["a/r"] = document
    add(stage, "pods", "p", "p1", REPLICA_SET)
    stage.at(120)
    assert stage.done(Delete) == []


def test_namesake_of_the_owner_is_no_owner() -> None:
    stage = stage_with()
    add(stage, "replicasets.apps", "r", "another")
    add(stage, "pods", "p", "p1", REPLICA_SET)
    stage.at(60)
    assert [action.uid for _, action in stage.done(Delete)] == ["p1"]


def test_deleting_a_node_takes_its_lease_but_not_its_pods() -> None:
    stage = stage_with()
    node = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "n1"}
    add(stage, "nodes", "n", "n1", namespace="")
    add(stage, "leases.coordination.k8s.io", "n", "l1", node, namespace="kube-node-lease")
    add(stage, "pods", "p", "p1")
    stage.settle()
    remove(stage, "nodes", "n", "Background")
    stage.at(60)
    assert left(stage) == ["pods"]


def test_owner_of_an_unknown_kind_is_left_alone() -> None:
    stage = stage_with()
    add(stage, "pods", "p", "p1", {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "t1"})
    stage.at(60)
    assert stage.actions == []


def test_object_of_the_cluster_owned_by_one_of_a_namespace_is_told_and_deleted() -> None:
    stage = stage_with()
    add(stage, "namespaces", "x", "x1", REPLICA_SET, namespace="")
    stage.settle()
    assert [event.reason for _, event in stage.events] == ["OwnerRefInvalidNamespace"]
    assert [action.uid for _, action in stage.done(Delete)] == ["x1"]


OWNER = OwnerReference(uid="o")


@pytest.mark.parametrize(
    ("owners", "finalizers", "has_dependents", "policy"),
    [
        pytest.param(Owners(dangling=(OWNER,)), (), False, "Background", id="dangling"),
        pytest.param(Owners(dangling=(OWNER,)), ("orphan",), False, "Orphan", id="carries-orphan"),
        pytest.param(Owners(dangling=(OWNER,)), ("foregroundDeletion",), False, "Foreground", id="carries-foreground"),
        pytest.param(Owners(waiting=(OWNER,)), (), True, "Foreground", id="waiting-with-dependents"),
        pytest.param(Owners(waiting=(OWNER,)), (), False, "Background", id="waiting-without-dependents"),
        pytest.param(Owners(solid=(OWNER,)), (), True, None, id="solid"),
        pytest.param(Owners(), (), True, None, id="no-owners"),
    ],
)
def test_policy(owners: Owners, finalizers: tuple[str, ...], has_dependents: bool, policy: str | None) -> None:
    meta = ObjectMeta(name="x", uid="x", finalizers=finalizers)
    decision = decide_dependent("pods", meta, owners, has_dependents=has_dependents)
    assert (decision.propagation if isinstance(decision, Delete) else None) == policy


def test_object_that_is_being_deleted_already_is_not_deleted_again() -> None:
    meta = ObjectMeta(name="x", uid="x", deletion_timestamp="2026-01-01T00:00:00Z")
    assert decide_dependent("pods", meta, Owners(dangling=(OWNER,)), has_dependents=False) is None


def test_owner_that_is_not_being_deleted_needs_nothing() -> None:
    assert decide_owner("pods", ObjectMeta(finalizers=("orphan",)), []) == []
