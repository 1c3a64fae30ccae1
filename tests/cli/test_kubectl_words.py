"""What kubectl also does is said in its words: the same command lines, given to both."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from doorman.cli.server_connection import painted
from support.server import Server

AGE = re.compile(r"\b(\d+(d|h|m|s))+\b")
LINES = [
    "get all",
    "get nodes -L kubernetes.io/hostname,nope",
    "get node node-1 -o yaml",
    "get node node-1 -o json",
    "get pods -o yaml",
    "get pods -l =bad",
    "get pods --field-selector nope=1",
    "get nodes nope --ignore-not-found",
    "get nodes -o jsonpath={.bad",
    "get nodes -o custom-columns=bad",
    "get nodes -o jsonpath",
    "get",
    "get pods -z",
    "get pods --nope",
    "get pods --output",
    "get pods -o",
    "get --raw /healthz",
    "get crd",
    "get componentstatuses",
    "get pods.v1.",
    "get pod/web deploy",
    "get nodes --kubeconfig=/nope",
    "describe",
    "events --nope",
    "events --for pod/nope -o json",
    "wait",
    "wait pod/web",
    "wait pod/web --for=condition=Ready --timeout=soon",
    "delete",
    "delete pods -l app=nope",
    "delete -f /nope.yaml",
    "apply",
    "apply -f /nope.yaml",
    "cordon",
    "cordon nope",
    "cordon node-2 nope",
    "cordon node/node-2 --dry-run=client",
    "cordon node-2 --dry-run=server",
    "cordon node-2 --dry-run=maybe",
    "cordon -l nope=1",
    "cordon node-2 -l a=b",
    "cordon pod/web",
    "uncordon node-2",
    "uncordon",
    "drain",
    "drain node-1",
    "drain node-1 --force --dry-run=client",
    "drain node-2 --pod-selector=app=nope --dry-run=server",
    "drain node-2 --pod-selector==bad",
    "drain node-2 -l a=b",
    "drain node-2 --timeout=soon",
    "drain node-2 --nope",
    "taint nodes node-2 a=b:NoSchedule --nope",
    "taint nodes node-2 a=b:NoSchedule --dry-run=maybe",
    "taint nodes node-2 a=b:NoSchedule --dry-run=client --validate=false",
    "taint nodes node-2 a=b:NoSchedule --dry-run=server -o yaml",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("words"), "--nodes", "2", "--clock=virtual") as running:
        overrides = '--overrides={"spec":{"nodeName":"node-1"}}'
        made = running.kubectl("run", "web", "--image=nginx", overrides, "--annotations=text=<yes> & 'no'")
        assert made.returncode == 0, made.stderr
        assert running.doorman("clock", "advance", "5s").returncode == 0
        yield running


def told(text: str) -> list[str]:
    """Without what differs by name or by version, and without the hints, which are ours alone."""
    text = AGE.sub("AGE", text).replace("kubectl", "doorman").replace("already cordoned", "cordoned")
    text = re.sub(r"^Error: ", "error: ", text).replace('unrecognized condition: ""', "unrecognized condition: []")
    text = text.replace("cannot delete cannot delete", "cannot delete")  # kubectl before 1.33
    text = re.sub(r"allowed formats are: .*", "allowed formats are: …", text)
    text = re.sub(r'"(added|resourceVersion)": ?"[^"]*"|added":"[^"]*"', "…", text)
    return [" ".join(line.split()) for line in text.splitlines() if not line.startswith("hint:")]


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_same_words(server: Server, line: str) -> None:
    words = shlex.split(line)
    theirs, ours = server.kubectl(*words), server.doorman(*words)
    assert told(ours.stdout) == told(theirs.stdout)
    assert told(ours.stderr) == told(theirs.stderr)
    assert ours.returncode == theirs.returncode


@pytest.mark.slow
def test_drain_that_takes_too_long_is_told(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "1") as server:
        server.kubectl("create", "deployment", "web", "--image=i")
        server.kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        server.kubectl("create", "pdb", "web", "--selector=app=web", "--min-available=1")
        told_of = server.kubectl("wait", "pdb/web", "--for=jsonpath={.status.currentHealthy}=1", "--timeout=30s")
        assert told_of.returncode == 0, told_of.stderr
        ours, theirs = (run("drain", "node-1", "--timeout=1s") for run in (server.doorman, server.kubectl))
        late = "global timeout reached: 1s, continuing command...\nThere are pending nodes to be drained:\n node-1\n"
        for drained in (ours, theirs):
            assert late in drained.stderr
            assert 'There are pending pods in node "node-1" when an error occurred: ' in drained.stderr
            assert drained.returncode == 1


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = "error: no\nhint: yes"
    assert painted(text, is_terminal=True) == "\x1b[31merror:\x1b[0m no\n\x1b[36mhint:\x1b[0m yes"
    assert painted(text, is_terminal=False) == text
    monkeypatch.setenv("NO_COLOR", "1")
    assert painted(text, is_terminal=True) == text
