"""An object as it is kept: bytes, once, shared by the store, lists and every watcher.

The bytes are the object's JSON without its head. `kind`, `apiVersion` and `metadata.resourceVersion` are not in
them: the first two depend on who asks (list items carry none), the last is known only when the store has taken
the write. So an answer is a head, the revision and the kept bytes, joined:

    {"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"   7   ","   name":"a",...},"spec":{...}}
    head                                                         revision  |    kept
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from doorman.api.views.meta import Object
from doorman.api.views.pods import Pod
from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.registry.cache.pod_views import PodViews
from doorman.store.store_contract import Entry

_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode
_skip: Final = msgspec.json.Decoder(msgspec.Raw).decode

_REVISION: Final = b'"resourceVersion":"'
ITEM_HEAD: Final = b'{"metadata":{' + _REVISION
AFTER_REVISION: Final = b'",'


class Unreadable(ApiError):
    """The kept bytes of an object are not what they must be. It can be deleted, and nothing else."""

    def __init__(self, key: str, error: Exception) -> None:
        super().__init__(500, "InternalError", f"the stored object {key} is damaged and can only be deleted: {error}")


def head_of(kind: str, api_version: str) -> bytes:
    """What an object begins with when it stands alone."""
    return b'{"kind":"%s","apiVersion":"%s","metadata":{"resourceVersion":"' % (kind.encode(), api_version.encode())


def to_kept_bytes(doc: Document) -> bytes:
    """The kept form of a document."""
    metadata = {key: value for key, value in doc["metadata"].items() if key != "resourceVersion"}
    rest = {key: value for key, value in doc.items() if key not in ("metadata", "kind", "apiVersion")}
    tail = _encode(rest)
    return _encode(metadata)[1:] + (b"," + tail[1:] if len(tail) > 2 else b"}")


class Stored:
    """One version of one object. Never changed; the view is decoded when first asked for."""

    __slots__ = ("_decoder", "_view", "base", "key", "revision", "value")

    def __init__(self, entry: Entry, key: str, decoder: Callable[[bytes], Any]) -> None:
        self.key = key
        """`namespace/name`, or the name of an object of the cluster."""
        self.revision = entry.revision
        self.value = entry.value
        self._decoder = decoder
        self._view: Any = None
        self.base: Stored | None = None
        """Of a version that the next one followed at once: the last before it that somebody looked at."""

    @property
    def namespace(self) -> str:
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    @property
    def view(self) -> Any:  # the view type of the kind, see doorman.api.views.view_types
        if self._view is None:
            try:
                self._view = self._decoder(self.json(ITEM_HEAD))
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                raise Unreadable(self.key, error) from error
        return self._view

    def check(self) -> None:
        """Raise `Unreadable` when there is no view of it, or no document. The view is not kept."""
        if self._view is None:
            try:
                self._decoder(self.json(ITEM_HEAD))
                self._check_text()
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                raise Unreadable(self.key, error) from error

    def check_syntax(self) -> None:
        """Raise `Unreadable` when its bytes are no document, whatever is in it."""
        try:
            _skip(self.json(ITEM_HEAD))
            self._check_text()
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise Unreadable(self.key, error) from error

    def _check_text(self) -> None:
        if not self.value.isascii():
            self.value.decode()  # what a decoder leaves out it does not look at

    def is_readable(self) -> bool:
        try:
            self.check()
        except Unreadable:
            return False
        return True

    def view_after(self, before: "Stored", views: PodViews) -> Pod:
        """The view of a pod whose version before this one is known."""
        base = before.base or before
        if self._view is None and base._view is not None:
            try:
                self._view = views.decode_after(self.json(ITEM_HEAD), base._view, base.value)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                raise Unreadable(self.key, error) from error
        view: Pod = self.view
        return view

    def forget_view(self) -> None:
        """A version that is past is kept for its bytes; its view is made again should somebody want it."""
        self._view = self.base = None

    def forget_views(self) -> None:
        """Its own, and that of the version it was made upon."""
        if self.base is not None:
            self.base.forget_view()
        self.forget_view()

    @property
    def labels(self) -> dict[str, str]:
        found: dict[str, str] = self.view.metadata.labels
        return found

    def json(self, head: bytes) -> bytes:
        return b"".join((head, b"%d" % self.revision, AFTER_REVISION, self.value))

    def at_revision(self, revision: int) -> "Stored":
        """The same content under a later revision: what watchers are told when an object goes."""
        return Stored(Entry("", self.value, revision, 0), self.key, self._decoder)

    def document(self) -> Document:
        """A fresh document, with its resourceVersion, without kind and apiVersion."""
        try:
            doc: Document = _decode(self.json(ITEM_HEAD))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise Unreadable(self.key, error) from error
        return doc


class _Unborn(Stored):
    """An object that would have been created: it shows no resourceVersion."""

    __slots__ = ()

    def json(self, head: bytes) -> bytes:
        return head.removesuffix(_REVISION) + self.value


def unstored(value: bytes, key: str, revision: int) -> Stored:
    """Kept bytes that were not written (a dry run) in the shape of those that were; new ones have no revision."""
    return (Stored if revision else _Unborn)(Entry("", value, revision, 0), key, msgspec.json.Decoder(Object).decode)
