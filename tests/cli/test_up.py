"""`doorman up`: the contract tools rely on, and what it says when something is in the way."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from doorman.cli.up import command, settings_of
from doorman.runtime.settings import Settings
from support.server import Server, fetch


def up(*flags: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "doorman", "up", *flags], capture_output=True, text=True, timeout=30, env=os.environ
    )


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        pytest.param(["--nope"], "No such option", id="unknown-flag"),
        pytest.param(["--nodes", "many"], "'many' is not a valid integer", id="malformed-number"),
        pytest.param(["--nodes", "-1"], "-1 is not in the range", id="negative-nodes"),
        pytest.param(["--secure-port", "70000"], "70000 is not in the range", id="port-out-of-range"),
        pytest.param(["--node-monitor-period", "5x"], 'unknown unit "x" in duration "5x"', id="malformed-duration"),
        pytest.param(["--feature-gates", "Nope=true"], "unrecognized feature gate: Nope", id="unknown-gate"),
        pytest.param(["--feature-gates", "TaintBasedEvictions=false"], "locked to true", id="locked-gate"),
        pytest.param(["--controllers", "*,-nope"], '"nope" is not in the list', id="unknown-controller"),
        pytest.param(["--enable-admission-plugins", "Nope"], 'plugin "Nope" is unknown', id="unknown-plugin"),
        pytest.param(["--node-monitor-period", "0s"], "--node-monitor-period must be more than 0", id="no-period"),
        pytest.param(["--node-monitor-period=-5s"], "--node-monitor-period must be more than 0", id="negative-period"),
        pytest.param(["--unhealthy-zone-threshold", "7"], "must be between 0 and 1", id="threshold-out-of-range"),
        pytest.param(["--node-eviction-rate=-1"], "--node-eviction-rate must be 0 or more", id="negative-rate"),
        pytest.param(["--nodes", "5", "--nodes-config", "x"], "exclude each other", id="two-kinds-of-nodes"),
        pytest.param(["--in-memory", "--data-dir", "x"], "exclude each other", id="contradiction"),
    ],
)
def test_bad_flags_exit_2_and_say_why(flags: list[str], complaint: str) -> None:
    done = up(*flags)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "hint:" in done.stderr or "Try 'doorman up --help'" in done.stderr
    assert done.stdout == ""


def test_flags_of_kube_controller_manager_are_taken_with_their_defaults() -> None:
    def settings(*flags: str) -> Settings:
        return settings_of(command.make_context("up", ["--in-memory", *flags]).params)

    assert settings() == Settings(data_dir=None)
    told = settings(
        "--controllers=*,-nodelifecycle",
        "--terminated-pod-gc-threshold=7",
        "--feature-gates=NodeControllerLeaseCircuitBreaker=false",
        "--node-monitor-grace-period=1m30s",
        "--large-cluster-size-threshold=4",
    )
    assert told.controllers == ("*", "-node-lifecycle-controller")
    assert told.pod_gc.terminated_pod_gc_threshold == 7
    assert told.gates.lease_circuit_breaker is False
    assert told.node_lifecycle.node_monitor_grace_period_seconds == 90.0
    assert told.node_lifecycle.large_cluster_size_threshold == 4


def test_admission_configuration_is_checked_and_used(tmp_path: Path) -> None:
    own = {
        "apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1",
        "kind": "Configuration",
        "default": [{"key": "team", "operator": "Exists"}],
    }
    whole = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
    file, other = tmp_path / "admission.yaml", tmp_path / "own.yaml"
    file.write_text(json.dumps({**whole, "plugins": [{"name": "PodTolerationRestriction", "path": "own.yaml"}]}))
    done = up("--admission-control-config-file", str(file))
    assert done.returncode == 2
    assert "own.yaml: No such file or directory" in done.stderr
    other.write_text(json.dumps({**own, "default": [{"operator": "Equal"}]}))
    done = up("--admission-control-config-file", str(file))
    assert done.returncode == 2
    assert "invalid config: podtolerationrestriction.default[0].operator: Invalid value" in done.stderr
    other.write_text(json.dumps(own))
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    with Server(tmp_path, "--nodes", "0", "--admission-control-config-file", str(file)) as server:
        body = json.dumps({"apiVersion": "v1", "kind": "Pod", **pod}).encode()
        status, _, raw = fetch(server, "POST", "/api/v1/namespaces/default/pods", body=body)
        assert status == 201, raw
        assert [one["key"] for one in json.loads(raw)["spec"]["tolerations"]][-1] == "team"


def test_ready_line_names_address_and_private_kubeconfig(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        word, address, kubeconfig = server.ready_line.split()
        assert word == "ready"
        assert address.startswith("https://127.0.0.1:")
        assert kubeconfig == f"kubeconfig={server.kubeconfig}"
        assert stat.S_IMODE(server.kubeconfig.stat().st_mode) == 0o600


def test_sigterm_stops_within_two_seconds_with_status_0(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert server.stop(signal.SIGTERM, seconds_max=2) == 0


def test_interrupt_stops_with_status_0(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert server.stop(signal.SIGINT, seconds_max=2) == 0


def test_port_in_use_exits_1_and_says_so(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = up("--in-memory", "--secure-port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert "Address already in use" in done.stderr
    assert "hint: give another port with --secure-port" in done.stderr


def test_address_of_another_machine_exits_1_and_says_so() -> None:
    done = up("--in-memory", "--secure-port", "0", "--bind-address", "192.0.2.1")
    assert done.returncode == 1
    assert "cannot listen on 192.0.2.1:0" in done.stderr
    assert "hint: give an address of this machine with --bind-address" in done.stderr


def test_second_up_on_one_data_directory_names_the_holder(tmp_path: Path) -> None:
    with Server(tmp_path, in_memory=False) as server:
        done = up("--data-dir", str(tmp_path / "data"), "--secure-port", "0")
        assert done.returncode == 1
        assert f"in use by process {server.process.pid}" in done.stderr


def test_data_directory_that_cannot_be_made_exits_1(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = up("--data-dir", str(tmp_path / "file" / "below"), "--secure-port", "0")
    assert done.returncode == 1
    assert "cannot use the data directory" in done.stderr
    assert "hint:" in done.stderr


def test_corrupt_database_exits_1_and_is_left_as_it_was(tmp_path: Path) -> None:
    broken = tmp_path / "store.db"
    broken.write_bytes(b"not a database " * 1000)
    done = up("--data-dir", str(tmp_path), "--secure-port", "0")
    assert done.returncode == 1
    assert "is damaged" in done.stderr
    assert broken.read_bytes().startswith(b"not a database ")


def test_everything_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    body = json.dumps({"metadata": {"name": "kept"}, "data": {"a": "1"}}).encode()
    path = "/api/v1/namespaces/default/configmaps"
    with Server(tmp_path, "--nodes", "1", in_memory=False) as server:
        assert fetch(server, "POST", path, body=body)[0] == 201
        before = json.loads(fetch(server, "GET", f"{path}/kept")[2])
        token = server.kubeconfig.read_text()
        server.stop(signal.SIGKILL)
    with Server(tmp_path, "--nodes", "1", in_memory=False) as server:
        assert json.loads(fetch(server, "GET", f"{path}/kept")[2]) == before
        assert server.kubeconfig.read_text().partition("token:")[2] == token.partition("token:")[2]
        nodes = json.loads(fetch(server, "GET", "/api/v1/nodes")[2])["items"]
        assert [node["metadata"]["name"] for node in nodes] == ["node-1"]


def test_zero_nodes_means_none(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0") as server:
        assert json.loads(fetch(server, "GET", "/api/v1/nodes")[2])["items"] == []


def test_scheduler_plugin_that_is_not_installed_exits_2_and_says_how(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {enabled: [{name: Elsewhere}]}}}]\n"
    )
    done = up("--in-memory", "--config", str(file))
    assert done.returncode == 2
    assert "plugin Elsewhere does not exist" in done.stderr
    assert "hint: a plugin of somebody else must be installed" in done.stderr


def test_nodes_that_were_removed_do_not_come_back(tmp_path: Path) -> None:
    with Server(tmp_path, in_memory=False) as server:
        assert names_of_nodes(server) == ["node-1", "node-2", "node-3"]
        server.kubectl("delete", "node", "node-2")
        server.doorman("node", "add", "other")
    with Server(tmp_path, in_memory=False) as server:
        assert names_of_nodes(server) == ["node-1", "node-3", "other"]
    with Server(tmp_path, "--nodes", "2", in_memory=False) as server:
        assert names_of_nodes(server) == ["node-1", "node-2", "node-3", "other"], "who asks for them gets them"


def names_of_nodes(server: Server) -> list[str]:
    return server.kubectl("get", "nodes", "-o", "name").stdout.replace("node/", "").split()
