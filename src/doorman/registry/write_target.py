"""What a write is about: an object, and the subresource through which it is written; or one that is new."""

from collections.abc import Callable

import msgspec

from doorman.api.kinds import Kind
from doorman.base.clock import Instant
from doorman.base.json_types import Document


class SubresourceObject(msgspec.Struct, frozen=True, kw_only=True):
    """A subresource that is an object of a kind of its own: a scale.

    It is not stored. What is written to it is written to the object it is a part of; admission sees the part alone.
    """

    subresource: str
    type_name: str
    show: Callable[[Document], Document]
    """The part of a whole."""
    put: Callable[[Document, Document], Document]
    """A whole with another part. Neither is changed."""


class WriteTarget(msgspec.Struct, frozen=True, gc=False):
    kind: Kind
    namespace: str
    name: str
    subresource: str = ""
    """Of an object that is written in part: its status, its finalizers."""
    part: SubresourceObject | None = None
    """The subresource, if it is an object of its own: then the whole object is written."""

    @property
    def store_key(self) -> str:
        return self.kind.store_key(self.namespace, self.name)

    @property
    def endpoint(self) -> str:
        """The subresource that the request names, as admission and field owners see it."""
        return self.subresource if self.part is None else self.part.subresource


class NewObject(msgspec.Struct, kw_only=True):
    """A new object, complete but for its name, its uid and what depends on them."""

    kind: Kind
    now: Instant
    doc: Document = {}
    name: str = ""
    """As the client chose it, or empty."""
    generate_name: str = ""
