"""Style as a test: what a reviewer would otherwise have to say every time. Reads source, runs nothing."""

import ast
import json
import re
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "doorman"
SOURCES = sorted(PACKAGE.rglob("*.py"))
RATCHET = json.loads((Path(__file__).parent / "ratchet.json").read_text())
"""What is worse today than the rules below allow. Entries may shrink or go, never grow or come."""

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
FOLDER_MODULES_MAX = 15
WITH_UNIT_TESTS = ("registry", "scheduler", "controllers", "semantics", "store")
"""Packages of which every module has a test file of its own."""

WALL_CLOCK = {"time.time", "time.monotonic", "datetime.now", "datetime.utcnow", "random.random", "random.choice"}
MAY_READ_CLOCK = {"base/clock.py"}
MARKERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MACHINE_PATHS = re.compile(r"/(work|farm|root|opt/pypi)/")
WELL_KNOWN = re.compile(r"[a-z][a-z0-9]*([-./:][a-z0-9]+)+:?|[a-z]+([A-Z][a-z]+){2,}")
"""Values such as kube-node-lease or kubernetes.io/config.mirror: names that somebody else has given to something."""
SINGLE_WORD = re.compile(r"[A-Za-z]{2,}")
"""Values such as pods or owner: one word may mean several things, so only constants of the same name are the same."""

BANNED = {
    "judge": "a plugin filters or scores; an authorizer decides",
    "judges": "bound plugins",
    "laps": "stage timing",
    "judged": "checked, or decided",
    "judging": "checking, or deciding",
    "judgement": "a verdict, or verification",
    "misfit": "a FitError",
    "clearing": "a preemption candidate",
    "resident": "a pod of the pod cache",
    "residents": "the pod cache",
    "hall": "connections",
    "glance": "a request preview",
    "face": "a conversion between versions",
    "faces": "versions",
    "tally": "a histogram, or a total",
    "tallies": "histograms, or totals",
    "ledger": "the key index",
    "book": "an index, or a cache",
    "complaint": "an error, or a warning",
    "complaints": "errors, or warnings",
    "eviction_words": "eviction messages",
    "pod_facts": "pod state",
    "hint_book": "queueing hints",
    "consulting": "asking extenders",
}
"""Words that were ours alone, and what to say instead: in names, docstrings and comments."""

FOREIGN = {
    "JSONPatchMaxCopyBytes": "Kubernetes",
    "MaxRequestBodyBytes": "Kubernetes",
    "PerCallLimit": "Kubernetes",
    "RuntimeCELCostBudget": "Kubernetes",
    "NodeUpdate": "kube-scheduler's events, which are put together from parts",
    "AssignedPodAdd": "kube-scheduler's events, which are put together from parts",
    "time.Parse": "Go",
    "_ssl.ENCODING_DER": "CPython",
    "widgets.example.com": "an example",
    "_sip._tcp.example.com": "an example",
}
"""What docstrings name that is not in this tree, and whose it is."""


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Of modules, classes and functions, and those below constants and members."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def comments(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        yield from (token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT)


def identifiers(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def constants(path: Path) -> Iterator[tuple[str, object]]:
    for node in parsed(path).body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and target.id.isupper() and isinstance(value, ast.Constant):
            yield target.id, value.value


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(parsed(path)), "a module opens with a docstring"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_module_is_no_longer_than_it_may_be(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= RATCHET["module_lines"].get(name_of(path), MODULE_LINES_MAX), "split it: one noun a module"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_functions_are_no_longer_than_they_may_be(path: Path) -> None:
    for node in functions(path):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        allowed = RATCHET["function_lines"].get(f"{name_of(path)}:{node.name}", FUNCTION_LINES_MAX)
        assert lines <= allowed, f"{node.name}: split it"


def test_folders_can_be_taken_in_at_a_glance() -> None:
    counts: dict[str, int] = defaultdict(int)
    for path in SOURCES:
        if path.name != "__init__.py":
            counts[path.parent.relative_to(PACKAGE).as_posix()] += 1
    wide = {folder: n for folder, n in counts.items() if n > RATCHET["folder_modules"].get(folder, FOLDER_MODULES_MAX)}
    assert wide == {}, "make rooms inside"


def test_module_names_occur_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in SOURCES:
        if path.stem not in ("__init__", "__main__"):
            places[path.stem].append(name_of(path))
    twice = {stem: found for stem, found in places.items() if len(found) > 1 and stem not in RATCHET["module_names"]}
    assert twice == {}, "a module's name has one meaning"


def test_public_names_of_classes_and_types_occur_once() -> None:
    """A class, or an alias of a type: `Change = Callable[...]`."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in SOURCES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                name = node.name
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            else:
                continue
            if name[0].isupper() and not name.isupper():
                places[name].append(name_of(path))
    new = {name: found for name, found in places.items() if len(found) > RATCHET["type_names"].get(name, 1)}
    assert new == {}, "a public class, or an alias of a type, has one meaning"
    fewer = {name: len(places[name]) for name, count in RATCHET["type_names"].items() if len(places[name]) < count}
    assert fewer == {}, "these occur less often now: lower their numbers, or take them off the list"


def test_well_known_names_are_written_down_once() -> None:
    places: dict[object, list[str]] = defaultdict(list)
    for path in SOURCES:
        for _, value in constants(path):
            if isinstance(value, str) and WELL_KNOWN.fullmatch(value):
                places[value].append(name_of(path))
    twice = {value: found for value, found in places.items() if len(found) > 1 and value not in RATCHET["well_known"]}
    assert twice == {}, "put it into api/well_known.py"


def test_single_words_are_written_down_once_under_one_name() -> None:
    """`PODS_BY_END` and `_BY_END` are `BY_END` once more."""
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in SOURCES:
        for name, value in constants(path):
            if isinstance(value, str) and SINGLE_WORD.fullmatch(value) and len(name.strip("_")) > 1:
                places[value].append((name.strip("_"), name_of(path)))
    twice = [
        (value, one, other)
        for value, found in places.items()
        for one, other in combinations(found, 2)
        if one[1] != other[1] and (f"_{one[0]}".endswith(f"_{other[0]}") or f"_{other[0]}".endswith(f"_{one[0]}"))
    ]
    assert twice == [], "define it in one place: api/well_known.py, api/views/object_indexes.py, or beside its rule"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_private_vocabulary(path: Path) -> None:
    tree = parsed(path)
    names = {*identifiers(tree), *name_of(path).removesuffix(".py").split("/")}
    words = {part.lower() for name in names for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    words |= {name.strip("_").lower() for name in names}
    for text in (*comments(path), *(str(found.value) for found in docstrings(tree))):
        words.update(re.findall(r"[a-z_]+", text.lower()))
    found = {word: BANNED[word] for word in words if word in BANNED}
    assert found == {}, "a reader who knows Kubernetes does not know these words"


@pytest.fixture(scope="module")
def tree_names() -> tuple[set[str], dict[str, set[str]]]:
    """Every name and every word of a text in the package; and the members of each class."""
    names: set[str] = set()
    members: dict[str, set[str]] = defaultdict(set)
    for path in SOURCES:
        tree = parsed(path)
        told = {id(found) for found in docstrings(tree)}
        names.update(identifiers(tree), path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for node in ast.walk(tree):
            if isinstance(node, ast.alias):
                names.update(node.name.split("."))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
                names.update(re.findall(r"\w+", node.value))
            elif isinstance(node, ast.ClassDef):
                members[node.name].update(identifiers(ast.Module(node.body, [])))
    for data in PACKAGE.rglob("*.json"):
        names.update(re.findall(r"\w+", data.read_text()))
    return names, members


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_docstrings_name_what_exists(path: Path, tree_names: tuple[set[str], dict[str, set[str]]]) -> None:
    names, members = tree_names
    stale = []
    for docstring in docstrings(parsed(path)):
        for quoted in re.findall(r"`([^`\n]+)`", str(docstring.value)):
            parts = quoted.split(".")
            if quoted in FOREIGN:
                continue
            if re.fullmatch(r"[\w/]+\.py", quoted):
                is_there = any(f"/{name_of(source)}".endswith(f"/{quoted}") for source in SOURCES)
            elif re.fullmatch(r"_?[A-Z]\w*[a-z]\w*|[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", quoted):
                is_there = all(part in names for part in parts) and all(
                    member in members.get(owner, {member}) for owner, member in pairwise(parts)
                )
            else:
                continue
            if not is_there:
                stale.append(f"line {docstring.lineno}: {quoted}")
    assert stale == [], "renamed, or gone"


def test_modules_have_unit_tests() -> None:
    without = []
    for path in SOURCES:
        name = name_of(path)
        if name.split("/")[0] not in WITH_UNIT_TESTS or path.stem in ("__init__", "__main__"):
            continue
        mate = ROOT / "tests" / "unit" / Path(name).parent / f"test_{path.name}"
        has_doctest = ">>>" in path.read_text()
        if not mate.exists() and not has_doctest:
            without.append(name)
    new = sorted(set(without) - set(RATCHET["without_unit_tests"]))
    assert new == [], "a test file beside it: tests/unit/<folder>/test_<module>.py"
    gone = sorted(set(RATCHET["without_unit_tests"]) - set(without))
    assert gone == [], "these have tests now: take them off the list"


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
