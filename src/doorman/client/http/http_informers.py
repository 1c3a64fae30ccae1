"""The informers of a component that reads over HTTP, made when first asked for."""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from doorman.api.kinds import Kinds
from doorman.api.views.meta import Object, view_decoder
from doorman.api.views.view_types import VIEWS
from doorman.base.clock import Clock
from doorman.base.reader_faults import ReaderFaults
from doorman.client.http.api_requests import ApiRequests
from doorman.client.http.http_informer import HttpInformer
from doorman.client.http.list_watch import ListWatch
from doorman.client.http.remote_client import path_of
from doorman.client.http.unseen_writes import NotedWrite
from doorman.client.informer_cache import InformerCache


class HttpInformers:
    def __init__(
        self,
        requests: ApiRequests,
        kinds: Kinds,
        clock: Clock,
        faults: ReaderFaults,
        new_cache: Callable[[str], InformerCache[Any]],
        *,
        selectors: Mapping[str, Mapping[str, str]] | None = None,
        optional: Iterable[str] = (),
        documents: Iterable[str] = (),
        is_streamed: bool = True,
    ) -> None:
        """`new_cache` makes the cache of a kind; `selectors` narrow what is asked for, by kind.

        `optional` kinds may be refused; of those in `documents` the bytes are kept. `is_streamed`: they are filled by
        watches that tell everything first, where the server has these.
        """
        self._is_streamed = is_streamed
        self._requests = requests.variant(retries_max=0)  # informers wait by rules of their own
        self._kinds = kinds
        self._clock = clock
        self._faults = faults
        self._new_cache = new_cache
        self._selectors = selectors or {}
        self._optional = frozenset(optional)
        self._documents = frozenset(documents)
        self._rng = random.Random()
        self._informers: dict[str, HttpInformer] = {}

    def of(self, resource: str) -> HttpInformer:
        found = self._informers.get(resource)
        if found is None:
            found = self._informers[resource] = self._make(resource)
        return found

    def _make(self, resource: str) -> HttpInformer:
        kind = self._kinds.stored(self._kinds.named(resource))
        source = ListWatch(self._requests, path_of(kind), self._rng, self._selectors.get(resource))
        decode = view_decoder(VIEWS.get(kind.storage, Object))
        return HttpInformer(
            resource,
            source,
            self._new_cache(resource),
            decode,
            self._clock,
            self._rng,
            self._faults,
            is_optional=resource in self._optional,
            keeps_documents=resource in self._documents,
            is_streamed=self._is_streamed,
        )

    def lister(self, resource: str) -> InformerCache[Any]:
        return self.of(resource).cache

    def live(self, resource: str) -> "InformerLister":
        return InformerLister(self.of(resource))

    def all(self) -> Sequence[HttpInformer]:
        return list(self._informers.values())

    def document(self, resource: str, key: str) -> bytes | None:
        """The newest version that is known, of kinds whose documents are kept; empty: none is."""
        found = self._informers.get(resource)
        return found.documents.get(key, b"") if found is not None and found.documents is not None else None

    def seen(self, written: NotedWrite) -> "asyncio.Future[None] | None":
        """Done when informers show that write; None when they do, or nobody follows that kind."""
        found = self._informers.get(written.resource)
        return found.seen(written) if found is not None else None

    def start(self) -> None:
        for informer in self.all():
            informer.start()

    async def filled(self) -> None:
        """When all are."""
        await asyncio.gather(*(informer.filled.wait() for informer in self.all()))

    @property
    def missing(self) -> Sequence[str]:
        """Kinds that are not filled yet."""
        return [informer.resource for informer in self.all() if not informer.filled.is_set()]

    @property
    def trouble(self) -> str:
        """What keeps those from being filled, as far as it is known."""
        return next((informer.trouble for informer in self.all() if informer.trouble), "")

    def stop(self) -> None:
        for informer in self.all():
            informer.stop()


class InformerLister:
    """Reads an informer's cache and says of which version it is: over HTTP nothing newer is known."""

    def __init__(self, informer: HttpInformer) -> None:
        self._informer = informer
        self._cache = informer.cache

    def __len__(self) -> int:
        return len(self._cache)

    def get(self, key: str) -> Any:  # the view of the kind
        return self._cache.get(key)

    def list(self) -> Sequence[Any]:
        return self._cache.list()

    def by(self, index: str, value: str) -> Sequence[Any]:
        return self._cache.by(index, value)

    def places(self, index: str) -> Sequence[str]:
        return self._cache.places(index)

    @property
    def revision(self) -> int:
        return self._informer.revision

    def until(self, revision: int) -> Sequence[str]:
        def at(version: str) -> int:
            return int(version) if version.isdecimal() else 0

        return [key for key, obj in self._cache.objects.items() if at(obj.metadata.resource_version) <= revision]
