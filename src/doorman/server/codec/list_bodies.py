"""The bytes of a list, piece by piece. Versions of objects never change, so a list on its way stays as it was.

How long it will be is told in advance: some clients read twice as fast when they know.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

import msgspec

from doorman.base.json_types import Document
from doorman.registry.cache.stored_object import AFTER_REVISION, ITEM_HEAD, Stored
from doorman.server.codec.yaml_output import member_order, to_yaml

PIECE_BYTES: Final = 256 * 1024
"""About so much is joined at once: enough to be fast, little enough not to hold the loop or double the memory."""

MADE_PIECE_BYTES: Final = 64 * 1024
"""The same of what is decoded, changed and encoded again for it, which takes much longer."""

_encode: Final = msgspec.json.Encoder().encode
_SEPARATOR: Final = b","
_END: Final = b"]}"


class ListPage(msgspec.Struct, frozen=True, kw_only=True):
    items: list[Stored]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


class ListBody:
    """`head` is all there is before the first item, `item_head` what each begins with."""

    def __init__(self, head: bytes, items: Sequence[Stored], item_head: bytes = ITEM_HEAD) -> None:
        self._head = head
        self._items = items
        self._item_head = item_head
        self.length = len(head) + _items_bytes(items, len(item_head)) + len(_END)

    def __iter__(self) -> Iterator[bytes]:
        items, separator = self._items, self._item_head
        next_item = _SEPARATOR + self._item_head
        pieces = [self._head]
        step = max(PIECE_BYTES * len(items) // self.length, 1)
        for start in range(0, len(items), step):
            for stored in items[start : start + step]:
                pieces += (separator, b"%d" % stored.revision, AFTER_REVISION, stored.value)
                separator = next_item
            yield b"".join(pieces)
            pieces.clear()
        pieces.append(_END)
        yield b"".join(pieces)


def _items_bytes(items: Sequence[Stored], head_bytes: int) -> int:
    if not items:
        return 0
    revisions = [stored.revision for stored in items]
    digits = len(str(max(revisions)))
    # Revisions of a list mostly have as many digits.
    revision_bytes = digits * len(items) if digits == len(str(min(revisions))) else sum(map(len, map(str, revisions)))
    values = sum([len(stored.value) for stored in items])
    frame_bytes = len(_SEPARATOR) + head_bytes + len(AFTER_REVISION)
    return values + revision_bytes + len(items) * frame_bytes - len(_SEPARATOR)


class Form(Enum):
    """How a list that is made on the way is written."""

    COMPACT = 0
    INDENTED = 1
    YAML = 2


def list_pieces(head: Document, member: str, items: Iterable[Document], form: Form) -> Iterator[bytes]:
    """A list of items that are made one by one, as they are asked for: how long it will be is not known.

    `head` is all there is beside the items, which are the last member; but for YAML, whose members are in order.
    """
    first, separator, last, empty, write = _WRITERS[form](head, member)
    gathered, size = [first], len(first)
    is_empty = True
    for item in items:
        piece = write(item)
        if not is_empty:
            gathered.append(separator)
        is_empty = False
        gathered.append(piece)
        size += len(piece)
        if size >= MADE_PIECE_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    gathered.append(empty if is_empty else last)
    yield b"".join(gathered)


Writer = tuple[bytes, bytes, bytes, bytes, Callable[[Document], bytes]]
"""What comes first, between items, last, and instead of that where there are none; and how an item is written."""


def _compact(head: Document, member: str) -> Writer:
    return _encode(head)[:-1] + b',"%s":[' % member.encode(), _SEPARATOR, _END, _END, _encode


def _indented(head: Document, member: str) -> Writer:
    shown = msgspec.json.format(_encode(head), indent=2).removesuffix(b"\n}")
    return shown + b',\n  "%s": [' % member.encode(), _SEPARATOR, b"\n  ]\n}\n", b"]\n}\n", _indented_item


def _indented_item(item: Document) -> bytes:
    return b"\n    " + msgspec.json.format(_encode(item), indent=2).replace(b"\n", b"\n    ")


def _yaml(head: Document, member: str) -> Writer:
    place = member_order(member)
    before = {name: value for name, value in head.items() if member_order(name) < place}
    after = {name: value for name, value in head.items() if member_order(name) > place}
    first, rest = (to_yaml(part) if part else b"" for part in (before, after))
    return first + b"%s:" % member.encode(), b"", b"\n" + rest, b" []\n" + rest, _yaml_item


def _yaml_item(item: Document) -> bytes:
    return b"\n" + to_yaml([item]).removesuffix(b"\n")


_WRITERS: Final = {Form.COMPACT: _compact, Form.INDENTED: _indented, Form.YAML: _yaml}
