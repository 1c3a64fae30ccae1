"""Every block of code of README and docs is tried in one of the ways that `pages.py` names, or listed with a reason."""

import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import GENERATED, PAGES, ROOT, Block, Section, name_of, sections
from docs.plugin_runs import run_pytest

NOT_RUN: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "not_run.json").read_text())
"""By page and first line: why it cannot be run by a test."""
NOT_RUN_MAX = 8
"""May only shrink, with the list."""
COMMAND = re.compile(r"^\s*(\$ |doorman |kubectl |scripts/)", re.MULTILINE)
PYTHON_PAGES = [page for page in PAGES if ">>>" in page.read_text()]


def blocks() -> Iterator[tuple[str, Section, Block]]:
    for page in PAGES:
        if name_of(page) not in GENERATED:
            for section in sections(page.read_text()):
                for block in section.blocks:
                    yield name_of(page), section, block


def fault(section: Section, block: Block) -> str:
    """What keeps a block from being tried, or nothing."""
    if block.language == "text":
        return "text has no commands: write console" if COMMAND.search(block.text) is not None else ""
    if block.excerpt:
        return "" if block.text in (ROOT / block.excerpt).read_text() else f"it does not stand in {block.excerpt}"
    if block.saved:
        return "" if _is_used(section, block) else f"nothing reads {block.saved}"
    if block.language == "console" and section.flags is None:
        return "it belongs to no session: <!-- transcript: FLAGS -->"
    if block.language == "yaml" and section.flags in (None, "no server"):
        return "no server would take it: <!-- transcript: FLAGS -->, <!-- saved: NAME --> or <!-- excerpt: FILE -->"
    return "" if block.language in ("console", "yaml", "python") else f"nothing is known about {block.language!r}"


def _is_used(section: Section, block: Block) -> bool:
    after = (other.text for other in section.blocks if other.start > block.start)
    return any(block.saved in text for text in (section.flags or "", *after))


@pytest.mark.parametrize(
    ("section", "block"),
    [
        pytest.param(section, block, id=f"{page}: {block.first_line}"[:80])
        for page, section, block in blocks()
        if block.first_line not in NOT_RUN.get(page, {})
    ],
)
def test_block_is_tried(section: Section, block: Block) -> None:
    assert not fault(section, block)


def test_list_names_only_what_is_there_and_not_tried() -> None:
    found = {(page, block.first_line): fault(section, block) for page, section, block in blocks()}
    listed = [(page, line) for page, lines in NOT_RUN.items() for line in lines]
    assert [entry for entry in listed if not found.get(entry)] == []
    assert len(listed) == NOT_RUN_MAX


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=name_of)
def test_python_says_what_the_page_shows(page: Path) -> None:
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(block.text, id=f"{page}: {block.first_line}")
        for page, _, block in blocks()
        if block.language == "python" and ">>>" not in block.text
    ],
)
def test_python_runs(text: str, tmp_path: Path) -> None:
    """A module of tests as it is; statements as the body of one, for they speak of the fixture."""
    (tmp_path / "manifests").symlink_to(ROOT / "examples" / "pytest-project" / "manifests")
    (tmp_path / "test_page.py").write_text(text if "def test_" in text else _as_test(text))
    ran = run_pytest(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _as_test(statements: str) -> str:
    body = "".join(f"        {line}\n" for line in statements.splitlines())
    return f"import asyncio\n\n\ndef test_page(doorman):\n    async def page():\n{body}\n    asyncio.run(page())\n"
