"""A front and its link to the server in the test's own process, over real sockets: `doorman up` runs two processes."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from doorman.front.connection_limits import ConnectionLimits
from doorman.front.connections import Connections
from doorman.front.tls import AUTHORITY, CERTIFICATE, KEY
from doorman.runtime.access.credentials import Credentials, write_private
from doorman.runtime.real_time.serve import listen
from doorman.server.front_link import FrontLink
from doorman.server.pipeline import Pipeline


@asynccontextmanager
async def listening(
    pipeline: Pipeline, credentials: Credentials, folder: Path, limits: ConnectionLimits | None = None
) -> AsyncIterator[int]:
    """Gives the port."""
    write_private(folder / CERTIFICATE, credentials.server_certificate)
    write_private(folder / KEY, credentials.server_key)
    write_private(folder / AUTHORITY, credentials.ca_certificate)
    loop = asyncio.get_running_loop()
    listener = listen("127.0.0.1", 0)
    connections, front_link = Connections(listener, limits or ConnectionLimits()), FrontLink(pipeline)
    for end, protocol in zip(socket.socketpair(), (connections, front_link), strict=True):
        await loop.create_connection(lambda protocol=protocol: protocol, sock=end)  # type: ignore[misc]  # bound now
    front_link.listen(str(folder))
    await front_link.is_ready.wait()
    try:
        yield listener.getsockname()[1]
    finally:
        await front_link.stop()
        await connections.is_over.wait()
