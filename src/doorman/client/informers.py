"""What components read from: informers, whether they follow a watch cache in process or an API server over HTTP."""

from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, Final, Protocol

from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import InformerCache, ListerOf

Listener = Callable[[ObjectChange], None]

INFORMER_READER: Final = "informer"
"""Whose faults they are, where nobody else is named."""

NOTHING_NEEDED: Final = ("",)
"""Of a listener whom every change concerns."""


class Informer(Protocol):
    """Follows one kind, fills its cache and tells its listeners."""

    @property
    def resource(self) -> str: ...

    @property
    def cache(self) -> InformerCache[Any]: ...

    @property
    def is_following(self) -> bool: ...

    def listen(self, listener: Listener, reader: str = ..., needed: Sized = ...) -> None:
        """`reader` is whose faults they are should it not be able to take a change. As long as there is nothing in
        `needed`, changes do not concern it, and it is not called.
        """
        ...

    def forget(self, reader: str) -> None:
        """Its listeners hear no more."""
        ...

    def start(self) -> None: ...

    def announce(self, reader: str = "") -> None:
        """Tell listeners, or only those of one who came later, of everything that is already there, as additions."""
        ...

    def stop(self) -> None: ...


class LiveListerOf(ListerOf[Any], Protocol):
    """Reads what the server has, as far as that is known, and when it was written."""

    @property
    def revision(self) -> int: ...

    def until(self, revision: int) -> Sequence[str]:
        """Keys of those last written at that revision or before."""
        ...


class Informers(Protocol):
    """The informers of one process, made when first asked for."""

    def of(self, resource: str) -> Informer: ...

    def lister(self, resource: str) -> InformerCache[Any]: ...

    def live(self, resource: str) -> LiveListerOf: ...

    def all(self) -> Iterable[Informer]: ...
