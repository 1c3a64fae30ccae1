"""The cache an informer fills: the newest known view of every object of one kind, with indexes.

One owner (the informer's pump) calls `put` and `remove`; everybody else reads. `ListerOf` is what readers
are given.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Indexer = Callable[[T], Sequence[str]]


class ListerOf(Protocol[T_co]):
    def get(self, key: str) -> T_co | None:
        """By `namespace/name`, or by name for objects of the cluster."""
        ...

    def list(self) -> Sequence[T_co]:
        """All, in order of their keys."""
        ...

    def by(self, index: str, value: str) -> Sequence[T_co]:
        """Those the index files under `value`, in order of their keys."""
        ...

    def places(self, index: str) -> Sequence[str]:
        """The values under which the index files anything, in no order that means something."""
        ...

    def __len__(self) -> int: ...


class InformerCache(Generic[T]):
    """
    >>> cache = InformerCache({"first": lambda word: [word[0]]})
    >>> cache.put("k1", "apple"), cache.put("k2", "avocado"), cache.put("k1", "banana")
    (None, None, 'apple')
    >>> cache.by("first", "a"), cache.by("first", "b"), cache.by("first", "x")
    (['avocado'], ['banana'], [])
    """

    def __init__(
        self,
        indexers: Mapping[str, Indexer[T]] | None = None,
        moved: Callable[[T, T], Iterable[str] | None] = lambda _old, _new: None,
    ) -> None:
        """`moved`: the indexes in which two versions may be in different places; None: in any."""
        self._objects: dict[str, T] = {}
        self._keys: list[str] | None = []
        """In order; None when they have changed since they were last asked for."""
        self._list: list[T] | None = None
        """What was given to whoever asked last; None when something has changed since."""
        self._indexers = dict(indexers or {})
        self._moved = moved
        self._indexes: dict[str, dict[str, dict[str, None]]] = {name: {} for name in self._indexers}
        """Keys only: a new version in the same places changes nothing here."""
        self._orders: dict[tuple[str, str], list[str]] = {}
        """The keys in one place in order, until one comes or goes."""

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def objects(self) -> Mapping[str, T]:
        """By key, in no order that means something; always the newest."""
        return self._objects

    def __iter__(self) -> Iterator[T]:
        return iter(self.list())

    def get(self, key: str) -> T | None:
        return self._objects.get(key)

    def list(self) -> Sequence[T]:
        """The very list of the last time when nothing has changed since, so that whoever asks can tell."""
        if self._list is None:
            if self._keys is None:
                self._keys = sorted(self._objects)
            self._list = [self._objects[key] for key in self._keys]
        return self._list

    def by(self, index: str, value: str) -> Sequence[T]:
        filed = self._indexes[index].get(value)
        if not filed:
            return []
        if len(filed) == 1:
            return [self._objects[key] for key in filed]
        order = self._orders.get((index, value))
        if order is None:
            order = self._orders[index, value] = sorted(filed)
        return [self._objects[key] for key in order]

    def places(self, index: str) -> Sequence[str]:
        return list(self._indexes[index])

    def put(self, key: str, value: T) -> T | None:
        """Store the newest view; gives the one before."""
        old = self._objects.get(key)
        self._objects[key] = value
        self._list = None
        if old is None:
            self._keys = moved = None
        else:
            moved = self._moved(old, value)
        for name in self._indexers if moved is None else moved:
            indexer = self._indexers[name]
            places = indexer(value)
            if old is not None:
                before = indexer(old)
                if before == places:
                    continue
                for place in before:
                    if place not in places:
                        self._unfile(name, key, place)
            index = self._indexes[name]
            for place in places:
                filed = index.get(place)
                if filed is None:
                    index[place] = {key: None}
                elif key not in filed:
                    filed[key] = None
                    self._orders.pop((name, place), None)
        return old

    def remove(self, key: str) -> T | None:
        old = self._objects.pop(key, None)
        if old is not None:
            self._keys = self._list = None
            for name, indexer in self._indexers.items():
                for filed in indexer(old):
                    self._unfile(name, key, filed)
        return old

    def _unfile(self, name: str, key: str, place: str) -> None:
        filed = self._indexes[name].get(place)
        if filed is not None:
            filed.pop(key, None)
            self._orders.pop((name, place), None)
            if not filed:
                del self._indexes[name][place]
