"""Serving a cluster over HTTPS in real time.

The process that holds connections is started first: it is ready by the time the server's own program is loaded.
"""

import asyncio
import errno
import resource
import socket
import tempfile
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvloop

from doorman.base.process_memory import keep_memory, loading
from doorman.front.connection_limits import BACKLOG
from doorman.runtime.clock.idle_loop import IdleLoop
from doorman.runtime.real_time.front_process import Front
from doorman.runtime.settings import Settings
from doorman.store.store_contract import Entry, Unusable

if TYPE_CHECKING:
    from doorman.runtime.real_time.running_server import Announce

FILES_MAX: Final = 65_536


def serve(settings: Settings, announce: "Announce", initial: Sequence[Entry] = ()) -> None:
    """Run until SIGTERM or SIGINT. Raises `Unusable` when something is in the way.

    `initial` is what an empty store begins with: a cluster that is taken up.
    """
    _check_temporary_files()
    _allow_many_files()
    keep_memory()
    listener = listen(settings.bind_address, settings.secure_port)
    front = Front(listener)
    try:
        with loading():
            from doorman.runtime.real_time.running_server import run
        with tempfile.TemporaryDirectory(prefix="doorman-") as scratch:
            port = listener.getsockname()[1]
            _run(settings, run(settings, announce, Path(scratch), front, port, initial))
    finally:
        front.end()


def _check_temporary_files() -> None:
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        hint = "name a directory that can be written to: TMPDIR=/path doorman up"
        raise Unusable("there is no directory for temporary files", hint) from error


def _run(settings: Settings, work: Coroutine[object, object, None]) -> None:
    if settings.clock_rate is None:
        uvloop.run(work)
        return
    with asyncio.Runner(loop_factory=IdleLoop) as runner:  # it knows when nothing more happens, which uvloop does not
        runner.run(work)


def _allow_many_files() -> None:
    """As many connections as the system allows a process: the usual limit is a user's, not a server's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        hint = "give an address of this machine with --bind-address, such as 127.0.0.1"
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            hint = "give another port with --secure-port, or 0 for a free one"
        raise Unusable(f"cannot listen on {address}:{port}: {error.strerror}", hint) from error
    return listener
