"""snapshot, plan and failover on the command line: a live server is only read, bad input is one line and status 2."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from doorman.cli.main import main
from support.server import Server

MANIFESTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, env: [{name: PASSWORD, value: hunter2}]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {password: hunter2}
---
apiVersion: v1
kind: Secret
metadata: {name: settings}
stringData: {password: hunter2}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server"), "--nodes", "3") as running:
        assert running.doorman("apply", "-f", "-", stdin=MANIFESTS).returncode == 0
        ready = running.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
        assert ready.returncode == 0, ready.stderr
        yield running


@pytest.fixture(scope="module")
def file(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "cluster.jsonl"
    done = server.doorman("snapshot", "save", str(path))
    assert done.returncode == 0, done.stderr
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_saved_snapshot_is_plain_and_without_secrets(file: Path) -> None:
    header, *lines = file.read_text().splitlines()
    assert json.loads(header)["kind"] == "Snapshot"
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == sorted(kinds)
    assert {"Node", "Pod", "Deployment", "ReplicaSet", "Lease", "Namespace"} <= set(kinds)
    assert "hunter2" not in file.read_text()
    assert not {"Secret", "ConfigMap", "Event"} & set(kinds)


def test_plan_of_a_live_cluster_changes_nothing_and_says_what_then_happens(server: Server) -> None:
    before = server.kubectl("get", "pods,nodes", "-o", "json").stdout
    done = server.doorman("plan", "taint", "nodes", "node-1", "maintenance=yes:NoExecute", "-o", "json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    after = server.kubectl("get", "pods,nodes", "-o", "json").stdout
    assert _wishes(before) == _wishes(after)
    there = [one for one in json.loads(before)["items"] if one["spec"].get("nodeName") == "node-1"]
    assert sorted(move["name"] for move in plan["pods"]) == sorted(one["metadata"]["name"] for one in there)
    for move in plan["pods"]:
        assert (move["atSeconds"], move["because"]["taint"]) == (0.0, "maintenance=yes:NoExecute")
        assert move["owner"] == "Deployment/web"
        assert move["replacement"]["node"] in ("node-2", "node-3")


def _wishes(text: str) -> list[object]:
    return [(one["metadata"]["uid"], one["spec"].get("taints")) for one in json.loads(text)["items"]]


def test_taken_up_cluster_has_the_same_pods_in_the_same_places(file: Path, tmp_path: Path, server: Server) -> None:
    columns = "custom-columns=N:.metadata.name,U:.metadata.uid,NODE:.spec.nodeName,C:.metadata.creationTimestamp"
    before = server.kubectl("get", "pods", "-o", columns).stdout
    with Server(tmp_path, "--from", str(file)) as again:
        assert again.kubectl("get", "pods", "-o", columns).stdout == before
        assert again.kubectl("get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}").stdout == "4"
        assert again.kubectl("get", "nodes", "-o", "name").stdout.split() == [f"node/node-{n}" for n in (1, 2, 3)]


def test_dump_by_kubectl_is_taken_too(server: Server, tmp_path: Path) -> None:
    kinds = "nodes,pods,deployments,replicasets,namespaces,serviceaccounts"
    dump = tmp_path / "dump.yaml"
    dump.write_text(server.kubectl("get", kinds, "-A", "-o", "yaml").stdout)
    done = run("plan", "drain", "node-2", "--from", str(dump))
    assert done.exit_code == 0, done.output
    assert "plan: drain node-2" in done.output


def test_gzip_by_suffix_holds_the_same(server: Server, tmp_path: Path) -> None:
    packed = tmp_path / "cluster.jsonl.gz"
    assert server.doorman("snapshot", "save", str(packed), "--no-redact").returncode == 0
    assert b"PASSWORD" in gzip.decompress(packed.read_bytes()), "it was told to leave nothing out"
    assert run("plan", "lose", "--node", "node-1", "--from", str(packed)).exit_code == 0


def test_fail_on_ends_with_3_after_the_plan_was_told(file: Path) -> None:
    done = run("plan", "taint", "node-1", "k:NoExecute", "--from", str(file), "--fail-on", "pending,evictions")
    assert done.exit_code == 3
    assert "pods that leave" in done.output
    assert "failed on evictions" in done.output
    assert run("plan", "taint", "node-1", "k:NoSchedule", "--from", str(file), "--fail-on", "evictions").exit_code == 0


def test_compare_shows_two_plans(file: Path) -> None:
    done = run("plan", "taint", "--all", "k:NoExecute", "--from", str(file), "--compare", "-o", "json")
    found = json.loads(done.output)
    assert (found["kind"], found["before"]["summary"]["evicted"], found["after"]["summary"]["evicted"]) == (
        "PlanComparison", 0, 4,
    )  # fmt: skip
    sooner = ("--node-monitor-grace-period", "20s")
    grace = run("plan", "lose", "--node", "node-1", "--from", str(file), "--compare", *sooner)
    assert "as it is: lose node-1" in grace.output


def test_script_and_apply(file: Path, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text(MANIFESTS.split("---")[0].replace("replicas: 4", "replicas: 6"))
    script = tmp_path / "script.yaml"
    script.write_text(
        "apiVersion: doorman.dev/v1alpha1\nkind: Script\nsteps:\n"
        "- {at: 0s, apply: more.yaml}\n- {at: 1m, taint: {nodes: [node-1], taints: ['k:NoExecute']}}\n"
    )
    done = run("plan", "script", str(script), "--from", str(file), "-o", "json")
    assert done.exit_code == 0, done.output
    assert {move["atSeconds"] for move in json.loads(done.output)["pods"]} == {60.0}
    assert any("the snapshot is redacted" in note for note in json.loads(done.output)["notes"])
    scaled = run("plan", "apply", "-f", str(tmp_path / "more.yaml"), "--from", str(file), "-o", "json")
    assert json.loads(scaled.output)["summary"]["evicted"] == 0


def test_failover_of_a_workload(file: Path) -> None:
    done = run("failover", "deployment/web", "--from", str(file), "--target", "60s", "-o", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert [one["workload"] for one in found["failovers"]] == ["default/Deployment/web"]
    assert found["failovers"][0]["dominant"] == "toleration"
    assert found["proposals"]
    assert "whole within 1m0s" in run("failover", "web", "--from", str(file), "--target", "60s").output


OTHER_VERSION = '{"kind":"Snapshot","apiVersion":"doorman.dev/v1alpha1","version":9}'
BACKWARDS = """
apiVersion: doorman.dev/v1alpha1
kind: Script
steps: [{at: 5m, drain: {all: true}}, {drain: {all: true}}]
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["plan", "taint", "node-9", "k:NoExecute"], 'no node "node-9"', id="unknown-node"),
        pytest.param(["plan", "drain", "node-9"], 'no node "node-9"', id="drain-unknown-node"),
        pytest.param(["plan", "lose", "--zone", "nowhere"], 'no node is in zone "nowhere"', id="unknown-zone"),
        pytest.param(["plan", "lose"], "no nodes are chosen", id="nothing-to-lose"),
        pytest.param(["plan", "lose", "--node", "node-1", "--for", "soon"], "invalid duration", id="duration"),
        pytest.param(["plan", "taint", "node-1"], "at least one taint update is required", id="no-taint"),
        pytest.param(["plan", "taint", "node-1", "k:Never"], "invalid taint effect: Never", id="effect"),
        pytest.param(["plan", "taint", "node-1", "k:NoExecute-"], "not found", id="taint-that-is-not-there"),
        pytest.param(["plan", "drain", "node-1", "--horizon", "0s"], "horizon must be more than nothing", id="horizon"),
        pytest.param(["plan", "lose", "--node", "node-1", "--for", "0s"], "--for: 0s is no time at all", id="no-time"),
        pytest.param(["plan", "script", "@backwards"], "time goes backwards", id="backwards"),
        pytest.param(["plan", "script", "nope.yaml"], "cannot be read", id="no-script"),
        pytest.param(["plan", "script", "@binary"], "is no YAML", id="script-that-is-no-text"),
        pytest.param(["plan", "apply", "-f", "nope.yaml"], 'the path "nope.yaml" does not exist', id="no-manifest"),
        pytest.param(["plan", "apply", "-f", "@binary"], "error parsing", id="manifest-that-is-no-text"),
        pytest.param(["plan", "apply", "-f", "@words"], "without kind and apiVersion", id="no-object"),
        pytest.param(["plan", "apply", "-f", "@list"], "something else than objects", id="list-of-words"),
        pytest.param(["plan", "drain", "node-1", "--fail-on", "rain"], "nothing to fail on", id="fail-on"),
        pytest.param(
            ["plan", "drain", "node-1", "--compare", "-o", "html"], "--compare has no page", id="compare-html"
        ),
        pytest.param(["failover", "nope"], 'no workload "nope"', id="unknown-workload"),
        pytest.param(["failover", "web", "--target", "0s"], "--target must be more than nothing", id="target"),
    ],
)
def test_bad_input_is_one_line_with_a_hint_and_status_2(
    arguments: list[str], message: str, file: Path, tmp_path: Path
) -> None:
    texts = {
        "@backwards": BACKWARDS.encode(),
        "@binary": b"\x1f\x8b\xff",
        "@words": b"hello",
        "@list": b"{kind: List, apiVersion: v1, items: [hello]}",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    given = [str(tmp_path / argument) if argument in texts else argument for argument in arguments]
    done = run(*given, "--from", str(file))
    assert done.exit_code == 2
    lines = [line for line in done.output.splitlines() if not line.startswith(("Usage:", "Try "))]
    told = [line for line in lines if line]
    assert message in told[0]
    assert len(told) == 2
    assert told[1].startswith("hint: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(OTHER_VERSION, "is a snapshot of another version", id="version"),
        pytest.param("@without-node", "references lead nowhere: Pod default/web", id="broken-reference"),
        pytest.param("hello", "neither a snapshot nor a dump", id="text"),
    ],
)
def test_file_that_cannot_be_taken_up_is_one_line_with_a_hint(
    text: str, message: str, file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl"
    if text == "@without-node":
        header, *lines = file.read_text().splitlines()
        kept = [line for line in lines if not (json.loads(line)["kind"] == "Node" and '"node-1"' in line)]
        text = "\n".join([json.dumps({**json.loads(header), "objects": len(kept)}), *kept])
    broken.write_text(text)
    for command in (("plan", "drain", "node-2"), ("failover", "web"), ("up", "--in-memory")):
        done = run(*command, "--from", str(broken))
        assert done.exit_code == 2, done.output
        told = [line for line in done.output.splitlines() if line and not line.startswith(("Usage:", "Try "))]
        assert message in told[0]
        assert told[1].startswith("hint: ")


def test_data_directory_that_holds_a_cluster_is_not_written_over(file: Path, tmp_path: Path) -> None:
    with Server(tmp_path, in_memory=False):
        pass
    with pytest.raises(AssertionError, match="the store holds a cluster already"):
        Server(tmp_path, "--from", str(file), in_memory=False)


def test_taken_up_cluster_is_kept_in_a_data_directory(file: Path, tmp_path: Path) -> None:
    with Server(tmp_path, "--from", str(file), in_memory=False) as first:
        uids = first.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.uid}").stdout
    with Server(tmp_path, "--nodes", "0", in_memory=False) as second:
        assert second.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.uid}").stdout == uids
    assert uids
