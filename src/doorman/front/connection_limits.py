"""What a client may take: of memory, and of time."""

from typing import Final, NamedTuple

from doorman.base.bounds import ALL_BODIES_BYTES_MAX, BODY_BYTES_MAX, HEAD_BYTES_MAX, URL_BYTES_MAX

BACKLOG: Final = 4096
"""So many connections may wait to be taken."""


class ConnectionLimits(NamedTuple):
    head_bytes: int = HEAD_BYTES_MAX
    """Of a request line and its headers."""
    url_bytes: int = URL_BYTES_MAX
    body_bytes: int = BODY_BYTES_MAX
    all_bodies_bytes: int = ALL_BODIES_BYTES_MAX
    """Of all requests that are not answered."""
    head_seconds: float = 30.0
    """From the connection, or the first byte of a request, to the end of its headers."""
    request_seconds: float = 60.0
    """The same to the end of its body."""
    unread_seconds: float = 60.0
    """How long an answer may wait for a client that does not read."""
    idle_seconds: float = 120.0
    """How long a connection is kept for a next request."""
    sweep_seconds: float = 5.0
    """How often it is looked whether somebody takes longer."""
