"""`doorman up --clock` and `doorman clock`: what people see of a clock that they move."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server, fetch

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("clock"), "--nodes", "2", "--clock=virtual") as running:
        yield running


@pytest.mark.kubectl
def test_kubectl_sees_ages_events_and_evictions_move(server: Server) -> None:
    before = server.doorman("clock").stdout
    assert before.endswith("  virtual, stands still\n")
    assert server.doorman("clock").stdout == before
    assert server.kubectl("apply", "-f", str(EXAMPLES / "pod-that-stays-a-while.yaml")).returncode == 0
    assert server.kubectl("taint", "nodes", "--all", "maintenance:NoExecute").returncode == 0
    server.doorman("clock", "advance", "59s")
    assert server.kubectl("get", "pods", "--no-headers").stdout.split() == ["patient", "1/1", "Running", "0", "59s"]
    moved = server.doorman("clock", "advance", "1s")
    assert moved.stderr == ""
    assert server.kubectl("get", "pods", "--no-headers").stdout == ""
    server.doorman("clock", "advance", "10m")
    events = server.kubectl("get", "events", "--no-headers", "--field-selector", "reason=TaintManagerEviction").stdout
    assert events.split()[:4] == ["10m", "Normal", "TaintManagerEviction", "pod/patient"]


def test_run_until_idle_goes_as_far_as_something_is_due_and_no_further_than_its_limit(server: Server) -> None:
    server.doorman("taint", "nodes", "node-1", "patch:NoSchedule", "--for", "3h")
    idle = server.doorman("clock", "run-until-idle")
    assert idle.returncode == 0
    assert "last change" in idle.stdout
    taints = json.loads(fetch(server, "GET", "/api/v1/nodes/node-1")[2])["spec"].get("taints", [])
    assert "patch" not in [taint["key"] for taint in taints]
    assert server.doorman("clock", "run-until-idle").stdout == idle.stdout
    server.doorman("taint", "nodes", "node-1", "patch:NoSchedule", "--for", "3h")
    busy = server.doorman("clock", "run-until-idle", "--limit", "1h")
    assert busy.returncode == 1
    assert "error: not idle within 1h" in busy.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["advance", "soon"], 'time: invalid duration "soon"', id="no-duration"),
        pytest.param(["advance", "0s"], "must be more than nothing", id="nothing"),
        pytest.param(["advance", "--", "-5m"], "must be more than nothing", id="backwards"),
        pytest.param(["run-until-idle", "--quiet", "0s"], "--quiet must be more than nothing", id="quiet"),
    ],
)
def test_bad_spans_exit_2(server: Server, arguments: list[str], told: str) -> None:
    done = server.doorman("clock", *arguments)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize(
    ("method", "body", "code"),
    [
        ("POST", b"{}", 400),
        ("POST", b"[", 400),
        ("POST", b'{"advance":"x"}', 400),
        ("POST", b'{"advance":"-1s"}', 400),
        ("POST", b'{"advanceTo":"tomorrow"}', 400),
        ("POST", b'{"unknown":1}', 400),
        ("PUT", b"{}", 405),
    ],
)
def test_bad_requests_get_a_status(server: Server, method: str, body: bytes, code: int) -> None:
    status, _, answer = fetch(server, method, "/doorman/clock", body=body)
    assert status == code
    assert b'"kind":"Status"' in answer


def test_who_may_not_is_refused(server: Server) -> None:
    assert fetch(server, "POST", "/doorman/clock", body=b'{"advance":"1s"}', token=None)[0] == 403


def test_stores_of_the_two_kinds_of_clock_do_not_mix(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "1", "--clock=virtual", in_memory=False) as first:
        then = first.doorman("clock", "advance", "10m").stdout
    refused = up("--data-dir", str(tmp_path / "data"))
    assert refused.returncode == 2
    assert "was written on a virtual clock" in refused.stderr
    with Server(tmp_path, "--nodes", "1", "--clock=virtual", in_memory=False) as again:
        assert again.doorman("clock").stdout == then


def test_server_in_real_time_is_not_moved(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "0", in_memory=False) as real:
        assert real.doorman("clock").stdout.endswith("  real\n")
        refused = real.doorman("clock", "advance", "5m")
        assert refused.returncode == 2
        assert "hint: doorman up --clock=virtual" in refused.stderr
    refused = up("--data-dir", str(tmp_path / "data"), "--clock=virtual")
    assert refused.returncode == 2
    assert "was written in real time" in refused.stderr


def test_clock_with_a_rate_goes_by_itself(tmp_path: Path) -> None:
    with Server(tmp_path, "--nodes", "1", "--clock=1000x") as fast:
        first = fast.doorman("clock").stdout
        assert first.endswith("  virtual, 1000x\n")
        assert fast.doorman("clock").stdout > first


@pytest.mark.parametrize("value", ["fast", "0x", "-1x", "60", "1e9x", ""])
def test_clocks_that_are_none(value: str) -> None:
    refused = up(f"--clock={value}")
    assert refused.returncode == 2
    assert "is no clock" in refused.stderr


def test_clock_and_etcd_exclude_each_other() -> None:
    refused = up("--clock=virtual", "--etcd-servers=http://127.0.0.1:1")
    assert refused.returncode == 2
    assert "--clock and --etcd-servers exclude each other" in refused.stderr


def up(*flags: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "doorman", "up", "--secure-port", "0", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)
