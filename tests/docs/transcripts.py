"""Pages as transcripts: the commands of a page are run, and what they print is held against what the page shows.

`pages.py` says how a page marks its sessions. Each has a folder of its own with the project's `examples` in it, a shell
that lives as long as it, and a server whose clock moves by a second between two commands, so that all that a command
brings about has happened when the next is typed; a page that names a clock moves it itself. What differs from run to
run (addresses, hashes in names, times of day, the width of columns) does not count; `...` stands for any lines.

    .venv/bin/python tests/docs/transcripts.py docs/scenes.md    writes what was printed into the page
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from queue import Queue
from typing import IO, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.pages import ROOT, Block, Section, sections
from doorman.api.well_known import CLOCK_PATH
from doorman.client.command_line.http_client import HttpClient
from support.etcd import free_ports

SECONDS_MAX = 60
SAFE = "bcdfghjklmnpqrstvwxz2456789"  # of which Kubernetes makes its random names
VARIES = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DAY"),
    (re.compile(r"\b(10|198)\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r"\b(127\.0\.0\.1|0\.0\.0\.0):\d+\b"), "HERE"),
    (re.compile(r"\b\d+(?= (objects|KiB)\b)|(?<=revision )\d+\b"), "N"),
    (re.compile(r"\b(3\d|4\d|5\d|60)\d{3}\b"), "PORT"),
    (re.compile(r"/tmp/doorman-\w+"), "FOLDER"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{64}\b"), "ID"),
    (re.compile(rf"(-[{SAFE}]{{6,10}})?-[{SAFE}]{{5}}\b"), "-HASH"),
    (re.compile(r"\b(\d+(\.\d+)?(d|h|m|s|ms))+\b"), "AGE"),
)
GOES_ON = re.compile(
    r" &$| -w$|^kubectl logs -f\b|^(scripts/up|doorman up)\b(?!.*--detach)"
    r"|^doorman (scheduler|controllers|nodes)\b(?!.*--check-access)"
)
"""What is not waited for, but read until as many lines have come as are shown."""
PORTS = re.compile(r"\b(8888|2379|2380|10257|10259)\b")
"""What a page may name although another session may have it: each session has others in their stead."""
LOGGED = re.compile(r"(WARNING|ERROR) doorman\.")
"""A server's log, on a machine that is slow."""
READY = re.compile(r"ready https://\S+ kubeconfig=(?P<kubeconfig>.*)")


class Said(NamedTuple):
    command: str
    output: str


def said(block: str) -> list[Said]:
    """Commands and what is printed after each; a command goes on to its next line after a backslash or with `<<`."""
    found: list[Said] = []
    until = ""
    for line in block.splitlines(keepends=True):
        if until:
            found[-1] = Said(found[-1].command + line, "")
            if line.rstrip("\n") == until or (until == "\\" and not line.rstrip().endswith("\\")):
                until = ""
        elif line.startswith("$ "):
            found.append(Said(line[2:], ""))
            here = re.search(r"<<'?(\w+)'?$", line.rstrip())
            until = here[1] if here is not None else "\\" if line.rstrip().endswith("\\") else ""
        else:
            assert found, f"a console block begins with a command: {line}"
            found[-1] = Said(found[-1].command, found[-1].output + line)
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
    lines: list[str] = []
    hashed: list[str] = []  # neighbours are in the order of their random names
    for line in [*(" ".join(line.split()) for line in text.rstrip().splitlines()), None]:
        if line is not None and "-HASH" in line:
            hashed.append(line)
            continue
        lines += sorted(hashed)
        hashed = []
        if line is not None:
            lines.append(line)
    return lines


class Shell:
    """One bash for a whole session, in which `doorman` is this one and everything is private to the session."""

    def __init__(self, folder: Path, *, has_own_clock: bool) -> None:
        self.folder = folder
        self._home = folder / "home"
        self._step = "1ms" if has_own_clock else "1s"
        self._has_own_clock = has_own_clock
        self._ports: dict[str, str] = {}
        self._jobs: list[Lines] = []
        self._client: HttpClient | None = None
        self._lay_out()
        self._bash = subprocess.Popen(
            ["bash"], cwd=folder, env=self._environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        assert self._bash.stdout is not None
        self._lines = Lines(self._bash.stdout)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        os.killpg(self._bash.pid, signal.SIGTERM)
        self._bash.wait(SECONDS_MAX)
        assert self._bash.stdin is not None
        self._bash.stdin.close()
        for lines in (self._lines, *self._jobs):
            lines.rest()

    def printed(self, one: Said) -> str:
        """What the command says; then the time that its consequences take."""
        command = self.own(one.command)
        goes_on = GOES_ON.search(command)
        text = self._started(command, one.output) if goes_on is not None else self._waited_for(command)
        self._let_time_pass()
        return text.replace(str(self._home), "/home/you").replace(f"{self.folder}/", "")

    def own(self, text: str) -> str:
        """What a page says, with the folders and ports of this session."""
        for port in PORTS.findall(text):
            if port not in self._ports:
                self._ports[port] = str(free_ports(1)[0])
        return PORTS.sub(lambda found: self._ports[found[0]], text.replace("/home/you", str(self._home)))

    def save(self, name: str, text: str) -> None:
        (self.folder / name).write_text(self.own(text))

    def _waited_for(self, command: str) -> str:
        self._send(f"{command}\nprintf '\\n%s\\n' =done=")
        lines = self._lines.until("=done=\n")
        return "".join(lines).removesuffix("\n")

    def _started(self, command: str, shown: str) -> str:
        pipe = self.folder / f".pipe-{len(self._jobs)}"
        os.mkfifo(pipe)
        bare = re.sub(r"\s+# .*$", "", command).removesuffix("&")
        self._send(f"{bare} > {shlex.quote(str(pipe))} 2>&1 &")
        job = Lines(pipe.open())
        self._jobs.append(job)
        text = "".join(job.take(len(shown.splitlines())))
        ready = READY.match(text)
        if ready is not None:
            self._use(ready["kubeconfig"])
        return text

    def _use(self, kubeconfig: str) -> None:
        """What the line after `ready` tells people to do."""
        self._send(f"export KUBECONFIG={shlex.quote(kubeconfig)}")
        if self._client is not None:
            self._client.close()
        self._client = HttpClient(self.folder / kubeconfig)

    def _send(self, command: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(command + "\n")
        self._bash.stdin.flush()

    def _let_time_pass(self) -> None:
        """An answer to a move of the clock comes when all has happened that can happen until then."""
        if self._client is not None and self._client.request("GET", CLOCK_PATH)["mode"] == "virtual":
            self._client.request("POST", CLOCK_PATH, body={"advance": self._step})

    def _environment(self) -> dict[str, str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("KUBE", "XDG_", "DOORMAN"))}
        path = f"{self.folder / 'scripts'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**clean, "HOME": str(self._home), "PATH": path, "NO_COLOR": "1"}

    def _lay_out(self) -> None:
        self._home.mkdir()
        for part in ("examples", "deploy", "tests", "bench"):
            (self.folder / part).symlink_to(ROOT / part)
        commands = self.folder / "scripts"
        commands.mkdir()
        clock = "" if self._has_own_clock else "--clock=virtual"
        run = f'"{sys.executable}" -m doorman'
        _write_command(
            commands / "doorman",
            f'''case "$1" in
up) shift; exec {run} up --secure-port 0 {clock} "$@" ;;
controllers) shift; exec {run} controllers --secure-port {self.own("10257")} "$@" ;;
scheduler) shift; exec {run} scheduler --secure-port {self.own("10259")} "$@" ;;
esac
exec {run} "$@"''',
        )
        _write_command(commands / "up", f'exec {run} up --secure-port 0 {clock} "$@"')


def _write_command(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


class Lines:
    """What somebody prints, read as it comes."""

    def __init__(self, stream: IO[str]) -> None:
        self._queue: Queue[str | None] = Queue()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def until(self, last: str) -> list[str]:
        found = []
        while (line := self._queue.get(timeout=SECONDS_MAX)) != last:
            assert line is not None, f"the shell has ended: {''.join(found)}"
            found.append(line)
        return found

    def take(self, count: int) -> list[str]:
        found = []
        while len(found) < count and (line := self._queue.get(timeout=SECONDS_MAX)) is not None:
            if LOGGED.match(line) is None:
                found.append(line)
        return found

    def rest(self) -> None:
        self._thread.join(SECONDS_MAX)

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._queue.put(line)
        self._queue.put(None)


class Tried(NamedTuple):
    """A block of a session, and what became of it."""

    block: Block
    run: list[tuple[Said, str]]
    fault: str = ""


def run_section(section: Section) -> Generator[Tried, None, None]:
    assert section.flags is not None, "a session begins with a mark"
    texts = (section.flags, *(block.text for block in section.blocks))
    own_clock = section.flags.endswith("in real time") or any("--clock" in text for text in texts)
    with tempfile.TemporaryDirectory() as scratch:
        shell = Shell(Path(scratch).resolve(), has_own_clock=own_clock)
        try:
            if not section.flags.startswith("no server"):
                place = "" if "--data-dir" in section.flags else "--in-memory"
                _begin(shell, section, f"doorman up {place} {section.flags}")
            for block in section.blocks:
                yield _tried(shell, block)
        finally:
            shell.close()


def _begin(shell: Shell, section: Section, command: str) -> None:
    """Files that the server itself is told to read stand on the page before what it prints."""
    for block in section.blocks:
        if block.saved and block.saved in command:
            shell.save(block.saved, block.text)
    ready = shell.printed(Said(command, "ready"))
    assert ready.startswith("ready "), ready
    shell.printed(Said("disown", ""))  # `%1` is the first that the page itself starts


def _tried(shell: Shell, block: Block) -> Tried:
    if block.saved:
        shell.save(block.saved, block.text)
    elif block.language == "console":
        return Tried(block, [(one, shell.printed(one)) for one in said(block.text)])
    elif block.language == "yaml" and not block.excerpt:
        shell.save(".block.yaml", block.text)
        printed = shell.printed(Said("kubectl apply --dry-run=server -f .block.yaml", ""))
        taken = printed and all(line.endswith("(server dry run)") for line in printed.splitlines())
        return Tried(block, [], "" if taken else f"{block.text}{printed}")
    return Tried(block, [])


def rewritten(page: str) -> str:
    """The same page with what is printed now, where that is not alike."""
    out, at = [], 0
    for section in sections(page):
        for tried in run_section(section) if section.flags is not None else ():
            if tried.run:
                out += [page[at : tried.block.start], "".join(_renewed(one, new) for one, new in tried.run)]
                at = tried.block.end
            assert not tried.fault, tried.fault
    return "".join(out) + page[at:]


def _renewed(one: Said, printed: str) -> str:
    lines = (one.output if alike(one.output, printed) else printed).rstrip().splitlines()
    return "".join(f"{line.rstrip()}\n" for line in (f"$ {one.command}", *lines))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(rewritten(path.read_text()))
