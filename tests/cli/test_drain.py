"""`doorman cordon`, `uncordon` and `drain`, beside kubectl's."""

from pathlib import Path
from typing import Any

import pytest

from doorman.cli.nodes.drain_decisions import DrainOptions, decide_departure
from support.server import Server

Doc = dict[str, Any]


def pod(
    name: str, *, owner: str = "", phase: str = "Running", is_mirror: bool = False, empty_dir: bool = False
) -> dict:
    owners = [{"kind": owner, "controller": True}] if owner else []
    annotations = {"kubernetes.io/config.mirror": "x"} if is_mirror else {}
    return {
        "metadata": {"namespace": "d", "name": name, "ownerReferences": owners, "annotations": annotations},
        "spec": {"volumes": [{"name": "v", "emptyDir": {}}] if empty_dir else []},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("pods", "options", "leaving", "obstacles"),
    [
        ([pod("a", owner="ReplicaSet")], DrainOptions(), ["a"], 0),
        ([pod("a", owner="ReplicaSet"), pod("b")], DrainOptions(), [], 1),
        ([pod("b")], DrainOptions(forces=True), ["b"], 0),
        ([pod("a", owner="DaemonSet")], DrainOptions(), [], 1),
        ([pod("a", owner="DaemonSet")], DrainOptions(ignores_daemon_sets=True), [], 0),
        ([pod("a", is_mirror=True)], DrainOptions(), [], 0),
        ([pod("a", phase="Succeeded")], DrainOptions(), ["a"], 0),
        ([pod("a", owner="ReplicaSet", empty_dir=True)], DrainOptions(), [], 1),
        ([pod("a", owner="ReplicaSet", empty_dir=True)], DrainOptions(deletes_empty_dirs=True), ["a"], 0),
        ([pod("a", empty_dir=True), pod("b"), pod("c", owner="DaemonSet")], DrainOptions(), [], 3),
    ],
)
def test_who_leaves(pods: list[Doc], options: DrainOptions, leaving: list[str], obstacles: int) -> None:
    departure = decide_departure(pods, options)
    assert [name for _, name in departure.pods] == leaving
    assert len(departure.obstacles) == obstacles


def test_node_is_emptied_and_given_back(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "2") as server:
        server.kubectl("create", "deployment", "web", "--image", "i", "--replicas", "4")
        ready = server.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        assert ready.returncode == 0, ready.stderr
        cordoned = server.doorman("cordon", "node-1")
        assert (cordoned.stdout, cordoned.returncode) == ("node/node-1 cordoned\n", 0)
        assert server.kubectl("cordon", "node-1").stdout == server.doorman("cordon", "node-1").stdout
        drained = server.doorman("drain", "node-1", "--ignore-daemonsets", "--timeout", "60s")
        assert drained.returncode == 0, drained.stderr
        lines = drained.stdout.splitlines()
        assert lines[0] == "node/node-1 already cordoned"
        assert lines[-1] == "node/node-1 drained"
        left = server.kubectl("get", "pods", "--field-selector", "spec.nodeName=node-1", "-o", "name")
        assert left.stdout == ""
        assert server.doorman("uncordon", "-l", "kubernetes.io/hostname=node-1").stdout == "node/node-1 uncordoned\n"


def test_what_holds_a_drain_up_is_told_in_kubectl_s_words(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "1") as server:
        server.kubectl("run", "bare", "--image", "i")
        server.kubectl("wait", "--for=condition=Ready", "pod/bare", "--timeout=30s")
        ours, theirs = server.doorman("drain", "node-1"), server.kubectl("drain", "node-1")
        assert ours.returncode == theirs.returncode == 1
        obstacle = "cannot delete Pods that declare no controller (use --force to override): default/bare"
        assert obstacle in ours.stderr
        assert obstacle in theirs.stderr
        unknown = server.doorman("drain", "nope")
        assert (unknown.returncode, 'nodes "nope" not found' in unknown.stderr) == (1, True)
        assert server.doorman("drain").returncode == 1
