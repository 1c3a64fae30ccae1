"""A server in the background: which process it is, where it answers, where it logs.

Every cluster has a directory; beside what it keeps there, `server.json` says what runs and `server.log` what it said. A
process id alone proves nothing, because ids are used again: the process must have begun when the file says.
"""

import os
import shutil
import signal
import subprocess  # nosec B404
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from doorman.base.clock import spent
from doorman.cli.paths import default_data_dir

DEFAULT_CLUSTER: Final = "default"
STATE: Final = "server.json"
LOG: Final = "server.log"
STOP_SECONDS_MAX: Final = 15.0
_STEP_SECONDS: Final = 0.05


class BackgroundServer(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    pid: int
    began: str
    """As the system tells when the process began: with the id, it names the process for good."""
    address: str
    kubeconfig: str

    @property
    def is_running(self) -> bool:
        return _beginning(self.pid) == self.began


class NotStarted(Exception):
    """What the server said before it ended."""


def directory_of(name: str) -> Path:
    return default_data_dir() if name == DEFAULT_CLUSTER else default_data_dir() / "clusters" / name


def find_server(name: str) -> BackgroundServer | None:
    """The one that runs, or was not stopped in order."""
    try:
        return msgspec.json.decode((directory_of(name) / STATE).read_bytes(), type=BackgroundServer)
    except (OSError, msgspec.DecodeError):
        return None


def server_names() -> list[str]:
    """Of clusters that were ever started here."""
    folder = default_data_dir() / "clusters"
    named = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return [DEFAULT_CLUSTER, *named] if (default_data_dir() / STATE).exists() else named


def start(name: str, arguments: Sequence[str]) -> BackgroundServer:
    """Start `doorman up` with these arguments, and return when it serves. Raises NotStarted."""
    directory = directory_of(name)
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(directory / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as log:
        command = [sys.executable, "-m", "doorman", "up", *arguments]
        process = subprocess.Popen(  # nosec B603
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    if not line.startswith("ready "):
        process.wait()
        raise NotStarted(server_log(name).strip())
    _, address, file = line.split(maxsplit=2)
    server = BackgroundServer(
        name=name,
        pid=process.pid,
        began=_beginning(process.pid),
        address=address,
        kubeconfig=file.strip().removeprefix("kubeconfig="),
    )
    (directory / STATE).write_bytes(msgspec.json.encode(server))
    return server


def server_log(name: str) -> str:
    return (directory_of(name) / LOG).read_text(errors="replace")


def stop(server: BackgroundServer) -> bool:
    """Whether it has ended in time."""
    if server.is_running:
        os.kill(server.pid, signal.SIGTERM)
        ends = spent() + STOP_SECONDS_MAX
        while server.is_running:
            if spent() > ends:
                return False
            time.sleep(_STEP_SECONDS)
    return True


def _beginning(pid: int) -> str:
    """Empty when there is no such process, or only what is left of one."""
    try:
        command = [shutil.which("ps") or "/bin/ps", "-o", "lstart=,stat=", "-p", str(pid)]
        found = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603
    except OSError:
        return _beginning_in_proc(pid)
    text = found.stdout.strip()
    began, _, state = text.rpartition(" ")
    return "" if not text or state.startswith("Z") else began.strip()


def _beginning_in_proc(pid: int) -> str:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
