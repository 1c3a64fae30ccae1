"""Pages as transcripts: the commands of a page are run, and what they print is held against what the page shows.

A line `<!-- transcript: FLAGS -->` starts a server of its own with these flags of `doorman up`; the `console` blocks
behind it, up to the next such line, are run there one after the other, in the project's folder. What differs from
run to run (addresses, hashes in names, times of day, the width of columns) does not count; `...` stands for any lines.

    .venv/bin/python tests/docs/transcripts.py docs/scenes.md    writes what was printed into the page
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.server import Server  # noqa: E402  the folder of the tests is known now

MARK = re.compile(r"<!-- transcript: (?P<flags>.*?) -->")
BLOCK = re.compile(r"^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
VARIES = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r"-[0-9a-z]{6,10}-[0-9a-z]{5}\b"), "-HASH"),
    (re.compile(r"\b(training)-[0-9a-z]{5}\b"), r"\1-HASH"),
    (re.compile(r"\b(\d+(\.\d+)?(d|h|m|s|ms))+\b"), "AGE"),
)


class Section(NamedTuple):
    flags: list[str]
    start: int
    end: int


class Said(NamedTuple):
    command: str
    output: str


def sections(page: str) -> Iterator[Section]:
    marks = list(MARK.finditer(page))
    for mark, after in zip(marks, [*marks[1:], None], strict=True):
        yield Section(mark["flags"].split(), mark.end(), after.start() if after is not None else len(page))


def said(block: str) -> list[Said]:
    """Commands and what is printed after each; a command goes on where its line ends with a backslash."""
    found: list[Said] = []
    is_open = False
    for line in block.splitlines(keepends=True):
        if is_open:
            found[-1] = Said(found[-1].command + line, "")
        elif line.startswith("$ "):
            found.append(Said(line[2:], ""))
        else:
            found[-1] = Said(found[-1].command, found[-1].output + line)
        is_open = line.rstrip().endswith("\\") and not found[-1].output
    return [Said(one.command.rstrip("\n"), one.output) for one in found]


def alike(shown: str, printed: str) -> bool:
    wanted, found = _steady(shown), _steady(printed)
    if "..." not in wanted:
        return wanted == found
    pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in wanted)
    return re.fullmatch(pattern, "\n".join(found), re.DOTALL) is not None


def _steady(text: str) -> list[str]:
    for pattern, replacement in VARIES:
        text = pattern.sub(replacement, text)
    return [" ".join(line.split()) for line in text.splitlines()]


class Terminal:
    """A shell with a server of its own, in which `doorman` and `kubectl` are those of the tests."""

    def __init__(self, server: Server, folder: Path) -> None:
        path = f"{folder}:{os.environ['PATH']}"
        self._environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig), "PATH": path, "NO_COLOR": "1"}
        command = folder / "doorman"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m doorman "$@"\n')
        command.chmod(0o755)

    def printed(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=ROOT, env=self._environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=120,
        )  # fmt: skip
        return done.stdout


def run_section(page: str, section: Section) -> Iterator[tuple[re.Match[str], list[tuple[Said, str]]]]:
    """Each block, with its commands and what was printed."""
    with tempfile.TemporaryDirectory() as scratch, Server(Path(scratch), *section.flags) as server:
        terminal = Terminal(server, Path(scratch))
        for block in BLOCK.finditer(page, section.start, section.end):
            yield block, [(one, terminal.printed(one.command)) for one in said(block["text"])]


def rewritten(page: str) -> str:
    """The same page with what is printed now, where that is not alike."""
    out, at = [], 0
    for section in sections(page):
        for block, run in run_section(page, section):
            text = "".join(f"$ {one.command}\n{one.output if alike(one.output, new) else new}" for one, new in run)
            out += [page[at : block.start("text")], text]
            at = block.end("text")
    return "".join(out) + page[at:]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(rewritten(path.read_text()))
