"""Where the exception of a reader of the store ends.

Everything that is made of stored objects (watch cache, custom kinds, informers, controllers, scheduler, totals) reads
what somebody else wrote. When it cannot take an object, that is a fault of the reader and of nobody else: it is logged
with the object's key and revision, counted by reader, and the object is named until it is written again or deleted.
The reader goes on with what comes next, or is made again from a list.

    writer ── publish ──►│ reader A   an exception ends here, at `caught`
                         │ reader B   hears of the same event all the same
"""

import logging
from collections import Counter
from typing import Final

import msgspec

from doorman.base.errors import ApiError

SET_ASIDE_MAX: Final = 1000
"""So many objects are named; faults beyond them are counted and logged alone."""

PLACES_MAX: Final = 1000
"""So many places in the code are remembered for which the traceback was logged."""

_log: Final = logging.getLogger("doorman.readers")


class SetAside(msgspec.Struct, frozen=True):
    """A stored object that a reader could not take."""

    key: str
    revision: int
    reader: str


class ReaderFaults:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """By reader."""
        self._aside: dict[str, SetAside] = {}
        self._places: set[tuple[str, str, int]] = set()

    def caught(self, reader: str, error: Exception, *, key: str = "", revision: int = 0, about: str = "") -> None:
        """The end of an exception. With a key it was about one stored object, which is named from now on."""
        self.counts[reader] += 1
        if key and len(self._aside) < SET_ASIDE_MAX:
            self._aside[key] = SetAside(key, revision, reader)
        place = _place_of(error)
        is_new = (reader, *place) not in self._places
        if is_new and len(self._places) < PLACES_MAX:
            self._places.add((reader, *place))
        subject = f"{key} at revision {revision} is set aside" if key else about or "a fault"
        # An ApiError lies in the data, and its message says everything. Of others the traceback, once for each place: a
        # thousand objects of the same shape are a thousand lines and no more.
        trace = error if is_new and not isinstance(error, ApiError) else None
        _log.error("%s: %s: %s: %s", reader, subject, type(error).__name__, error, exc_info=trace)

    def written(self, key: str) -> None:
        """There is another version of the object, or none: what was said of the last one is past."""
        self._aside.pop(key, None)

    @property
    def set_aside(self) -> list[SetAside]:
        """In order of keys."""
        return [self._aside[key] for key in sorted(self._aside)]


def _place_of(error: Exception) -> tuple[str, int]:
    trace = error.__traceback__
    if trace is None:
        return "", 0
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename, trace.tb_lineno
