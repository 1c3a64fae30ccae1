"""One condition of a pod, set without reading the rest of the pod.

Whoever evicts or fails to place pods marks them one by one, thousands at a time, each by a patch of status that says
one condition, and perhaps which node the pod is nominated for. What becomes of such a patch needs the pod's status and
the names of field owners, no more; the outcome is the same as on the long way (`Registry.update`), which everything
that is not so simple still goes.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw

from doorman.api.fieldset import difference, union, without_below
from doorman.api.fieldwalk import Difference, FieldWalker
from doorman.api.managed import UPDATE_ENTRIES_MAX
from doorman.api.schema import Document
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.registry.cuts import NOTHING, Cut, read, written

TYPES: Final = frozenset({"PodScheduled", "DisruptionTarget"})
SHAPES_MAX: Final = 1000
_ORDER: Final = "$setElementOrder/conditions"
_NOMINATED: Final = "nominatedNodeName"
_MEMBERS: Final = frozenset({"conditions", _ORDER, _NOMINATED})
_OPERATION: Final = "Update"
_VERSION: Final = "v1"
_SUBRESOURCE: Final = "status"

_encode: Final = msgspec.json.Encoder().encode


class ConditionPatch(msgspec.Struct, frozen=True):
    uid: str
    """Of the pod that is meant, or empty."""
    condition: Document
    order: tuple[str, ...] | None
    """The types that the conditions are to be in the order of."""
    nominated: str | None = None
    """The nominated node from now on, empty for none; None leaves it as it is."""


class _Entry(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """One of managedFields, what is owned unread."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: str = ""
    fields_type: str = ""
    fields_v1: Raw = msgspec.field(default=NOTHING, name="fieldsV1")
    subresource: str = ""

    @property
    def place(self) -> tuple[bool, str, str, str, str]:
        return self.operation != "Apply", self.time, self.manager, self.api_version, self.subresource


_decode_entries: Final = msgspec.json.Decoder(list[_Entry]).decode


def condition_patch(body: Any) -> ConditionPatch | None:  # any JSON value
    """The patch, if it sets one condition and does nothing else."""
    if not isinstance(body, dict) or not body.keys() <= {"metadata", "status"}:
        return None
    metadata, status = body.get("metadata", {}), body.get("status")
    if not isinstance(metadata, dict) or not metadata.keys() <= {"uid"} or not isinstance(status, dict):
        return None
    conditions, order = status.get("conditions"), status.get(_ORDER)
    if not isinstance(conditions, list) or len(conditions) != 1 or not status.keys() <= _MEMBERS:
        return None
    condition = conditions[0]
    if not isinstance(condition, dict) or condition.get("type") not in TYPES or "$patch" in condition:
        return None
    if not all(value or value is None for value in condition.values()):
        return None  # what is empty is left out, which takes the type table to know
    wanted = tuple(one["type"] for one in order) if order is not None else None
    nominated = (status[_NOMINATED] or "") if _NOMINATED in status else None
    return ConditionPatch(metadata.get("uid", ""), condition, wanted, nominated)


class _Change(msgspec.Struct, frozen=True):
    """Which fields differ; those of whoever owned none before, as bytes."""

    fields: Difference
    as_owned: Raw


class Conditions:
    def __init__(self, walker: FieldWalker) -> None:
        self._walker = walker
        self._changes: dict[tuple[object, ...], _Change] = {}

    def set(self, cut: Cut, patch: ConditionPatch, manager: str, now: Instant) -> bool | None:
        """Whether that changes the pod; None when it takes the long way to say."""
        metadata = cut.metadata
        if metadata.deletion_timestamp or (patch.uid and patch.uid != metadata.uid):
            return None
        if metadata.managed_fields is NOTHING or cut.status is NOTHING:
            return None
        status: Document = read(cut.status, {})
        before: list[Document] = status.get("conditions", [])
        kind = patch.condition["type"]
        at = next((i for i, one in enumerate(before) if one.get("type") == kind), -1)
        found = before[at] if at >= 0 else None
        after = {**(found or {}), **patch.condition}
        for name in [name for name, value in patch.condition.items() if value is None]:
            del after[name]
        nominated = status.get(_NOMINATED, "")
        is_same_node = patch.nominated is None or patch.nominated == nominated
        if after == found and is_same_node:
            return False
        conditions = _placed(before, at, after, patch.order)
        if conditions is None:
            return None
        wanted = {**status, "conditions": conditions}
        if not is_same_node:
            if patch.nominated:
                wanted[_NOMINATED] = patch.nominated
            else:
                del wanted[_NOMINATED]
        change = self._change(status, wanted, found, after)
        mentions = [_mention(kind)] if before else [_LIST]
        if not is_same_node:
            mentions.append(_NODE)
        managed = self._managed(metadata.managed_fields, mentions, change, manager, to_time(now))
        if managed is None:
            return None
        metadata.managed_fields = managed
        cut.status = written(wanted)
        return True

    def _change(self, status: Document, wanted: Document, found: Document | None, after: Document) -> _Change:
        """It depends on no value, only on which ones differ."""
        names = tuple(after)
        differing = None if found is None else tuple([name for name in names if after[name] != found.get(name)])
        gone = None if found is None else tuple([name for name in found if name not in after])
        nodes = status.get(_NOMINATED), wanted.get(_NOMINATED)
        node = (nodes[0] is None, nodes[1] is None, nodes[0] == nodes[1])
        shape = (after["type"], names, differing, gone, "conditions" in status, node)
        known = self._changes.get(shape)
        if known is None:
            if len(self._changes) >= SHAPES_MAX:
                self._changes.clear()
            fields = self._walker.diff({_SUBRESOURCE: wanted}, {_SUBRESOURCE: status}, "core.v1.Pod")
            known = self._changes[shape] = _Change(fields, written(fields.changed))
        return known

    def _managed(self, managed: Raw, mentions: list[bytes], change: _Change, manager: str, time: str) -> Raw | None:
        changed, removed = change.fields.changed, change.fields.removed
        if changed is None:
            return None
        entries = _decode_entries(managed)
        if len(entries) >= UPDATE_ENTRIES_MAX:
            return None
        mine = (manager, _OPERATION, _VERSION, _SUBRESOURCE)
        own = None
        for entry in entries:
            is_mine = (entry.manager, entry.operation, entry.api_version, entry.subresource) == mine
            if is_mine:
                own = entry
            owned = bytes(entry.fields_v1)
            if not is_mine and not any(mention in owned for mention in mentions):
                continue
            if entry.api_version != _VERSION:
                return None
            left = without_below(read(entry.fields_v1, None), removed)
            fields = union(left, changed) if is_mine else difference(left, changed)
            entry.fields_v1 = written(fields) if fields else NOTHING
        if own is None:
            own = _Entry(manager, _OPERATION, _VERSION, "", "FieldsV1", change.as_owned, _SUBRESOURCE)
            entries.append(own)
        own.time = time
        kept = [entry for entry in entries if entry.fields_v1 is not NOTHING]
        kept.sort(key=_place)
        return Raw(_encode(kept))


def _place(entry: _Entry) -> tuple[bool, str, str, str, str]:
    return entry.place


def _placed(before: list[Document], at: int, after: Document, order: tuple[str, ...] | None) -> list[Document] | None:
    """The conditions with the new one among them; None when the patch wants an order that takes more thought."""
    if at >= 0:
        conditions = [*before[:at], after, *before[at + 1 :]]
    elif order is None:
        conditions = [after, *before]
    else:
        conditions = [*before, after]
    if order is not None and order != tuple([one.get("type") for one in conditions]):
        return None
    return conditions


_LIST: Final = b'"f:conditions"'
_NODE: Final = b'"f:nominatedNodeName"'


def _mention(kind: str) -> bytes:
    """How an entry that owns anything of the condition names it."""
    return _encode(f'k:{{"type":"{kind}"}}')
