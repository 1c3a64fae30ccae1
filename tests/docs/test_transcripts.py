"""What the pages show is what is printed."""

import contextlib
import shutil

import pytest

from docs.pages import PAGES, Section, name_of, sections
from docs.transcripts import Said, alike, run_section, said

SESSIONS = [
    pytest.param(section, id=f"{name_of(page)}-{number}")
    for page in PAGES
    for number, section in enumerate(sections(page.read_text()))
    if section.flags is not None
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on PATH")
@pytest.mark.parametrize("section", SESSIONS)
def test_page_shows_what_is_printed(section: Section) -> None:
    with contextlib.closing(run_section(section)) as session:
        for tried in session:
            assert not tried.fault, tried.fault
            for one, printed in tried.run:
                assert alike(one.output, printed), f"$ {one.command}\n{printed}\nthe page shows:\n{one.output}"


def test_what_differs_is_seen() -> None:
    assert alike("pod/web-7f9c4d5b6-bcdfg   3s\n", "pod/web-66b6c48dd5-x7k2p 12s\n")
    assert alike("a\n...\nz\n", "a\nb\nc\nz\n")
    assert alike("web-bcdfg node-1\nweb-x7k2p node-2\n", "web-22222 node-2\nweb-zzzzz node-1\n")
    assert not alike("node/node-1 tainted\n", "node/node-2 tainted\n")
    assert not alike("a\n...\nz\n", "a\nb\n")
    assert not alike("web-bcdfg node-1\n", "web-bcdfg node-2\n")


def test_commands_of_several_lines() -> None:
    block = "$ one \\\n    two\nprinted\n$ cat > file <<EOF\n$ no command\nEOF\n$ last\n"
    assert said(block) == [
        Said("one \\\n    two", "printed\n"),
        Said("cat > file <<EOF\n$ no command\nEOF", ""),
        Said("last", ""),
    ]


def test_marks_make_sessions() -> None:
    page = (
        "```text\nbefore\n```\n<!-- transcript: --nodes 2 -->\n<!-- saved: a.yaml -->\n```yaml\nkind: A\n```\n"
        "<!-- excerpt: b.yaml -->\n```yaml\nkind: B\n```\n<!-- transcript: no server -->\n```console\n$ true\n```\n"
    )
    before, first, second = sections(page)
    assert (before.flags, first.flags, second.flags) == (None, "--nodes 2", "no server")
    assert [(block.saved, block.excerpt) for block in first.blocks] == [("a.yaml", ""), ("", "b.yaml")]
    assert second.blocks[0].text == page[second.blocks[0].start : second.blocks[0].end] == "$ true\n"
