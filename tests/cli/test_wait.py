"""`doorman wait` says what `kubectl wait` says, and ends as it ends."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server

LOGGED = re.compile(r"[EIW]\d{4} ")
"""What kubectl's libraries have to say of a watch that is slow."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("wait")
    with Server(folder, "--nodes", "2") as running:
        running.kubectl("run", "web", "--image=nginx", "--labels=app=web")
        running.kubectl("create", "deployment", "api", "--image=x", "--replicas=2")
        waited = running.kubectl("wait", "deploy/api", "--for=condition=Available", "--timeout=30s")
        assert waited.returncode == 0, waited.stderr
        yield running


@pytest.mark.parametrize(
    "arguments",
    [
        ["pod/web", "--for=condition=Ready"],
        ["pod", "web", "--for=condition=ready=TRUE"],
        ["nodes", "--all", "--for=condition=Ready"],
        ["pod/web", "node/node-1", "--for=condition=Ready"],
        ["pods", "-l", "app=web", "--for=condition=Ready"],
        ["pods", "-l", "app=none", "--for=condition=Ready"],
        ["pods", "-l", "app=none", "--for=delete"],
        ["pod/web", "--for=condition=Ready=false", "--timeout=1s"],
        ["pod/web", "--for=condition=Nope", "--timeout=0"],
        ["pod/web", "--for=jsonpath={.status.phase}=Running"],
        ["pod/web", "--for=jsonpath={.status.podIP}"],
        ["pod/web", "--for=jsonpath={.status.phase}=Failed", "--timeout=1s"],
        ["pod/web", "--for=jsonpath={.status.phase}="],
        ["deploy/api", "--for=jsonpath={.status.readyReplicas}=2"],
        ["pod/nope", "--for=condition=Ready"],
        ["pod/nope", "--for=delete"],
        ["pod/web", "--for=delete", "--timeout=1s"],
        ["pod/web", "--for=create"],
        ["pod/late", "--for=create", "--timeout=1s"],
        ["pod/web", "--for=bogus"],
        ["pod/web", "--for=condition=Ready", "-o", "name"],
    ],
)
def test_says_what_kubectl_says(server: Server, arguments: list[str]) -> None:
    ours, theirs = server.doorman("wait", *arguments), server.kubectl("wait", *arguments)
    assert (ours.stdout, ours.returncode) == (theirs.stdout, theirs.returncode)
    assert ours.stderr == "".join(line for line in theirs.stderr.splitlines(True) if not LOGGED.match(line))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pod/web"], "unrecognized condition: []"),
        (["--for=delete"], "You must provide one or more resources"),
        (["pods", "--for=delete"], "no name was specified"),
        (["nope/x", "--for=delete"], "resource type"),
        (["pod/web", "--for=delete", "--timeout=soon"], "durations look like"),
    ],
)
def test_what_cannot_be_waited_for_is_told(server: Server, arguments: list[str], words: str) -> None:
    found = server.doorman("wait", *arguments)
    assert found.returncode in (1, 2)
    assert words in found.stderr


def test_waits_for_what_comes_later(server: Server) -> None:
    waiting = server.start_doorman("wait", "pod/soon", "--for=create", "--timeout=60s")
    try:
        server.kubectl("run", "soon", "--image=nginx")
        out, error = waiting.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        waiting.kill()
        raise
    assert (out, error, waiting.returncode) == ("pod/soon condition met\n", "", 0)
    gone = server.start_doorman("wait", "pod/soon", "--for=delete", "--timeout=60s")
    server.kubectl("delete", "pod", "soon")
    out, error = gone.communicate(timeout=60)
    assert gone.returncode == 0, error
