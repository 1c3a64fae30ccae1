"""List and watch of one kind over HTTP: documents as bytes, and what an interruption means.

    fill ──► follow ──► (an interruption) ──► follow from where it was, or fill again

Fill is a watch that tells everything first, or a list where a server does not know that; follow is the same watch, or
one from the list's version. `decide_next` says what comes after an interruption.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Mapping
from enum import Enum
from typing import Final

import msgspec

from doorman.base.errors import ApiError
from doorman.client.client import Disconnected
from doorman.client.command_line.api_client import error_of
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_connection import BrokenConnection

PAGE_ITEMS: Final = 500
WATCH_SECONDS: Final = (300.0, 600.0)
SILENT_SECONDS: Final = 30.0
"""A watch that is over for so long and has not ended is cut."""
TOO_LARGE: Final = "ResourceVersionTooLarge"
LINE_BYTES_MAX: Final = 1 << 28


class Resumption(Enum):
    """What comes after an interruption."""

    FOLLOW = "follow"
    FILL = "fill"
    ABSENT = "absent"
    """The server does not have this kind."""
    REFUSED = "refused"
    """It may not be read."""


class Interrupted(Exception):
    """A list or a watch that ended with an error."""

    def __init__(self, following: Resumption, error: Exception) -> None:
        super().__init__(str(error))
        self.following = following


def decide_next(error: Exception, *, is_filled: bool) -> Resumption:
    """
    >>> decide_next(ApiError(410, "Expired", ""), is_filled=True)
    <Resumption.FILL: 'fill'>
    >>> decide_next(ApiError(429, "TooManyRequests", ""), is_filled=True)
    <Resumption.FOLLOW: 'follow'>
    """
    if isinstance(error, ApiError) and error.code in (404, 405):
        return Resumption.ABSENT
    if isinstance(error, ApiError) and error.code == 403:
        return Resumption.REFUSED
    is_passing = isinstance(error, Disconnected) or (isinstance(error, ApiError) and error.code == 429)
    return Resumption.FOLLOW if is_passing and is_filled else Resumption.FILL


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class ObjectList(msgspec.Struct, frozen=True):
    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None


class WatchedEvent(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


_decode_list: Final = msgspec.json.Decoder(ObjectList).decode
_decode_event: Final = msgspec.json.Decoder(WatchedEvent).decode


class ListWatch:
    def __init__(
        self, requests: ApiRequests, path: str, rng: random.Random, selector: Mapping[str, str] | None = None
    ) -> None:
        self._requests = requests
        self._path = path
        self._rng = rng
        self._selector = dict(selector or {})

    async def read(self, version: str = "") -> tuple[list[msgspec.Raw], str]:
        """All objects, and the version they are of. `version`: what was last known, so that nothing goes back."""
        try:
            if version:
                return await self._pages({"resourceVersion": version})
            return await self._pages({"resourceVersion": "0", "limit": str(PAGE_ITEMS)})
        except ApiError as error:
            is_too_new = error.code == 504 and any(cause.reason == TOO_LARGE for cause in error.causes)
            if error.code != 410 and not is_too_new:
                raise
            return await self._pages({})  # consistent

    async def _pages(self, query: Mapping[str, str]) -> tuple[list[msgspec.Raw], str]:
        found: list[msgspec.Raw] = []
        more: Mapping[str, str] = query
        while True:
            content = await self._requests.request("GET", self._path, query={**self._selector, **more})
            page = _decode_list(content)
            found += page.items or ()
            if not page.metadata.continue_:
                return found, page.metadata.resource_version
            more = {"limit": query.get("limit", str(PAGE_ITEMS)), "continue": page.metadata.continue_}

    async def watch(self, version: str, *, initial: bool = False) -> AsyncGenerator[list[WatchedEvent]]:
        """Events after that version, those that come together at once. Raises `ApiError` for an ERROR event.

        `initial`: everything first, as additions, until a bookmark says that this is all.
        """
        seconds = round(self._rng.uniform(*WATCH_SECONDS))
        query = {**self._selector, "watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        if version:
            query["resourceVersion"] = version
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        rest = b""
        end = asyncio.get_running_loop().time() + seconds + SILENT_SECONDS
        async with self._requests.stream(self._path, query) as pieces:
            try:
                while True:
                    async with asyncio.timeout_at(end):
                        piece = await anext(pieces, None)
                    if piece is None:
                        return
                    *lines, rest = (rest + piece).split(b"\n")
                    events = [_decode_event(line) for line in lines if line.strip()]
                    for number, event in enumerate(events):
                        if event.type == "ERROR":
                            if number:
                                yield events[:number]
                            raise _error_in(event)
                    if events:
                        yield events
                    if len(rest) > LINE_BYTES_MAX:
                        raise BrokenConnection("an event that does not end")
            except (BrokenConnection, TimeoutError) as error:
                raise Disconnected(str(error) or "a watch that did not end in time") from error


def _error_in(event: WatchedEvent) -> ApiError:
    status = msgspec.json.decode(event.object)
    code = status.get("code") if isinstance(status, dict) else None
    return error_of(code if isinstance(code, int) else 500, bytes(event.object))
