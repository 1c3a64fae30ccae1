"""Clusters in the background: `up --detach`, `status`, `logs`, `kubeconfig`, `down`; completion and versions."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("KUBECONFIG", None)

    def doorman(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "doorman", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)

    yield doorman
    for name in ("default", "a", "b"):
        doorman("down", "--name", name)


def test_clusters_run_beside_each_other_and_are_stopped_by_name(run: Run) -> None:
    assert (run("status").returncode, run("down").returncode) == (1, 1)
    started = run("up", "--detach", "--name", "a", "--nodes", "1")
    assert started.returncode == 0, started.stderr
    assert run("up", "-d", "--name", "b", "--nodes", "0").returncode == 0
    again = run("up", "-d", "--name", "a")
    assert "runs already" in again.stdout
    shown = run("status")
    assert shown.returncode == 0
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert [row[:2] for row in rows] == [["NAME", "STATUS"], ["a", "Running"], ["b", "Running"]]
    file = run("kubeconfig", "--name", "a", "--path").stdout.strip()
    nodes = run("get", "nodes", "-o", "name", "--kubeconfig", file)
    assert nodes.stdout == "node/node-1\n", nodes.stderr
    assert "current-context: doorman-a\n" in run("kubeconfig", "--name", "a").stdout
    assert "kubectl get nodes" in run("logs", "--name", "a").stdout
    assert run("down", "--name", "a").stdout == 'cluster "a" stopped\n'
    assert [line.split()[:2] for line in run("status").stdout.splitlines()[1:]] == [["a", "Stopped"], ["b", "Running"]]
    assert run("status", "--name", "a").returncode == 1
    back = run("up", "-d", "--name", "a")
    assert back.returncode == 0, back.stderr
    assert run("get", "nodes", "-o", "name", "--kubeconfig", file).stdout == "node/node-1\n", (
        "it goes on with what it had"
    )


def test_clusters_share_a_kubeconfig_under_names_of_their_own(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("current-context: prod\ncontexts: [{name: prod, context: {cluster: prod, user: prod}}]\n")
    first = run("up", "-d", "--name", "a", "--nodes", "1", "--kubeconfig-out", str(file))
    note = 'note: the current context is "doorman-a" now; `kubectl config use-context prod` goes back\n'
    assert (first.returncode, first.stderr.startswith(note)) == (0, True), first.stderr
    assert run("up", "-d", "--name", "b", "--nodes", "0", "--kubeconfig-out", str(file)).returncode == 0
    assert "current-context: doorman-b\n" in file.read_text()
    nodes = run("get", "nodes", "-o", "name", "--kubeconfig", str(file), "--context", "doorman-a")
    assert nodes.stdout == "node/node-1\n", nodes.stderr


def test_server_that_does_not_start_says_why(run: Run) -> None:
    failed = run("up", "-d", "--name", "a", "--bind-address", "192.0.2.1")
    assert failed.returncode == 1
    assert "cannot listen on 192.0.2.1" in failed.stderr
    assert run("up", "-d", "--name", "Not a name").returncode == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_that_shell(run: Run, shell: str) -> None:
    printed = run("completion", shell)
    assert printed.returncode == 0
    assert "_DOORMAN_COMPLETE" in printed.stdout
    assert f"{shell}_complete" in printed.stdout


def test_version_of_the_program_needs_no_server(run: Run) -> None:
    assert run("version", "--client").stdout.startswith("Doorman Version: ")
