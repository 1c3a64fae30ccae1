"""A new object on its way: complete but for its name and uid, which are tried until one is free."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from doorman.admission.plugin_contract import Attributes, ClusterReader
from doorman.api.kinds import Kind
from doorman.api.machinery.schema import Document
from doorman.api.well_known import JOBS
from doorman.base.clock import Instant
from doorman.base.errors import invalid_object
from doorman.base.instants import to_time
from doorman.base.loop_turns import in_turn
from doorman.registry.cache.stored_object import to_kept_bytes
from doorman.registry.fastpath.create_cache import CachedCreate
from doorman.registry.kinds.job_strategy import forget_selector
from doorman.registry.kinds.service_allocators import SERVICES, Undo
from doorman.validation.metadata import validate_metadata
from doorman.validation.warnings import warnings_of

if TYPE_CHECKING:
    from doorman.registry.proposal import Proposer


class NewObject(Protocol):
    """A new object, complete but for its name and uid."""

    name: str
    """As the client chose it, or empty."""
    generate_name: str

    async def value(self, name: str, uid: str) -> bytes:
        """The kept bytes of the object under this name. Raises the refusal."""
        ...

    def undo(self) -> None:
        """The last value was not stored."""
        ...


class ProposedObject:
    """A draft that goes through every step."""

    def __init__(
        self,
        proposer: "Proposer",
        kind: Kind,
        doc: Document,
        attributes: Attributes,
        cluster: ClusterReader,
        now: Instant,
        *,
        weight_bytes: int,
    ) -> None:
        self._proposer = proposer
        self._weight_bytes = weight_bytes
        self._kind = kind
        self._doc = doc
        self._attributes = attributes
        self._cluster = cluster
        self._now = now
        self.name: str = doc["metadata"].get("name", "")
        self.generate_name: str = doc["metadata"].get("generateName", "")
        self.after: Callable[[], None] | None = None
        """Called when all steps are done."""
        self._undo: Undo | None = None

    async def value(self, name: str, uid: str) -> bytes:
        metadata = self._doc["metadata"]
        if name:
            metadata["name"] = name
        metadata["uid"] = uid
        metadata["creationTimestamp"] = to_time(self._now)
        await in_turn(self._weight_bytes, self._proposer.settle, self._kind, self._doc, self._now)
        self._attributes.warnings.extend(warnings_of(self._kind.storage, self._doc, None))
        await self._proposer.check(self._attributes, self._doc, self._cluster, self._now)
        if self._kind.storage == SERVICES:
            self._undo = self._proposer.numbers.assign(self._doc, None)
        if self.after is not None:
            self.after()
        return to_kept_bytes(self._doc)

    def undo(self) -> None:
        if self._undo is not None:
            self._undo()
        if self._kind.storage == JOBS:
            forget_selector(self._doc)


class CachedObject:
    """A draft of which only the name is new."""

    def __init__(self, kind: Kind, metadata: Document, pattern: CachedCreate, time: str) -> None:
        self._kind = kind
        self._pattern = pattern
        self._time = time
        self.name: str = metadata.get("name", "")
        self.generate_name: str = metadata.get("generateName", "")

    async def value(self, name: str, uid: str) -> bytes:
        if self.name:
            # A generated one is as good as what it was generated from, which the first of its kind had too.
            errors = validate_metadata({"metadata": {"name": name}})
            if errors:
                raise invalid_object(self._kind.kind, self._kind.group, name, errors)
        return self._pattern.value(name, uid, self._time)

    def undo(self) -> None:
        """It takes nothing that others could want."""


class CachedEvent:
    """A draft of which admission and field owners are known."""

    def __init__(self, proposer: "Proposer", kind: Kind, doc: Document, pattern: CachedCreate, now: Instant) -> None:
        self._proposer = proposer
        self._kind = kind
        self._doc = doc
        self._pattern = pattern
        self._now = now
        self.name: str = doc["metadata"].get("name", "")
        self.generate_name = ""

    async def value(self, name: str, uid: str) -> bytes:
        self._proposer.settle(self._kind, self._doc, self._now)
        return self._pattern.value(name, uid, to_time(self._now), self._doc)

    def undo(self) -> None:
        """It takes nothing that others could want."""
