"""The store's contract, small enough for a page.

- There is one revision counter. Every write takes the next number; numbers never repeat, also after a restart.
- `commit` is compare-and-swap: it names the revision it expects the key to have. It returns when the write is
  durable; nobody sees a write before that.
- `events_after(n)` gives every published write after revision n, in order, without gaps, or raises `Compacted`.
  Readers keep a cursor; the store does not know them, it only calls the wakers when there is something new.
- `peek` gives the newest value of a key, durable or not yet. It is for the next writer, who would otherwise
  lose the race against a write that is on its way to the disk.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

import msgspec

from doorman.base.errors import ApiError, internal
from doorman.base.reader_faults import ReaderFaults

ABSENT: Final = 0
"""The revision of a key that holds nothing: `expected=ABSENT` creates."""
ANSWER_SECONDS: Final = 2.0
"""How long whoever asks whether a store answers waits for it."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A value as it was written at a revision."""

    key: str
    value: bytes
    revision: int
    created: int
    """The revision at which the key began to exist without interruption."""


class StoreEvent(msgspec.Struct, frozen=True, gc=False):
    """One write. `entry` is None when the key was deleted, `previous` when it began to exist."""

    revision: int
    key: str
    entry: Entry | None
    previous: Entry | None


class StoreError(Exception):
    """Base of what a store refuses or cannot do."""


class Conflict(StoreError):
    """The key is not at the revision the writer expected."""

    def __init__(self, key: str, expected: int, current: Entry | None) -> None:
        super().__init__(f"{key}: expected revision {expected}, found {current.revision if current else ABSENT}")
        self.key = key
        self.current = current


class Compacted(StoreError):
    """The events asked for are no longer kept."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is older than {oldest}")
        self.oldest = oldest


class Unusable(StoreError):
    """The place the store lives in cannot be used: not writable, corrupt, or held by another process."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Failed(StoreError, ApiError):
    """A write could not be made durable. The store takes no more writes: what is on disk is the truth."""

    def __init__(self, message: str) -> None:
        known = internal(message)
        ApiError.__init__(self, known.code, known.reason, known.message, details=known.details, causes=known.causes)


class Write(msgspec.Struct, frozen=True, gc=False):
    """Put `value` under `key`, or delete the key when it is None, if the key is at revision `expected`."""

    key: str
    value: bytes | None
    expected: int


class Store(Protocol):
    @property
    def faults(self) -> ReaderFaults:
        """Where the exceptions of those who read from this store end."""
        ...

    @property
    def revision(self) -> int:
        """The newest published revision."""
        ...

    @property
    def epoch(self) -> int:
        """Another number when everything was read anew: what happened before that is not known without gaps."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether others write to the same place: what is published here may be behind."""
        ...

    async def catch_up(self) -> None:
        """Return when all that was written anywhere before this call is published here."""
        ...

    async def refresh(self, key: str) -> Entry | None:
        """What the key holds, wherever it was written, when it is durable; `peek` gives the same from then on."""
        ...

    def peek(self, key: str) -> Entry | None: ...

    def pending(self) -> Iterable[StoreEvent]:
        """Writes that were taken and are not published yet, oldest first."""
        ...

    def entries(self) -> Iterator[Entry]:
        """Everything published, in order of keys."""
        ...

    def events_after(self, revision: int) -> Sequence[StoreEvent]: ...

    @property
    def is_well(self) -> bool:
        """False: something went wrong on the disk. What is published can be read, nothing more is written."""
        ...

    async def answers(self, seconds: float = ANSWER_SECONDS) -> bool:
        """Whether a write would be made durable before long. It may take a moment to find out."""
        ...

    def add_waker(self, waker: Callable[[], None]) -> None:
        """Have `waker` called after each publication. What it raises reaches neither the writer nor other wakers."""
        ...

    async def commit(self, write: Write) -> StoreEvent: ...

    async def take(self, write: Write) -> StoreEvent:
        """The same for who writes again at once, and waits for that: it has its place in the order, and need not be
        durable or published yet. Writes become so in their order, so who commits a later one waits for both. Where
        others write, it is durable, and only readers here need not see it yet.
        """
        ...

    async def commit_with(self, write: Write, beside: Sequence[Write]) -> StoreEvent:
        """`commit`, of writes of different keys: either all are taken, at once also where others write, or `Conflict`
        is raised and none is.
        """
        ...

    async def commit_all(self, writes: Sequence[Write]) -> Sequence[StoreEvent]:
        """Writes of different keys, together. Where nobody else writes either all are taken, or `Conflict` is raised
        and none is.
        """
        ...

    async def close(self) -> None: ...
