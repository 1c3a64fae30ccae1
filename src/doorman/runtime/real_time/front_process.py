"""The front as a process: started beside the server, and started anew should it ever end by itself."""

import asyncio
import contextlib
import logging
import socket
import subprocess  # nosec B404
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from doorman.front.tls import AUTHORITY, CERTIFICATE, KEY
from doorman.store.data_directory import write_private
from doorman.store.store_contract import Unusable

if TYPE_CHECKING:  # the process is started before the program that it is for is loaded
    from doorman.runtime.access.credentials import Credentials
    from doorman.server.front_link import FrontLink
    from doorman.server.pipeline import Pipeline

END_SECONDS_MAX: Final = 2.0
LINK_BYTES: Final = 1024 * 1024
"""How much may be on its way to the front, or from it."""

_log: Final = logging.getLogger("doorman.front")


class Front:
    """Holds the listening socket for all fronts that come after one another."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._front_link: FrontLink | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._process, self._link = self._start()

    async def begin(self, pipeline: "Pipeline", credentials: "Credentials", folder: Path) -> None:
        """Let clients in. Certificates are handed over as files in the folder."""
        write_private(folder / CERTIFICATE, credentials.server_certificate)
        write_private(folder / KEY, credentials.server_key)
        write_private(folder / AUTHORITY, credentials.ca_certificate)
        front_link = await self._attach(pipeline, folder)
        if front_link.is_lost.is_set():
            raise Unusable("the process that serves connections has ended at once", "its error is above")
        self._keeping = asyncio.create_task(self._keep(front_link, pipeline, folder))

    async def stop(self) -> None:
        """Orderly: who is being answered gets the answer."""
        if self._keeping is not None:
            self._keeping.cancel()
        if self._front_link is not None:
            await self._front_link.stop()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS_MAX):
                    await self._front_link.is_lost.wait()
        self.end()

    def end(self) -> None:
        """At once."""
        self._listener.close()
        self._link.close()
        self._process.kill()
        self._process.wait()

    def _start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):  # as far as the system allows: more at a time is fewer turns of two event loops
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LINK_BYTES)
        inherited = (theirs.fileno(), self._listener.fileno())
        command = [sys.executable, "-m", "doorman.front", *map(str, inherited)]
        # In a group of its own: Ctrl-C is for the server, which ends this process when it is done.
        process = subprocess.Popen(command, pass_fds=inherited, stdin=subprocess.DEVNULL, process_group=0)  # nosec B603
        theirs.close()
        return process, ours

    async def _attach(self, pipeline: "Pipeline", folder: Path) -> "FrontLink":
        from doorman.server.front_link import FrontLink

        front_link = self._front_link = FrontLink(pipeline)
        await asyncio.get_running_loop().create_connection(lambda: front_link, sock=self._link)
        front_link.listen(str(folder))
        await front_link.is_ready.wait()
        return front_link

    async def _keep(self, front_link: "FrontLink", pipeline: "Pipeline", folder: Path) -> None:
        while True:
            await front_link.is_lost.wait()
            self._process.kill()  # should there be anything left of it
            _log.error("the process that serves connections has ended with %s: starting another", self._process.wait())
            self._process, self._link = self._start()
            front_link = await self._attach(pipeline, folder)
