"""Field owners of an object (`metadata.managedFields`) as bytes: what becomes of them when a manager changes fields.

Only entries that may own any of the fields are read; the others stay the bytes they are.
"""

from typing import Final

import msgspec
from msgspec import Raw

from doorman.api.patch.field_set import FieldSet, difference, union, without_below
from doorman.api.patch.managed_fields import UPDATE_ENTRIES_MAX, Manager
from doorman.registry.fastpath.object_bytes import NOTHING, encode, read, written

UPDATE: Final = "Update"
APPLY: Final = "Apply"


class OwnedChange(msgspec.Struct, frozen=True, gc=False):
    """What one write changes."""

    changed: bytes
    """The fields that get this owner, as JSON."""
    removed: FieldSet | None
    mentions: list[bytes]
    """Texts of which at least one is in any entry that owns any of the fields."""


class _Entry(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """One of managedFields, what is owned unread."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: str = ""
    fields_type: str = ""
    fields_v1: Raw = msgspec.field(default=NOTHING, name="fieldsV1")
    subresource: str = ""

    def is_of(self, manager: Manager) -> bool:
        return (
            self.manager == manager.name
            and self.operation == manager.operation
            and self.api_version == manager.api_version
            and self.subresource == manager.subresource
        )


_decode_entries: Final = msgspec.json.Decoder(list[_Entry]).decode


def owners_after(managed: Raw, change: OwnedChange, manager: Manager, time: str) -> Raw | None:
    """The field owners after a change; None when it takes the long way to say."""
    if not change.changed:
        return None
    entries = _decode_entries(managed)
    if len(entries) >= UPDATE_ENTRIES_MAX:
        return None
    own = None
    for entry in entries:
        is_mine = entry.is_of(manager)
        if is_mine:
            if manager.operation == APPLY:
                return None  # what was applied before and is not any more is another matter
            own = entry
        owned = bytes(entry.fields_v1)
        if not is_mine and not any(mention in owned for mention in change.mentions):
            continue
        if entry.api_version != manager.api_version:
            return None
        left = without_below(read(entry.fields_v1, None), change.removed)
        new: FieldSet = msgspec.json.decode(change.changed)
        fields = union(left, new) if is_mine else difference(left, new)
        entry.fields_v1 = written(fields) if fields else NOTHING
    if own is None:
        own = _Entry(
            manager=manager.name,
            operation=manager.operation,
            api_version=manager.api_version,
            fields_type="FieldsV1",
            fields_v1=Raw(change.changed),
            subresource=manager.subresource,
        )
        entries.append(own)
    own.time = time
    kept = [entry for entry in entries if entry.fields_v1 is not NOTHING]
    kept.sort(key=_place)
    return Raw(encode(kept))


def _place(entry: _Entry) -> tuple[bool, str, str, str, str]:
    return entry.operation != APPLY, entry.time, entry.manager, entry.api_version, entry.subresource


def mention_of(name: str) -> bytes:
    """How an entry that owns anything of a member names it.

    >>> mention_of("finalizers")
    b'"f:finalizers"'
    """
    return b'"f:%s"' % name.encode()
