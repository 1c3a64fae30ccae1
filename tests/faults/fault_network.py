"""The network of the fault run: every connection goes through a forwarder that can fall silent and go on.

A cut is silence, as when packets are dropped: connections stay open and nothing is delivered until it heals.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path


class Gate:
    """Open: bytes pass. Used from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._event = asyncio.Event()
        self._event.set()

    def shut(self) -> None:
        self._loop.call_soon_threadsafe(self._event.clear)

    def open(self) -> None:
        self._loop.call_soon_threadsafe(self._event.set)

    async def passed(self) -> None:
        await self._event.wait()


GatesOf = Callable[[int], list[Gate]]
"""From the port that a connection comes from to the gates it passes."""


class Network:
    """Forwarders, on an event loop of their own in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def gate(self) -> Gate:
        return Gate(self._loop)

    def forward(self, to_port: int, gates_of: GatesOf) -> int:
        """A port from which bytes go to another."""
        return asyncio.run_coroutine_threadsafe(self._listen(to_port, gates_of), self._loop).result()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        own = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)

    async def _listen(self, to_port: int, gates_of: GatesOf) -> int:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # Cancelled when the run ends; what asyncio makes of that in a connection's callback is noise.
            with contextlib.suppress(asyncio.CancelledError):
                await passed_on(reader, writer)

        async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            gates = gates_of(writer.get_extra_info("peername")[1])
            try:
                for gate in gates:
                    await gate.passed()
                onward = await asyncio.open_connection("127.0.0.1", to_port)
            except OSError:
                writer.close()
                return
            await asyncio.gather(_pump(reader, onward[1], gates), _pump(onward[0], writer, gates))

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        return port


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gates: list[Gate]) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            for gate in gates:
                await gate.passed()
            writer.write(data)
            await writer.drain()
    writer.close()


def owner_of(port: int, pids: list[int]) -> int | None:
    """Which of these processes of this machine connects from a port."""
    inode = ""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].partition(":")[2], 16) == port and fields[1].startswith("0100007F"):
            inode = f"socket:[{fields[9]}]"
            break
    for pid in pids if inode else ():
        with contextlib.suppress(OSError):
            if any(str(link.readlink()) == inode for link in Path(f"/proc/{pid}/fd").iterdir()):
                return pid
    return None
