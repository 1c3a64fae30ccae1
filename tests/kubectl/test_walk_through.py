"""The README's walk-through, with the real kubectl, against a real server."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH"),
]
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, "--nodes", "1") as running:
        yield running


def test_taint_keeps_off_evicts_and_is_removed(server: Server) -> None:
    nodes = server.kubectl("get", "nodes", "--no-headers")
    assert nodes.stdout.split()[:2] == ["node-1", "Ready"]
    tainted = server.kubectl("taint", "nodes", "node-1", "key1=value1:NoSchedule")
    assert (tainted.returncode, tainted.stdout) == (0, "node/node-1 tainted\n")
    applied = server.kubectl("apply", "-f", str(EXAMPLES / "pod-with-toleration.yaml"))
    assert applied.stdout == "pod/tolerant created\n", applied.stderr
    ready = server.kubectl("wait", "--for=condition=Ready", "pod/tolerant", "--timeout=20s")
    assert ready.stdout == "pod/tolerant condition met\n", ready.stderr
    refused = server.kubectl("run", "plain", "--image=registry.k8s.io/pause:3.10")
    assert refused.stdout == "pod/plain created\n", refused.stderr
    waiting = server.kubectl("wait", "--for=condition=PodScheduled=false", "pod/plain", "--timeout=20s")
    assert waiting.returncode == 0, waiting.stderr
    described = server.kubectl("describe", "pod", "plain").stdout
    assert "0/1 nodes are available: 1 node(s) had untolerated taint(s)" in described
    server.kubectl("taint", "nodes", "node-1", "key1=value1:NoExecute")
    gone = server.kubectl("wait", "--for=delete", "pod/tolerant", "--timeout=20s")
    assert gone.returncode == 0, gone.stderr
    removed = server.kubectl("taint", "nodes", "node-1", "key1=value1:NoSchedule-")
    assert removed.stdout == "node/node-1 untainted\n"


def test_explain_knows_tolerations(server: Server) -> None:
    found = server.kubectl("explain", "pod.spec.tolerations")
    assert found.returncode == 0, found.stderr
    assert "tolerationSeconds" in found.stdout


def test_strict_validation_refuses_unknown_fields(server: Server) -> None:
    manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nope: 1, containers: [{name: c, image: i}]}\n"
    done = server.kubectl("create", "-f", "-", stdin=manifest)
    assert done.returncode == 1
    assert 'unknown field "spec.nope"' in done.stderr
