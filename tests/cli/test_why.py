"""`doorman why` for pods, workloads and nodes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("why")
    with Server(folder, "--nodes", "1") as running:
        running.kubectl("create", "deployment", "web", "--image", "i", "--replicas", "2")
        ready = running.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        assert ready.returncode == 0, ready.stderr
        running.doorman("taint", "nodes", "node-1", "later=x:NoSchedule")
        yield running


def test_pod_may_be_named_with_its_type(server: Server) -> None:
    (name, *_) = server.kubectl("get", "pods", "-o", "name").stdout.split()
    by_type, plain = server.doorman("why", name), server.doorman("why", name.removeprefix("pod/"))
    assert by_type.returncode == 0, by_type.stderr
    assert by_type.stdout == plain.stdout == server.doorman("why", *name.split("/")).stdout
    assert f"{name.removeprefix('pod/')}: bound to node-1" in plain.stdout


def test_workload_says_where_its_pods_are(server: Server) -> None:
    for word in ("deploy/web", "deployments.apps/web"):
        told = server.doorman("why", word)
        assert told.returncode == 0, told.stderr
        assert told.stdout.startswith("2 pods: 2 on node-1\n\ndoorman why pod/web-")


def test_pods_of_a_workload_that_wait_for_the_same_are_explained_once(server: Server) -> None:
    server.kubectl("create", "deployment", "choosy", "--image", "i", "--replicas", "3")
    waits = server.kubectl("wait", "--for=jsonpath={.status.unavailableReplicas}=3", "deploy/choosy", "--timeout=30s")
    assert waits.returncode == 0, waits.stderr
    told = server.doorman("why", "deploy/choosy").stdout
    assert told.startswith("3 pods: 3 without a node\n\npod default/choosy-")
    assert told.count("fits on no node") == 1
    assert "\nSo it is with 2 more: choosy-" in told
    assert json.loads(server.doorman("why", "deploy/choosy", "-o", "json").stdout)["kind"] == "List"
    server.kubectl("delete", "deployment", "choosy")


def test_node_tells_what_its_taints_mean_for_who_is_there(server: Server) -> None:
    told = server.doorman("why", "node/node-1").stdout
    assert told.startswith("node-1 is tainted: later=x:NoSchedule.\n")
    assert told.count("stays, though it would not be placed here now: it does not tolerate later=x:NoSchedule") == 2


def test_node_tells_what_a_taint_would_mean_for_who_is_there(server: Server) -> None:
    told = server.doorman("why", "node/node-1", "--if", "maintenance:NoExecute").stdout
    assert "If it were tainted maintenance:NoExecute:\n" in told
    assert told.count("leaves, because it does not tolerate maintenance:NoExecute") == 2
    told = server.doorman("why", "node/node-1", "--if", "node.kubernetes.io/unreachable:NoExecute").stdout
    assert told.count("leaves after 5m0s: so long it tolerates node.kubernetes.io/unreachable:NoExecute") == 2


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (("node/node-1", "--if", "k:Never"), "invalid taint effect: Never"),
        (("web", "--if", "k:NoExecute"), "plan taint"),
        (("pod", "web", "api"), "one object at a time"),
        (("pod/web", "pod/api"), "one object at a time"),
    ],
)
def test_what_cannot_be_meant_is_refused(server: Server, what: tuple[str, ...], words: str) -> None:
    told = server.doorman("why", *what)
    assert (told.returncode, words in told.stderr) == (2, True), told.stderr


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("node/nope", 'nodes "nope" not found'),
        ("deploy/nope", 'deployments.apps "nope" not found'),
        ("nothing/x", 'doesn\'t have a resource type "nothing"'),
        ("cm/kube-root-ca.crt", "has no pods"),
        ("nope", 'pods "nope" not found'),
    ],
)
def test_what_is_not_there_is_told(server: Server, what: str, words: str) -> None:
    told = server.doorman("why", what)
    assert (told.returncode, words in told.stderr) == (1, True), told.stderr
