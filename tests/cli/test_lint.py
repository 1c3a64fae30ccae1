"""`doorman lint` on files, snapshots and a cluster: what it prints and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.server import Server

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      tolerations:
        - key: gpu
          value: h100
        - operator: Exists
          effect: NoSchedule
      containers:
        - {name: web, image: registry.k8s.io/pause:3.10}
"""


def lint(*arguments: str, stdin: str = "", folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "doorman", "lint", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, cwd=folder)


def test_findings_are_printed_with_their_place_and_exit_1(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    done = lint("web.yaml", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout == (
        "web.yaml:15:11: DM004 Deployment web: operator Exists without a key tolerates every taint with effect "
        "NoSchedule, cordons and failures included (tolerates-everything)\n"
        "1 finding in 1 object; `doorman lint --explain DM004` says why and how to fix\n"
    )
    assert lint(".", folder=tmp_path).stdout == done.stdout
    quiet = lint("web.yaml", "--ignore", "DM004", folder=tmp_path)
    assert (quiet.returncode, quiet.stdout) == (0, "no findings in 1 object\n")
    assert lint("-", "--select", "tolerates-everything,DM001", stdin=WEB).stdout.startswith(
        "standard input:15:11: DM004"
    )
    said = WEB.replace("- operator: Exists", "- operator: Exists # doorman: ignore DM004")
    assert lint("-", stdin=said).returncode == 0


def test_reports_for_machines(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    found = json.loads(lint("web.yaml", "-o", "json", folder=tmp_path).stdout)
    assert (found["kind"], found["summary"]) == ("LintReport", {"objects": 1, "findings": 1})
    assert found["findings"][0]["path"] == "spec.template.spec.tolerations[1]"
    sarif = json.loads(lint("web.yaml", "-o", "sarif", folder=tmp_path).stdout)
    (run,) = sarif["runs"]
    (result,) = run["results"]
    assert sarif["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "DM004"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "web.yaml"},
        "region": {"startLine": 15, "startColumn": 11},
    }
    github = lint("web.yaml", "-o", "github", folder=tmp_path).stdout
    assert github.startswith(
        "::warning file=web.yaml,line=15,col=11,title=DM004 tolerates-everything::Deployment web: "
    )
    assert lint("-", "-o", "github", stdin="a: b").stdout == ""


def test_cluster_and_dump_are_linted_and_files_are_held_against_them(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    with Server(tmp_path, "--nodes", "2") as server:
        assert server.doorman("taint", "nodes", "node-2", "gpu=a100:NoSchedule").returncode == 0
        assert server.doorman("apply", "-f", str(tmp_path / "web.yaml")).returncode == 0
        dump = server.doorman("get", "nodes", "-o", "yaml").stdout
        found = lint("--kubeconfig", str(server.kubeconfig), "-o", "json")
        held = lint("web.yaml", "--kubeconfig", str(server.kubeconfig), "--select", "DM001", folder=tmp_path)
    findings = json.loads(found.stdout)["findings"]
    assert [(one["rule"], one["object"]) for one in findings] == [
        ("DM001", "Deployment default/web"),
        ("DM004", "Deployment default/web"),
    ]
    assert "file" not in findings[0]
    assert held.stdout.startswith(
        "web.yaml:13:11: DM001 Deployment web: gpu=h100 matches no taint of the 2 nodes; there is gpu=a100:NoSchedule"
    )
    (tmp_path / "nodes.yaml").write_text(dump)
    again = lint("web.yaml", "--from", "nodes.yaml", "--select", "DM001", folder=tmp_path)
    assert again.stdout == held.stdout
    from_dump = lint("--from", "nodes.yaml", folder=tmp_path)
    assert from_dump.returncode == 0, from_dump.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param([], "error: nothing to lint\nhint: give files", id="nothing"),
        pytest.param(["nowhere.yaml"], "nowhere.yaml cannot be read: No such file or directory", id="no-file"),
        pytest.param(["-", "--select", "DM999"], 'there is no rule "DM999"', id="no-rule"),
        pytest.param(["-"], "standard input: while parsing", id="no-yaml"),
        pytest.param(["--kubeconfig", "nowhere"], "stat nowhere: no such file or directory", id="no-kubeconfig"),
        pytest.param(["--from", "nowhere"], "nowhere cannot be read", id="no-snapshot"),
    ],
)
def test_errors_exit_2(arguments: list[str], told: str, tmp_path: Path) -> None:
    done = lint(*arguments, stdin="a: [", folder=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 2


def test_rules_are_listed_and_explained() -> None:
    listed = lint("--rules").stdout.splitlines()
    assert listed[3].split()[:2] == ["DM004", "tolerates-everything"]
    explained = lint("--explain", "DM004").stdout
    assert "\nFix: " in explained


def test_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    (tmp_path / "chart.yaml").write_text("a: {{ .Values.x }}\nb: [")
    done = lint(".", folder=tmp_path)
    assert done.returncode == 2
    assert "web.yaml:15:11: DM004" in done.stdout
    assert done.stderr.startswith("error: chart.yaml: while ")
    assert "helm template" in done.stderr
