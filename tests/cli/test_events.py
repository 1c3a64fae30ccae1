"""`doorman events` lists what `kubectl events` lists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server

AGE = re.compile(r"\b(\d+[smhd])+\b")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("events")
    with Server(folder, "--nodes", "1") as running:
        running.kubectl("run", "web", "--image=nginx")
        running.kubectl("run", "big", "--image=nginx", '--overrides={"spec":{"nodeSelector":{"no":"where"}}}')
        for pod, condition in (("web", "condition=Ready"), ("big", "jsonpath={.status.conditions[0].reason}")):
            waited = running.kubectl("wait", f"pod/{pod}", f"--for={condition}", "--timeout=30s")
            assert waited.returncode == 0, waited.stderr
        yield running


def cells(text: str) -> list[list[str]]:
    return [AGE.sub("AGE", line).split() for line in text.splitlines()]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-A"],
        ["--for", "pod/web"],
        ["--for", "pod/web", "--no-headers"],
        ["--types", "Warning"],
        ["--types", "normal,WARNING"],
        ["-n", "kube-system"],
        ["--types", "Strange"],
        ["--for", "web"],
    ],
)
def test_says_what_kubectl_says(server: Server, arguments: list[str]) -> None:
    ours, theirs = server.doorman("events", *arguments), server.kubectl("events", *arguments)
    assert (cells(ours.stdout), ours.stderr, ours.returncode) == (
        cells(theirs.stdout),
        theirs.stderr,
        theirs.returncode,
    )


def test_objects_are_printed_whole(server: Server) -> None:
    ours = server.doorman("events", "--for", "pod/big", "-o", "yaml")
    assert "reason: FailedScheduling" in ours.stdout
