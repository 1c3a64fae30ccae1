"""What the pages show is what is printed."""

import shutil
from pathlib import Path

import pytest

from docs.transcripts import MARK, ROOT, Section, alike, run_section, sections

PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if MARK.search(page.read_text())]
SECTIONS = [
    pytest.param(page, section, id=f"{page.name}-{number}")
    for page in PAGES
    for number, section in enumerate(sections(page.read_text()))
]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")
@pytest.mark.parametrize(("page", "section"), SECTIONS)
def test_page_shows_what_is_printed(page: Path, section: Section) -> None:
    for _, run in run_section(page.read_text(), section):
        for one, printed in run:
            assert alike(one.output, printed), f"$ {one.command}\n{printed}\nthe page shows:\n{one.output}"


def test_what_differs_is_seen() -> None:
    assert alike("pod/web-7f9c4d5b6-abcde   3s\n", "pod/web-66b6c48dd5-x7k2p 12s\n")
    assert alike("a\n...\nz\n", "a\nb\nc\nz\n")
    assert not alike("node/node-1 tainted\n", "node/node-2 tainted\n")
    assert not alike("a\n...\nz\n", "a\nb\n")
