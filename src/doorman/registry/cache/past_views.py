"""Versions that are past and keep their views for a moment, because informers are about to be told of them.

Of all kinds together: who writes a little of everything does not make each kind keep hundreds.
"""

from collections import deque
from typing import Final

from doorman.registry.cache.stored_object import Stored

PAST_VIEWS_MAX: Final = 1024
PAST_VIEWS_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of the objects' JSON."""


class PastViews:
    def __init__(self) -> None:
        self._past: deque[Stored] = deque()
        self._bytes = 0

    def add(self, stored: Stored) -> None:
        self._past.append(stored)
        self._bytes += len(stored.value)
        while len(self._past) > PAST_VIEWS_MAX or self._bytes > PAST_VIEWS_BYTES_MAX:
            oldest = self._past.popleft()
            self._bytes -= len(oldest.value)
            oldest.forget_view()
