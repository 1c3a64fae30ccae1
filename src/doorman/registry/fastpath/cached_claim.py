"""Resource claims that are alike: made for the pods of one workload, they differ in the prefix of their names and in
their owners, whose uids are parts of fields' names.
"""

from collections.abc import Hashable, Sequence
from typing import Final

import msgspec

from doorman.api.identity import User
from doorman.api.kinds import Kind
from doorman.api.raw_members import to_written
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.base.errors import invalid_object
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.commit import ProposedObject
from doorman.registry.object_identity import GIVEN_LATER
from doorman.registry.write_target import NewObject
from doorman.validation.metadata import validate_metadata

_OWN_METADATA: Final = frozenset({"name", "generateName", "ownerReferences"})
"""What another one has otherwise."""
_OWNER: Final = frozenset({"name", "uid"})
_UID_CHARACTERS_MIN: Final = 16
"""A shorter one might occur in a field's name by chance."""

_encode: Final = msgspec.json.Encoder().encode


def claim_key(kind: Kind, namespace: str, doc: Document, user: User, manager: str) -> Hashable | None:
    """None for a claim that has no owner, or one that no other could take the place of."""
    metadata = doc["metadata"]
    owners: list[Document] = metadata.get("ownerReferences") or []
    if len(owners) != 1 or not owners[0].keys() >= _OWNER:
        return None
    (owner,) = owners
    uid: str = owner["uid"]
    if not uid.replace("-", "").isalnum() or len(uid) < _UID_CHARACTERS_MIN:
        return None
    alike = {name: value for name, value in owner.items() if name not in _OWNER}
    given = tuple(sorted(_OWN_METADATA & metadata.keys()))
    rest = {name: value for name, value in metadata.items() if name not in _OWN_METADATA}
    sent = to_written(CLAIMS, {**doc, "metadata": rest})
    key = _encode((kind.group_version, namespace, user, manager, given, alike, sent))
    return None if uid.encode() in key else key


class CachedClaim:
    """Everything of a claim but its name, its owner's, uids and times, as kept bytes."""

    __slots__ = ("_managed", "_metadata", "_owner", "_tail")

    def __init__(self, metadata: Document, entries: Sequence[bytes], tail: bytes) -> None:
        """`entries` are its field owners without times; `tail` is what follows its metadata."""
        (self._owner,) = metadata["ownerReferences"]
        rest = {name: value for name, value in metadata.items() if name not in (*GIVEN_LATER, *_OWN_METADATA)}
        self._metadata = _encode(rest)[1:-1]
        uid = self._owner["uid"].encode()
        self._managed = [entry.split(uid) for entry in entries]
        """In pieces: between them goes the owner's uid."""
        self._tail = tail

    def named(self, new: NewObject, name: str, uid: str) -> ProposedObject:
        new.doc["metadata"]["name"] = name
        if errors := validate_metadata(new.doc):
            raise invalid_object(new.kind.kind, new.kind.group, name, errors)
        return ProposedObject(self._value(uid, to_time(new.now), new.doc["metadata"]), is_bounded=False)

    def _value(self, uid: str, time: str, metadata: Document) -> bytes:
        (given,) = metadata["ownerReferences"]
        owner = {**self._owner, "name": given["name"], "uid": given["uid"]}
        prefix = {"generateName": metadata["generateName"]} if metadata.get("generateName") else {}
        own = {"name": metadata["name"], "uid": uid, "creationTimestamp": time, **prefix, "ownerReferences": [owner]}
        stamp = b'{"time":"%s",' % time.encode()
        managed = b",".join([stamp + given["uid"].encode().join(pieces) for pieces in self._managed])
        rest = (b",", self._metadata) if self._metadata else ()
        return b"".join((_encode(own)[1:-1], *rest, b',"managedFields":[', managed, b"]}", self._tail))
