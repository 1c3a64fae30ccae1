"""`doorman get` says what kubectl says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("get")
    with Server(folder, "--nodes", "2", "--controllers=*,-taint-eviction-controller") as running:
        for name, labels in (("b", "app=x,tier=1"), ("a", "app=y")):
            made = running.kubectl("create", "configmap", name, "--from-literal=k=v")
            assert made.returncode == 0, made.stderr
            running.kubectl("label", "configmap", name, *labels.split(","))
        yield running


@pytest.mark.parametrize(
    "arguments",
    [
        ["configmaps", "a", "b", "-o", "name"],
        ["cm/a", "cm/b", "-o", "name"],
        ["cm/a", "node/node-1", "-o", "name"],
        ["cm,nodes", "-o", "name"],
        ["cm", "a", "-o", "jsonpath={.data.k}"],
        ["cm", "-o", 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}'],
        ["cm", "-l", "app=x", "-o", "jsonpath={.items[*].metadata.labels.tier}"],
        ["cm", "-o", "custom-columns=NAME:.metadata.name,TIER:.metadata.labels.tier"],
        ["cm", "-o", "custom-columns=NAME:.metadata.name", "--no-headers"],
        ["cm", "-o", "name", "--sort-by", ".metadata.labels.app"],
        ["cm", "a", "b", "--no-headers", "-o", "custom-columns=:.metadata.name"],
        ["cm", "-o", "custom-columns=:.metadata.name"],
        ["cm", "-o", "custom-columns=:.metadata.name,KIND:.kind"],
        ["cm", "-o", "custom-columns=NAME:.metadata.name,:.kind"],
        ["cm", "-o", "custom-columns=NAME:"],
        ["cm", "-o", "custom-columns=NAME"],
    ],
)
def test_prints_what_kubectl_prints(server: Server, arguments: list[str]) -> None:
    ours, theirs = server.doorman("get", *arguments), server.kubectl("get", *arguments)
    assert (ours.stdout, ours.returncode) == (theirs.stdout, theirs.returncode), ours.stderr


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.parametrize(
    "arguments",
    [
        ["cm", "--show-labels"],
        ["cm,nodes"],
        ["node/node-1"],
        ["cm", "--no-headers"],
        ["cm", "a", "b"],
        ["nodes", "-o", "wide"],
    ],
)
def test_tables_have_kubectl_s_cells(server: Server, arguments: list[str]) -> None:
    ours, theirs = server.doorman("get", *arguments), server.kubectl("get", *arguments)
    without_age = [[cell for cell in row if not cell.rstrip("smhd").isdigit()] for row in cells(ours.stdout)]
    assert without_age == [[cell for cell in row if not cell.rstrip("smhd").isdigit()] for row in cells(theirs.stdout)]


def test_what_is_there_is_printed_and_what_is_not_is_told(server: Server) -> None:
    ours, theirs = (run("get", "nodes", "node-1", "nope", "-o", "name") for run in (server.doorman, server.kubectl))
    assert (ours.stdout, ours.stderr, ours.returncode) == (theirs.stdout, theirs.stderr, theirs.returncode)
    assert ours.stdout == "node/node-1\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cm", "-o", "xml"], "unable to match a printer"),
        (["cm", "-o", "jsonpath"], "no template given"),
        (["cm", "a", "cm/b"], "resource/name form"),
        (["cm/a/b"], "single resource and name"),
        (["cm", "-o", "jsonpath={.a"], "unclosed action"),
        (["cm", "-o", "custom-columns=NAME"], "expected <header>:<json-path-expr>"),
        (["cm,nodes", "-w"], "one resource type at a time"),
    ],
)
def test_bad_arguments_are_told(server: Server, arguments: list[str], words: str) -> None:
    done = server.doorman("get", *arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr
