"""Style as a test: what a reviewer would otherwise have to say every time. Reads source, runs nothing."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "doorman").rglob("*.py"))
LINES_MAX = 500
LONGER: dict[str, int] = {}
"""Modules that are longer today. A ratchet: entries may shrink or go, never grow or come."""

WALL_CLOCK = {"time.time", "time.monotonic", "datetime.now", "datetime.utcnow", "random.random", "random.choice"}
MAY_READ_CLOCK = {"base/clock.py"}
MARKERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MACHINE_PATHS = re.compile(r"/(work|farm|root|opt/pypi)/")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "src" / "doorman").as_posix()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(parsed(path)), "a module opens with a docstring"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_module_is_no_longer_than_it_may_be(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= LONGER.get(name_of(path), LINES_MAX), "split it: one noun a module"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_left_over_markers_or_machine_paths(path: Path) -> None:
    text = path.read_text()
    assert not MARKERS.search(text)
    assert not MACHINE_PATHS.search(text)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_only_the_base_layer_reads_the_wall_clock(path: Path) -> None:
    if name_of(path) in MAY_READ_CLOCK:
        return
    called = {ast.unparse(node.func) for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)}
    assert not called & WALL_CLOCK, "take a Clock, or `now` as an argument; randomness from a named stream"


def test_every_conformance_case_file_is_json() -> None:
    files = sorted((ROOT / "tests" / "conformance" / "cases").rglob("*.json"))
    assert len(files) > 80
    for file in files:
        cases = json.loads(file.read_text())
        assert all(case["name"] and case["steps"] for case in (cases if isinstance(cases, list) else [cases])), file


def test_no_test_sleeps() -> None:
    sleeping = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if "conformance" not in path.parts
        and re.search(r"\btime\.sleep\(", path.read_text())
        and path.name != Path(__file__).name
    ]
    assert sleeping == []


STRANGERS = "doorman"
"""Another project's distribution on PyPI. Ours is `kube-doorman`."""


def test_nothing_here_resolves_to_the_strangers_distribution() -> None:
    manifests = [path for path in ROOT.rglob("pyproject.toml") if "/." not in f"/{path.relative_to(ROOT)}"]
    assert len(manifests) > 1, "the examples have some too"
    wanted = [
        requirement
        for path in manifests
        for project in [tomllib.loads(path.read_text())]
        for requirement in (
            *project["build-system"]["requires"],
            *project["project"].get("dependencies", ()),
            *(one for extra in project["project"].get("optional-dependencies", {}).values() for one in extra),
        )
    ]
    wanted += [line for path in ROOT.glob("requirements*") for line in path.read_text().splitlines()]
    named = {re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", line.strip())[0]).lower() for line in wanted}
    assert STRANGERS not in named
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"] == f"kube-{STRANGERS}"
    texts = [path.read_text() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.*"))]
    assert not [text for text in texts if re.search(rf"pip install[^\n`]* {STRANGERS}\b", text)]


def test_locks_are_made_by_a_locked_tool() -> None:
    assert re.search(r"^pip-tools==", (ROOT / "requirements-dev.txt").read_text(), re.MULTILINE)
    assert ".venv/bin/pip-compile" in (ROOT / "scripts" / "lock").read_text()


def test_every_guarantee_is_held_by_tests_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.partition("## Guarantees")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| guarantee")]
    assert len(rows) >= 10
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", row.rpartition(" | ")[2])
        assert named, row
        for file, test in named:
            assert f"def {test}(" in (ROOT / "tests" / file).read_text(), f"{file}::{test}"
