"""A snapshot of a control plane in the same process: what its watch cache shows, at one revision."""

from collections.abc import Iterator

import msgspec

from doorman.base.clock import Instant
from doorman.base.json_types import Document
from doorman.registry.cache.watch_cache import WatchCache
from doorman.snapshot.redaction import redacted
from doorman.snapshot.references import References
from doorman.snapshot.snapshot_format import Snapshot, snapshot_of
from doorman.snapshot.snapshot_kinds import deciding_kinds, is_wanted


def captured(cache: WatchCache, now: Instant, *, redacts: bool = False) -> Snapshot:
    """Everything that decides, as it is now."""
    references = References()
    snapshot = snapshot_of(_documents(cache, references, redacts), now, redacted=redacts)
    return msgspec.structs.replace(snapshot, dangling=frozenset(name for name, _ in references.broken()))


def _documents(cache: WatchCache, references: References, redacts: bool) -> Iterator[Document]:
    for kind in deciding_kinds():
        for stored in cache.collection(kind.storage).objects.values():
            if is_wanted(kind, stored.namespace):
                doc = {"apiVersion": kind.group_version, "kind": kind.kind, **stored.document()}
                references.see(doc)
                yield redacted(doc) if redacts else doc
