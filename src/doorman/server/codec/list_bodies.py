"""The bytes of a list, piece by piece. Versions of objects never change, so a list on its way stays as it was.

How long it will be is told in advance: some clients read twice as fast when they know.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from doorman.registry.cache.stored_object import AFTER_REVISION, ITEM_HEAD, Stored

PIECE_BYTES: Final = 256 * 1024
"""About so much is joined at once: enough to be fast, little enough not to hold the loop or double the memory."""

_SEPARATOR: Final = b","
_NEXT_ITEM: Final = _SEPARATOR + ITEM_HEAD
_ITEM_FRAME_BYTES: Final = len(_NEXT_ITEM) + len(AFTER_REVISION)
_END: Final = b"]}"


class ListBody:
    """`head` is all there is before the first item."""

    def __init__(self, head: bytes, items: Sequence[Stored]) -> None:
        self._head = head
        self._items = items
        self.length = len(head) + _items_bytes(items) + len(_END)

    def __iter__(self) -> Iterator[bytes]:
        items, separator = self._items, ITEM_HEAD
        pieces = [self._head]
        step = max(PIECE_BYTES * len(items) // self.length, 1)
        for start in range(0, len(items), step):
            for stored in items[start : start + step]:
                pieces += (separator, b"%d" % stored.revision, AFTER_REVISION, stored.value)
                separator = _NEXT_ITEM
            yield b"".join(pieces)
            pieces.clear()
        pieces.append(_END)
        yield b"".join(pieces)


def _items_bytes(items: Sequence[Stored]) -> int:
    if not items:
        return 0
    revisions = [stored.revision for stored in items]
    digits = len(str(max(revisions)))
    # Revisions of a list mostly have as many digits.
    revision_bytes = digits * len(items) if digits == len(str(min(revisions))) else sum(map(len, map(str, revisions)))
    values = sum([len(stored.value) for stored in items])
    return values + revision_bytes + len(items) * _ITEM_FRAME_BYTES - len(_SEPARATOR)


def encoded_list(head: bytes, items: Iterable[bytes]) -> Iterator[bytes]:
    """The same of items that are encoded on the way: how long it will be is not known."""
    yield head
    separator = b""
    for item in items:
        yield separator + item
        separator = _SEPARATOR
    yield _END
