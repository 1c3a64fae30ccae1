"""Objects that are alike are proposed once.

Most pods are one of many: a workload's, or a test's. What the server makes of a new pod (defaults, field owners, what
admission adds, the verdict of validation) depends on what the client sent, who it is, and the objects that admission
looked up; not on the name. So the first pod goes through every step, and what admission looked up is noted on the
way. The next one that is the same but for its name gets the same bytes around its own name, uid and time, as long as
everything that was looked up is still as it was.

    {"generateName":"web-", "spec":{...}}   first: all steps; kept with   namespaces/x @ 12, limitranges as of 40, ...
    {"generateName":"web-", "spec":{...}}   again: the same bytes, new name, if those are unchanged

What a client sends again byte for byte, or but for the name that stands in it, is not even read again.

A name that admission drew at random is drawn anew for each.

Of events, which all say something else, it is enough that they have the same members: who owns the fields depends on
no more, and admission asks about the namespace only. Each is validated for itself.

A resource claim that is made for a pod differs from the one of the next pod in the prefix of its name and in its owner,
whose uid is part of a field's name. Metadata is validated for each, what is asked for once.

A plugin whose answer depends on more than that (an expression may read the name) says that the request
is not cacheable, and nothing is kept of it.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec

from doorman.admission.plugin_contract import Attributes, Docs, Weigh
from doorman.api.kinds import Kind
from doorman.api.raw_members import to_written
from doorman.api.views.admissionregistration import MUTATING, MUTATING_BINDINGS, MUTATING_POLICIES, VALIDATING
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.api.well_known import EVENTS, PODS
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.admission.admission_reader import AdmissionReader
from doorman.registry.cache.collection import Collection
from doorman.registry.caller import Caller
from doorman.registry.commit import ProposedObject
from doorman.registry.fastpath.cached_claim import CachedClaim, claim_key
from doorman.registry.object_identity import GIVEN_LATER
from doorman.registry.write_target import NewObject
from doorman.semantics.name_syntax import DNS_LABEL, LABEL_BYTES_MAX, dns_label_faults
from doorman.semantics.pods.pod_resources import Amounts
from doorman.store.store_contract import Entry

WEBHOOKS: Final = (MUTATING, VALIDATING, MUTATING_POLICIES, MUTATING_BINDINGS)
"""Kinds that say who else is to be asked about a write."""
ENTRIES_MAX: Final = 256
CACHED_BYTES_MAX: Final = 64 * 1024
"""Of longer ones nothing is kept: nobody fills the memory with large pods."""

BeforeCreate = Callable[[Kind, Document, Instant], None]
"""The last changes of a new object, in place, and whether it is valid."""


_NAME: Final = re.compile(rf'"name"\s*:\s*"({DNS_LABEL})"'.encode())

_last_change: Final = attrgetter("last_change")
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class RecordedReads:
    """A cluster that notes what is looked up, and of which age it was."""

    def __init__(self, cluster: AdmissionReader) -> None:
        self._cluster = cluster
        self._objects: dict[str, Entry | None] = {}
        """As they were, by key."""
        self._sources: dict[str, Collection] = {}
        self._ages: list[int] = []
        """Of the sources, in their order."""

    def get(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:  # a document
        self._note(resource, namespace, name)
        return self._cluster.get(resource, namespace, name)

    def find_kind(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        return self._cluster.find_kind(api_version, kind)

    def converted(self, api_version: str, kind: str, docs: Docs) -> Docs:
        return self._cluster.converted(api_version, kind, docs)

    async def convert_ahead(self, api_version: str, kind: str, docs: Docs) -> None:
        await self._cluster.convert_ahead(api_version, kind, docs)

    def labels(self, resource: str, namespace: str, name: str) -> Mapping[str, str] | None:
        self._note(resource, namespace, name)
        return self._cluster.labels(resource, namespace, name)

    def list(self, resource: str, namespace: str = "") -> Iterable[Mapping[str, Any]]:  # documents
        if resource not in self._sources:
            source = self._sources[resource] = self._cluster.source(resource)
            self._ages.append(source.last_change)
        return self._cluster.list(resource, namespace)

    def total(self, resource: str, namespace: str, name: str, weigh: Weigh) -> Amounts:
        """Not noted: whoever counts says that the request is not cacheable, every write changes what he sees."""
        return self._cluster.total(resource, namespace, name, weigh)

    def are_current(self) -> bool:
        """Every pod asks, so nothing of it is a loop in Python."""
        return list(map(_last_change, self._sources.values())) == self._ages and list(
            map(self._cluster.newest_entry, self._objects)
        ) == list(self._objects.values())

    def _note(self, resource: str, namespace: str, name: str) -> None:
        key = self._cluster.key(resource, namespace, name)
        self._objects.setdefault(key, self._cluster.newest_entry(key))


class CachedNewObject(NewObject, kw_only=True):
    """One of which it is known what becomes of it: another one was the same but for its name."""

    cached: "CachedObject"

    def named(self, name: str, uid: str) -> ProposedObject:
        """The object under this name. Raises the refusal."""
        return self.cached.named(self, name, uid)


class CachedPod:
    """Everything of a pod but its name, uid and times, as kept bytes."""

    __slots__ = ("_generated", "_metadata", "_suffix", "_tail")

    def __init__(self, doc: Document, generated: Sequence[str], suffix: Callable[[], str]) -> None:
        self._metadata = _CachedMetadata(doc["metadata"])
        kept = _tail_of(doc)
        self._generated = generated[0].rpartition("-")[0] + "-" if generated else ""
        self._tail = kept.split(b'"%s"' % generated[0].encode()) if generated else [kept]
        """In pieces: between them goes the name that admission generates."""
        self._suffix = suffix

    def named(self, new: NewObject, name: str, uid: str) -> ProposedObject:
        """The name is well formed, or generated from what the first of its kind had too."""
        tail = self._tail[0]
        if self._generated:
            tail = f'"{self._generated}{self._suffix()}"'.encode().join(self._tail)
        # The first one had room, and nothing is kept that is large.
        return ProposedObject(self._metadata.value(name, uid, to_time(new.now)) + tail)


class CachedEvent:
    """The metadata of an event but its name, uid and times, as kept bytes."""

    __slots__ = ("_before_create", "_metadata")

    def __init__(self, doc: Document, before_create: BeforeCreate) -> None:
        self._metadata = _CachedMetadata(doc["metadata"])
        self._before_create = before_create

    def named(self, new: NewObject, name: str, uid: str) -> ProposedObject:
        """Admission and field owners are known; what an event says is its own."""
        self._before_create(new.kind, new.doc, new.now)
        value = self._metadata.value(name, uid, to_time(new.now)) + _tail_of(new.doc)
        return ProposedObject(value, is_bounded=False)


class _CachedMetadata:
    """As kept bytes (see `doorman.registry.cache.stored_object`). Names are well formed: they need no escapes."""

    __slots__ = ("_managed", "_rest")

    def __init__(self, metadata: Document) -> None:
        rest = {name: value for name, value in metadata.items() if name not in GIVEN_LATER}
        self._rest = _encode(rest)[1:-1]
        self._managed = _entries_of(metadata)

    def value(self, name: str, uid: str, time: str) -> bytes:
        head = f'"name":"{name}","uid":"{uid}","creationTimestamp":"{time}",'.encode()
        stamp = b'{"time":"%s",' % time.encode()
        managed = b",".join([stamp + entry for entry in self._managed])
        return b"".join((head, self._rest, b',"managedFields":[', managed, b"]}"))


CachedObject = CachedPod | CachedEvent | CachedClaim


def _entries_of(metadata: Document) -> list[bytes]:
    """Of managedFields, each without its time and its first bracket."""
    return [
        _encode({name: value for name, value in entry.items() if name != "time"})[1:]
        for entry in metadata.get("managedFields", ())
    ]


def _tail_of(doc: Document) -> bytes:
    """What follows metadata."""
    tail = dict(doc)
    for name in ("metadata", "kind", "apiVersion"):
        tail.pop(name, None)
    return b"," + _encode(tail)[1:]


def _shape_of(doc: Document) -> Hashable:
    """The names of all members, and of theirs. Lists are not looked into: an event has none."""
    if dict not in map(type, doc.values()):
        return tuple(doc)
    return tuple([(name, _shape_of(value)) if type(value) is dict else name for name, value in doc.items()])


def _sender_key(namespace: str, caller: Caller, media_type: str, validation: str) -> bytes:
    return _encode((namespace, caller.user, caller.manager, media_type, validation))


def _without_name(body: bytes) -> tuple[bytes, str]:
    """A body with a gap where the first text called "name" was, and that text; empty when there is none that could be
    a pod's. Bodies that have the same rest differ in that text alone: JSON has no NUL, so the gap is at one place.

    >>> _without_name(b'{"metadata":{"name":"a"},"spec":{"name":"b"}}')
    (b'{"metadata":{"name":"\\x00"},"spec":{"name":"b"}}', 'a')
    """
    found = _NAME.search(body)
    if found is None:
        return b"", ""
    begins, ends = found.span(1)
    if ends - begins > LABEL_BYTES_MAX:
        return b"", ""
    return b"%b\0%b" % (body[:begins], body[ends:]), found[1].decode()


def _is_name_of_object(body: bytes, gap: bytes) -> bool:
    """Whether the text that a body lacks is the name of the object, and nothing's inside of it."""
    try:
        metadata = _decode(gap.replace(b"\0", b"-")).get("metadata", {})
        return bool(metadata.get("name") == "-" and _decode(body)["metadata"]["name"] != "-")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError):
        return False  # it was sent as something else than JSON


class CreateCache:
    """What became of new objects, by what was sent, the most recently used ones. Switched off, it knows none."""

    def __init__(
        self,
        cluster: AdmissionReader,
        suffix: Callable[[], str],
        before_create: BeforeCreate,
        *,
        is_on: bool = True,
    ) -> None:
        self._cluster = cluster
        self._suffix = suffix
        self._before_create = before_create
        self._is_on = is_on
        self._entries: OrderedDict[Hashable, tuple[CachedObject, RecordedReads]] = OrderedDict()
        self._bodies: OrderedDict[bytes, tuple[Hashable, str]] = OrderedDict()
        """Keys, and prefixes of names, by the bytes that were sent; those of named ones have a gap."""

    def key(self, kind: Kind, namespace: str, doc: Document, caller: Caller) -> Hashable | None:
        """The same for objects that are alike; None when none ever are."""
        if not self._is_on or caller.is_apply:
            return None
        metadata, user, manager = doc["metadata"], caller.user, caller.manager
        if kind.storage == EVENTS:
            if not metadata.keys() <= {"name", "namespace"}:
                return None
            return (kind.group_version, namespace, user.name, user.groups, manager, _shape_of(doc))
        if kind.storage == CLAIMS:
            return claim_key(kind, namespace, doc, user, manager)
        if kind.storage != PODS:
            return None
        if "name" in metadata:
            if dns_label_faults(metadata["name"]):
                return None  # it is refused, or warned of
            metadata = {name: value for name, value in metadata.items() if name != "name"}
        return _encode((namespace, user, manager, {**doc, "metadata": metadata}))

    def remember_body(self, kind: Kind, namespace: str, key: Hashable, doc: Document, caller: Caller) -> None:
        """What has this key, read from what the caller sent. A warning is said again, and a dry run is let to do what
        others are not.
        """
        metadata = doc["metadata"]
        if kind.storage != PODS or caller.sent is None or caller.warnings or caller.dry_run:
            return
        media_type, validation, body = caller.sent
        if len(body) > CACHED_BYTES_MAX:
            return
        prefix = ""
        if metadata.get("name"):
            gap, name = _without_name(body)
            if name != metadata["name"] or not _is_name_of_object(body, gap):
                return
            body = gap
        elif not (prefix := metadata.get("generateName")):
            return
        self._bodies[_sender_key(namespace, caller, media_type, validation) + body] = (key, prefix)
        if len(self._bodies) > ENTRIES_MAX:
            self._bodies.popitem(last=False)

    def find_by_body(self, kind: Kind, namespace: str, caller: Caller, now: Instant) -> CachedNewObject | None:
        """What the caller has sent, if it was sent before in the same bytes but for the name: it need not be read."""
        if kind.storage != PODS or caller.sent is None:
            return None
        media_type, validation, body = caller.sent
        sender = _sender_key(namespace, caller, media_type, validation)
        known, name = self._bodies.get(sender + body), ""
        if known is None and len(body) <= CACHED_BYTES_MAX:
            gap, name = _without_name(body)
            known = self._bodies.get(sender + gap)
        if known is None:
            return None
        key, prefix = known
        cached = self.find(key)
        if cached is None:
            return None
        return CachedNewObject(kind=kind, now=now, name=name, generate_name=prefix, cached=cached)

    def find(self, key: Hashable) -> CachedObject | None:
        """What became of one with this key, if all that admission looked up for it is as it was."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        cached, reads = entry
        if not reads.are_current():
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return cached

    def reads(self) -> RecordedReads:
        """For admission of a new object: notes what is looked up, beginning with who else would be asked."""
        reads = RecordedReads(self._cluster)
        for resource in WEBHOOKS:
            reads.list(resource)
        return reads

    def remember(
        self,
        kind: Kind,
        key: Hashable,
        doc: Document,
        reads: RecordedReads,
        attributes: Attributes,
        warned: Sequence[str],
    ) -> None:
        """Keep what became of an object, unless it says when that was, or somebody decided by more than the key says,
        or had to warn.
        """
        generated = attributes.generated_names
        if not attributes.is_cacheable or warned:
            return
        if not doc["metadata"].get("managedFields") or doc.get("status", {}).get("conditions"):
            return
        if (isinstance(key, bytes) and len(key) > CACHED_BYTES_MAX) or len(generated) > 1:
            return
        self._entries[key] = (self._cached(kind, doc, generated), reads)
        if len(self._entries) > ENTRIES_MAX:
            self._entries.popitem(last=False)

    def _cached(self, kind: Kind, doc: Document, generated: Sequence[str]) -> CachedObject:
        if kind.storage == CLAIMS:
            return CachedClaim(doc["metadata"], _entries_of(doc["metadata"]), _tail_of(to_written(CLAIMS, doc)))
        if kind.storage == EVENTS:
            return CachedEvent(doc, self._before_create)
        return CachedPod(doc, generated, self._suffix)
