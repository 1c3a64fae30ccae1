"""What an event loop says of exceptions that nobody took.

A connection that breaks, a client that speaks no TLS and a store that has failed are not faults of the code: each is
one line. Everything else is a bug and keeps its traceback.
"""

import asyncio
import logging
from typing import Any, Final

from doorman.base.errors import ApiError

_log: Final = logging.getLogger("doorman.loop")


def tell_in_one_line(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # asyncio's own form
    """An exception handler for a loop. Errors of TLS and of connections are all OSErrors."""
    error = context.get("exception")
    if isinstance(error, OSError | EOFError | ApiError):
        message = " ".join(str(context.get("message", "")).split())
        _log.warning("%s: %s", message, " ".join(str(error).split()) or type(error).__name__)
    else:
        loop.default_exception_handler(context)
