"""The contract of a controller.

A controller file has three parts in this order: `SOURCES` (which kinds wake it, and which keys an observed
change maps to), `decide_*` (pure functions), and the class whose `reconcile` only looks up, decides and
returns. It never awaits, never reads a clock, never writes: the runner that owns it (`ControllerRunner`) feeds
keys, executes the actions in order and wakes keys when they asked for it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.client.actions import Action
from doorman.client.informer_cache import ListerOf


class ObjectChange(msgspec.Struct, frozen=True):
    """One object as an informer saw it change. `old` is None for an add, `new` for a delete."""

    resource: str
    old: Any  # a view of the resource's kind; each source knows which
    new: Any
    newest: Any = None
    """The new one, or the old one of an object that is gone: most sources ask for it, so it is found once."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "newest", self.new if self.new is not None else self.old)


class Source(msgspec.Struct, frozen=True):
    """Changes of `resource` wake the keys that `keys` gives for them."""

    resource: str
    keys: Callable[[ObjectChange], Iterable[str]]
    only_with: str = ""
    """A kind without which these changes concern nobody: the first object of it looks at everything by itself."""


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """What the runner does when an action of a result fails: try the key again, so often, so much later."""

    attempts_max: int = 15
    delay_seconds: float = 0.005
    factor: float = 2.0
    delay_seconds_max: float = 1000.0


NO_RETRY: Final = Retry(attempts_max=1)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What `reconcile` wants: actions in order (the first failure ends the list), and keys to wake later."""

    actions: Sequence[Action] = ()
    wakes: Sequence[tuple[str, Instant]] = ()
    retry: Retry = Retry()


DONE = Result()


class Controller(Protocol):
    @property
    def name(self) -> str:
        """kube-controller-manager's name for it, as `--controllers` takes it."""
        ...

    @property
    def sources(self) -> Sequence[Source]: ...

    @property
    def workers(self) -> int:
        """How many keys may have actions under way at once. One key never has two."""
        ...

    def start(self, now: Instant) -> Result:
        """Called once when every informer is filled. `Result.wakes` may name keys of its own."""
        ...

    def reconcile(self, key: str, now: Instant) -> Result: ...

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The retries of `key` are used up."""
        ...


@runtime_checkable
class KindFollower(Protocol):
    """A controller that looks after objects of every kind, also of kinds that come later."""

    def add_kind(self, resource: str, lister: ListerOf[Any], *, namespaced: bool) -> Sequence[Source]:
        """A custom kind is served from now on; gives the sources by which it wants to be woken."""
        ...


@runtime_checkable
class ClockFollower(Protocol):
    """A controller that keeps instants in memory, by which it counts durations."""

    def clock_was_set(self, seconds: float) -> None:
        """The time of day is so much later than it would be: every instant that is kept moves along."""
        ...


@runtime_checkable
class FailureListener(Protocol):
    """A controller that wants to hear of every failure, not only of the last."""

    def failed(self, key: str, error: ApiError) -> None:
        """An action for `key` failed; it is tried again."""
        ...


@runtime_checkable
class LooksLast(Protocol):
    """A controller that, in virtual time, looks when all others are done at an instant: once at what each pod went
    through, and not at every step of it.
    """

    @property
    def looks_last(self) -> bool: ...
