"""The process: `python -m doorman.front LINK LISTENER`, two sockets it inherits. `doorman up` starts it."""

import asyncio
import signal
import socket
import sys

import uvloop

from doorman.base.loop_faults import tell_in_one_line
from doorman.base.memory import keep_memory
from doorman.front.hall import Hall
from doorman.front.limits import Limits


async def attend(link: socket.socket, listener: socket.socket, limits: Limits) -> None:
    """Until the server has said its last word, or is gone."""
    hall = Hall(listener, limits)
    asyncio.get_running_loop().set_exception_handler(tell_in_one_line)
    await asyncio.get_running_loop().create_connection(lambda: hall, sock=link)
    await hall.is_over.wait()


def main() -> None:
    # The server ends this process, and nobody else: a terminal's Ctrl-C goes to both.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    keep_memory()
    link, listener = (socket.socket(fileno=int(text)) for text in sys.argv[1:3])
    uvloop.run(attend(link, listener, Limits()))


if __name__ == "__main__":
    main()
