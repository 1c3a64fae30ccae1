"""What README and docs are made of: blocks of code, and the marks that say how they are tried.

A mark is a comment on a line of its own.

    <!-- transcript: FLAGS -->   the blocks behind it, up to the next such mark, are one session in a shell of its own,
                                 with a server of these flags; without one where it says `no server`,
                                 and in real time where it says that (`no server in real time`);
                                 `none` ends a session
    <!-- saved: NAME -->         the block behind it becomes this file of the session
    <!-- excerpt: FILE -->       the block behind it stands in this file of the project, line for line

What no mark says is said by the language: `console` is run, `yaml` is taken by the session's server (a dry run), Python
runs, and `text` is for people and has no commands.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
GENERATED = {"docs/commands.md": "the commands' own words, held against them by test_command_reference.py"}

_PIECE = re.compile(
    r"^<!-- (?P<mark>transcript|saved|excerpt): ?(?P<argument>.*?) ?-->$"
    r"|^```(?P<language>\S*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    language: str
    text: str
    start: int
    """Where the text begins in the page, which `end` ends."""
    end: int
    saved: str = ""
    excerpt: str = ""

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]


class Section(NamedTuple):
    """A session: None is what stands before the first mark."""

    flags: str | None
    blocks: tuple[Block, ...]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def sections(page: str) -> Iterator[Section]:
    flags: str | None = None
    blocks: list[Block] = []
    saved = excerpt = ""
    for piece in _PIECE.finditer(page):
        if piece["mark"] == "transcript":
            yield Section(flags, tuple(blocks))
            flags, blocks = None if piece["argument"] == "none" else piece["argument"], []
        elif piece["mark"] == "saved":
            saved = piece["argument"]
        elif piece["mark"] == "excerpt":
            excerpt = piece["argument"]
        else:
            blocks.append(
                Block(piece["language"], piece["text"], piece.start("text"), piece.end("text"), saved, excerpt)
            )
            saved = excerpt = ""
    yield Section(flags, tuple(blocks))
