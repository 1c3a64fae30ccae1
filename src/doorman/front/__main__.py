"""The process: `python -m doorman.front LINK LISTENER`, two sockets it inherits. `doorman up` starts it."""

import asyncio
import signal
import socket
import sys

import uvloop

from doorman.base.loop_faults import tell_in_one_line
from doorman.base.process_memory import keep_memory
from doorman.front.connection_limits import ConnectionLimits
from doorman.front.connections import Connections


async def attend(link: socket.socket, listener: socket.socket, limits: ConnectionLimits) -> None:
    """Until the server sends SHUTDOWN, or is gone."""
    connections = Connections(listener, limits)
    asyncio.get_running_loop().set_exception_handler(tell_in_one_line)
    await asyncio.get_running_loop().create_connection(lambda: connections, sock=link)
    await connections.is_over.wait()


def main() -> None:
    # The server ends this process, and nobody else: a terminal's Ctrl-C goes to both.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    keep_memory()
    link, listener = (socket.socket(fileno=int(text)) for text in sys.argv[1:3])
    uvloop.run(attend(link, listener, ConnectionLimits()))


if __name__ == "__main__":
    main()
