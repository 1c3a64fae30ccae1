"""What simulated pods use."""

from typing import Any

import pytest

from doorman.api.views.meta import Object, to_view
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.client.informer_cache import InformerCache
from doorman.nodes.pods.simulated_usage import SimulatedUsage, decide_usage

MEBIBYTE = 1000 << 20
HALF = {"requests": {"cpu": "200m", "memory": "128Mi"}}


def metadata(name: str, uid: str, owner: str, marks: dict[str, str]) -> dict[str, Any]:
    """`owner`: kind and name, which are its uid here."""
    found: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": uid,
        "annotations": {f"doorman.dev/{key.replace('_', '-')}": text for key, text in marks.items()},
    }
    if owner:
        kind, _, above = owner.partition("/")
        found["ownerReferences"] = [{"kind": kind, "name": above, "uid": owner, "controller": True}]
    return found


def pod(name: str = "p", *containers: dict[str, Any], owner: str = "", phase: str = "Running", **marks: str) -> Pod:
    document = {
        "metadata": metadata(name, name, owner, marks),
        "spec": {"nodeName": "node-1", "containers": list(containers) or [{"name": "c", "resources": HALF}]},
        "status": {"phase": phase},
    }
    return to_view(document, Pod)


def workload(name: str, *, owner: str = "", **marks: str) -> Object:
    return to_view({"metadata": metadata(name.partition("/")[2], name, owner, marks)}, Object)


def usage_of(*pods: Pod, workloads: tuple[Object, ...] = (), ready: str = "True", simulated: str = "true") -> Any:
    by_namespace = {"namespace": lambda one: (one.metadata.namespace,)}
    pod_cache: InformerCache[Any] = InformerCache(by_namespace)
    for one in pods:
        pod_cache.put(one.metadata.key, one)
    nodes: InformerCache[Any] = InformerCache()
    node = {
        "metadata": {"name": "node-1", "annotations": {"doorman.dev/simulated": simulated}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }
    nodes.put("node-1", to_view(node, Node))
    owners: dict[str, InformerCache[Any]] = {"ReplicaSet": InformerCache(), "Deployment": InformerCache()}
    for one in workloads:
        owners[one.metadata.uid.split("/")[0]].put(one.metadata.key, one)
    found = SimulatedUsage(pod_cache, nodes, owners).in_namespace("default")
    return {one.pod.metadata.name: [(used.cpu, used.memory // MEBIBYTE) for used in one.containers] for one in found}


@pytest.mark.parametrize(
    ("ready", "simulated", "phase", "is_known"),
    [
        pytest.param("True", "true", "Running", True, id="rule-1-runs"),
        pytest.param("False", "true", "Running", True, id="rule-1-node-not-ready-yet-heard-of"),
        pytest.param("Unknown", "true", "Running", False, id="rule-1-node-not-heard-of"),
        pytest.param("True", "false", "Running", False, id="rule-1-node-of-others"),
        pytest.param("True", "true", "Pending", False, id="rule-1-does-not-run"),
    ],
)
def test_who_uses_anything(ready: str, simulated: str, phase: str, is_known: bool) -> None:
    assert ("p" in usage_of(pod(phase=phase), ready=ready, simulated=simulated)) is is_known


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(pod(), [(100, 64)], id="rule-4-half-of-its-request"),
        pytest.param(pod("p", {"name": "c"}), [(1, 10)], id="rule-4-nothing-requested"),
        pytest.param(pod(cpu_usage="1", memory_usage="1Gi"), [(1000, 1024)], id="rule-2-as-it-says"),
        pytest.param(pod(cpu_usage="much", memory_usage="-1"), [(100, 64)], id="rule-2-unreadable"),
        pytest.param(
            pod("p", {"name": "a"}, {"name": "b", "resources": HALF}, cpu_usage="1"), [(900, 10), (100, 64)],
            id="rule-5-the-first-has-the-rest",
        ),
        pytest.param(
            pod("p", {"name": "a"}, {"name": "b", "resources": HALF}, cpu_usage="50m"), [(0, 10), (100, 64)],
            id="rule-5-no-rest",
        ),
    ],
)  # fmt: skip
def test_usage_of_a_pod(one: Pod, expected: list[tuple[int, int]]) -> None:
    assert usage_of(one) == {"p": expected}


def test_rule_2_the_topmost_workload_speaks_for_its_pods() -> None:
    top = workload("Deployment/web", cpu_usage="500m")
    below = workload("ReplicaSet/web-1", owner="Deployment/web", cpu_usage="300m", memory_usage="32Mi")
    pods = (pod("a", owner="ReplicaSet/web-1"), pod("b", owner="ReplicaSet/web-1", cpu_usage="7m"))
    assert usage_of(*pods, workloads=(top, below)) == {"a": [(500, 64)], "b": [(7, 64)]}


def test_rule_3_load_is_shared_by_those_that_run() -> None:
    top = workload("Deployment/web", cpu_load="1", memory_load="300Mi")
    sets = [workload(f"ReplicaSet/web-{number}", owner="Deployment/web") for number in (1, 2)]
    pods = (
        pod("a", owner="ReplicaSet/web-1"),
        pod("b", owner="ReplicaSet/web-2"),
        pod("c", owner="ReplicaSet/web-2"),
        pod("d", owner="ReplicaSet/web-2", phase="Pending"),
        pod("e"),
    )
    found = usage_of(*pods, workloads=(top, *sets))
    assert found == {"a": [(333, 100)], "b": [(333, 100)], "c": [(333, 100)], "e": [(100, 64)]}


def test_namesake_of_a_workload_that_is_gone_has_no_say() -> None:
    other = workload("ReplicaSet/web", cpu_usage="9")
    assert decide_usage(pod(), None, 1)[0].cpu == 100
    assert usage_of(pod("p", owner="ReplicaSet/web"), workloads=(other,))["p"] == [(9000, 64)]
    reference = {"kind": "ReplicaSet", "name": "web", "uid": "before", "controller": True}
    document = {
        "metadata": {"name": "q", "namespace": "default", "uid": "q", "ownerReferences": [reference]},
        "spec": {"nodeName": "node-1", "containers": [{"name": "c", "resources": HALF}]},
        "status": {"phase": "Running"},
    }
    assert usage_of(to_view(document, Pod), workloads=(other,))["q"] == [(100, 64)]
