"""`doorman taint --reason --for` and `doorman get taints`."""

import json
from collections.abc import Iterator

import pytest

from support.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server"), "--nodes", "2") as running:
        yield running


def test_reason_and_span_are_shown(server: Server) -> None:
    done = server.doorman("taint", "nodes", "node-1", "disk=old:NoSchedule", "--reason", "new disks", "--for", "2h")
    assert (done.stdout, done.returncode) == ("node/node-1 tainted\n", 0)
    lines = server.doorman("get", "taints", "node-1").stdout.splitlines()
    assert lines[0].split() == ["NODE", "TAINT", "AGE", "BY", "MANAGER", "EXPIRES", "REASON"]
    assert "disk=old:NoSchedule" in lines[-1]
    assert "kubectl-taint" in lines[-1]
    assert lines[-1].endswith("new disks")
    (record,) = json.loads(server.doorman("get", "taints", "node-1", "-o", "json").stdout)
    assert record["reason"] == "new disks"
    assert record["expires"] > record["added"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["k:NoSchedule", "--for", "soon"], 'error: --for: time: invalid duration "soon"', id="no-span"),
        pytest.param(["k:NoSchedule", "--for", "-5s"], "error: --for must be more than nothing: -5s", id="negative"),
        pytest.param(["k-", "--reason", "x"], "error: --reason and --for need a taint to add", id="removal"),
    ],
)
def test_wrong_wishes_are_refused_before_anything_is_sent(server: Server, arguments: list[str], told: str) -> None:
    done = server.doorman("taint", "nodes", "node-2", *arguments)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == told


def test_no_taints_is_said_on_stderr(server: Server) -> None:
    done = server.doorman("get", "taints", "-l", "none=such")
    assert (done.stdout, done.stderr, done.returncode) == ("", "No taints found.\n", 0)
