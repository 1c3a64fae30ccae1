"""What kubectl also does is said in its words: the same command lines, given to both."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from doorman.cli.error_output import painted
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
    "taint nodes node-2 a=b:NoSchedule --dry-run",
    "taint nodes node-2 a=b:NoSchedule --overwrite=maybe",
    "get nodes --no-headers=true",
    "get nodes --no-headers=false --show-labels=f",
    "get nodes --as=joe",
    "get nodes --as=joe --as-group=system:masters --as-group=more",
    "get nodes --as-group=more",
    "get nodes --request-timeout=soon",
    "get nodes --request-timeout=20",
    "get pod web -A",
    "get node node-1 -A",
    "describe pod web -A",
    "delete pod web -A",
    "get nodes --show-kind",
    "get nodes --subresource=status",
    "get node node-1 --subresource=status",
    "get node node-1 --subresource=nope",
    "get nodes -o jsonpath-as-json={.items[*].metadata.name}",
    "get nodes -o jsonpath-file",
    "get nodes --raw /healthz",
    "get nodes --output-watch-events",
    "get nodes -w --output-watch-events --request-timeout=1",
    "get nodes --watch-only --request-timeout=1",
    "get -f /nope.yaml",
    "delete pod web --dry-run=client",
    "delete pod web --dry-run=server",
    "delete pod web --dry-run=client -o name",
    "delete pod web --dry-run=client -o yaml",
    "delete pod web --force --dry-run=server",
    "delete pod/web node/node-1 --dry-run=client",
    "delete pods,nodes --all --dry-run=client",
    "delete pods --field-selector metadata.name=web --dry-run=client",
    "delete pods --all -A --dry-run=client",
    "delete pods --all -l a=b",
    "delete pods",
    "delete pod web --cascade=nope",
    "delete pod web --now --grace-period=3",
    "delete pod web --force --grace-period=3",
    "version -o nope",
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
    text = re.sub(r"^W\d+ .*?\] (--dry-run is)", r"Warning: \1", text, flags=re.MULTILINE)
    text = re.sub(r"(deleted) from \w+ namespace", r"\1", text)  # since 1.33
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
@pytest.mark.parametrize("line", ["get pods --no-headers", "get nodes,pods --no-headers", "get nodes,pods"])
def test_columns_are_as_wide_as_kubectl_s(server: Server, line: str) -> None:
    """The server's clock stands still, so that ages are kubectl's own affair."""
    theirs, ours = server.kubectl(*line.split()), server.doorman(*line.split())
    assert [AGE.sub("", row).rstrip() for row in ours.stdout.splitlines()] == [
        AGE.sub("", row).rstrip() for row in theirs.stdout.splitlines()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("formatted", ["go-template={{.kind}}", "go-template-file=x", "kyaml"])
def test_what_only_kubectl_prints_is_said(server: Server, formatted: str) -> None:
    ours = server.doorman("get", "nodes", "-o", formatted)
    assert "is not supported here\nhint: " in ours.stderr
    assert (ours.stdout, ours.returncode) == ("", 1)


@pytest.mark.slow
def test_objects_and_templates_from_files(server: Server, tmp_path: Path) -> None:
    manifest, columns, template = tmp_path / "web.yaml", tmp_path / "columns", tmp_path / "template"
    manifest.write_text(server.kubectl("get", "pod", "web", "-o", "yaml").stdout)
    columns.write_text("NAME  ON\nmetadata.name .spec.nodeName\n")
    template.write_text("{.metadata.name} is on {.spec.nodeName}")
    for words in (
        ["get", "-f", str(manifest)],
        ["get", "-f", str(manifest), "-n", "kube-system"],
        ["get", "-f", str(manifest), "-o", f"custom-columns-file={columns}"],
        ["get", "pod", "web", "-o", f"jsonpath-file={template}"],
        ["get", "pod", "web", "-o", "jsonpath-file=/nope"],
        ["wait", "-f", str(manifest), "--for=condition=Ready"],
        ["delete", "-f", str(manifest), "--dry-run=client"],
    ):
        theirs, ours = server.kubectl(*words), server.doorman(*words)
        assert (told(ours.stdout), told(ours.stderr)) == (told(theirs.stdout), told(theirs.stderr)), words
    assert server.doorman("describe", "-f", str(manifest)).stdout == server.doorman("describe", "pod/web").stdout


@pytest.mark.slow
def test_another_server_is_named(server: Server) -> None:
    ours = server.doorman("get", "nodes", "-s", "https://127.0.0.1:1")
    assert "The connection to the server 127.0.0.1:1 was refused" in ours.stderr
    assert server.doorman("get", "nodes", "-s", server.address).returncode == 0


@pytest.mark.slow
def test_delete_waits_until_it_is_gone(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "1") as server:
        for name, seconds in (("slow", "25s"), ("web", "1s")):
            made = server.kubectl("run", name, "--image=i", f"--annotations=doorman.dev/termination={seconds}")
            assert made.returncode == 0, made.stderr
        assert server.kubectl("wait", "pod", "--all", "--for=condition=Ready").returncode == 0
        late = server.doorman("delete", "pod", "slow", "--timeout=1ms")
        assert (late.returncode, late.stderr) == (1, "error: timed out waiting for the condition on pods/slow\n")
        assert server.doorman("delete", "pod", "web").returncode == 0
        assert "not found" in server.doorman("get", "pod", "web").stderr
        assert server.doorman("delete", "pod", "slow", "--force").returncode == 0
        assert "not found" in server.doorman("get", "pod", "slow").stderr


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
