"""From a snapshot to a store: objects as they were, nodes simulated, broken references refused."""

from typing import Any

import msgspec
import pytest

from doorman.base.instants import from_time
from doorman.snapshot.object_restoration import Restored, restored, simulated_annotations
from doorman.snapshot.snapshot_format import SnapshotError, snapshot_of

NOW = from_time("2026-01-01T00:10:00Z")


def node(name: str = "n1", ready: str = "True", **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    conditions = [{"type": "Ready", "status": ready, "lastHeartbeatTime": "2026-01-01T00:09:00Z"}]
    if annotations:
        metadata["annotations"] = annotations  # type: ignore[assignment]  # JSON
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"conditions": conditions}}


def pod(node_name: str = "n1", owners: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "p", "namespace": "default", "uid": "uid-p", "resourceVersion": "77"}
    if owners:
        metadata["ownerReferences"] = owners
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node_name}}


def lease(name: str, renewed: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "kube-node-lease"}
    return {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {"renewTime": renewed}
    }  # fmt: skip


def stored(found: Restored, key: str) -> Any:
    value = next(entry.value for entry in found.entries if entry.key == key)
    return msgspec.json.decode(b'{"metadata":{' + value)


def test_objects_keep_uid_owner_node_and_times() -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-n1", "controller": True}
    found = restored(snapshot_of([node(), pod(owners=[owner])], NOW))
    kept = stored(found, "pods/default/p")
    assert (kept["metadata"]["uid"], kept["spec"]["nodeName"]) == ("uid-p", "n1")
    assert kept["metadata"]["ownerReferences"] == [owner]
    assert "resourceVersion" not in kept["metadata"], "the store gives its own"
    assert found.resumed_at == NOW
    assert [entry.revision for entry in found.entries] == list(range(1, found.revision + 1))


def test_node_becomes_simulated_and_one_that_was_goes_on_as_it_was() -> None:
    found = restored(snapshot_of([node()], NOW))
    assert stored(found, "nodes/n1")["metadata"]["annotations"] == {"doorman.dev/simulated": "true"}
    assert found.had_real_nodes
    own = {"doorman.dev/simulated": "true", "doorman.dev/script": "silent 30s-90s"}
    again = restored(snapshot_of([node(**own)], NOW))
    assert stored(again, "nodes/n1")["metadata"]["annotations"] == own
    assert not again.had_real_nodes


@pytest.mark.parametrize(
    ("ready", "is_expired", "expected"),
    [
        pytest.param("True", False, {}, id="well"),
        pytest.param("True", True, {"doorman.dev/silent": "true"}, id="not-heard-of-and-not-marked-yet"),
        pytest.param("Unknown", True, {"doorman.dev/silent": "true"}, id="given-up"),
        pytest.param("False", False, {"doorman.dev/conditions": "Ready=False"}, id="not-ready"),
    ],
)
def test_simulated_node_is_as_well_as_it_was(ready: str, is_expired: bool, expected: dict[str, str]) -> None:
    found = simulated_annotations(node(ready=ready), is_expired=is_expired)
    assert found == {"doorman.dev/simulated": "true", **expected}


def test_node_whose_lease_was_left_out_counts_as_alive() -> None:
    found = restored(snapshot_of([node("n1"), node("n2"), lease("n2", "2026-01-01T00:08:00.000000Z")], NOW))
    assert stored(found, "leases.coordination.k8s.io/kube-node-lease/n1")["spec"]["renewTime"].startswith(
        "2026-01-01T00:10"
    )
    assert "doorman.dev/silent" not in stored(found, "nodes/n1")["metadata"]["annotations"]
    assert stored(found, "nodes/n2")["metadata"]["annotations"]["doorman.dev/silent"] == "true", (
        "two minutes of silence"
    )


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(pod("n9"), id="a-node-that-is-not-there"),
        pytest.param(
            pod(owners=[{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "gone"}]), id="an-owner"
        ),
    ],
)
def test_references_that_lead_nowhere_are_refused_unless_they_did_so_in_the_cluster(broken: dict[str, Any]) -> None:
    with pytest.raises(SnapshotError, match="Pod default/p refers to"):
        restored(snapshot_of([node(), broken], NOW))
    assert restored(snapshot_of([node(), broken], NOW, dangling=["Pod default/p"])).entries


def test_owner_of_a_kind_that_is_never_in_a_snapshot_is_forgotten_so_that_nobody_thinks_it_gone() -> None:
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web", "uid": "r"}
    found = restored(snapshot_of([node(), pod(owners=[rollout])], NOW))
    assert "ownerReferences" not in stored(found, "pods/default/p")["metadata"]


def test_object_of_another_shape_is_named() -> None:
    with pytest.raises(SnapshotError, match="Pod default/p cannot be read"):
        restored(snapshot_of([node(), {**pod(), "spec": {"nodeName": "n1", "containers": "many"}}], NOW))
