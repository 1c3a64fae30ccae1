"""What components report of a pod's status, written without reading the rest of the pod.

Kubelets, and whoever evicts or fails to place pods, patch the status of one pod after another, thousands at a time.
What becomes of such a patch needs the pod's status and the names of field owners, no more; the outcome is the same as
on the long way (`Registry.update`), which everything that is not so simple still goes.

It is for patches that components of this server send: what they say is of the right types and has no empty members.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw

from doorman.api.patch.field_paths import FieldWalker
from doorman.api.patch.field_set import FieldSet, ordered
from doorman.api.patch.managed_fields import Manager
from doorman.api.patch.strategic_merge_patch import interleaved
from doorman.api.views.pods import Pod
from doorman.api.well_known import DISRUPTION_TARGET
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.fastpath.object_bytes import NOTHING, ObjectBytes, encode, read, written
from doorman.registry.fastpath.owner_bytes import APPLY, UPDATE, OwnedChange, mention_of, owners_after
from doorman.registry.kinds.pod_strategy import has_settled_addresses
from doorman.validation.pods.pod_status_rules import status_errors

TYPES: Final = frozenset(
    {"PodScheduled", DISRUPTION_TARGET, "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"}
)
CHANGES_MAX: Final = 1000
OUTCOMES_MAX: Final = 256
_ADDRESS: Final = b'"podIP'
"""A pod that has an address is like no other."""
_ORDER: Final = "$setElementOrder/conditions"
_NOMINATED: Final = "nominatedNodeName"
_CONDITIONS: Final = "conditions"
_ADDRESSES: Final = "podIPs"
_CLAIMS: Final = "resourceClaimStatuses"
_EXTENDED_CLAIM: Final = "extendedResourceClaimStatus"
_MERGED: Final = frozenset({_ADDRESSES, "hostIPs", _CLAIMS, _EXTENDED_CLAIM})
"""Members of which a patch may give a part."""
_LISTS: Final = frozenset({"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses", *_MERGED})
_WORDS: Final = frozenset(
    {"phase", "reason", "message", "hostIP", "podIP", "startTime", "observedGeneration", _NOMINATED}
)
_MEMBERS: Final = frozenset({_CONDITIONS, _ORDER, *_LISTS, *_WORDS})
_VERSION: Final = "v1"
_SUBRESOURCE: Final = "status"


class StatusPatch(msgspec.Struct, frozen=True):
    uid: str
    """Of the pod that is meant, or empty."""
    conditions: list[Document]
    order: tuple[str, ...] | None
    """The types that the conditions are to be in the order of."""
    members: Document
    """Other members of status; None takes one away."""
    said: Document
    """All of it but the uid, as it was sent."""
    is_applied: bool = False

    @property
    def operation(self) -> str:
        return APPLY if self.is_applied else UPDATE

    @property
    def names_claims(self) -> bool:
        return not self.members.keys().isdisjoint((_CLAIMS, _EXTENDED_CLAIM))


def applied_status_of(config: Document) -> StatusPatch | None:
    """An applied configuration as a report, if it is one: which claims a pod has, and nothing else."""
    if (config.get("apiVersion"), config.get("kind")) != (_VERSION, "Pod"):
        return None
    report = status_patch_of({"metadata": config.get("metadata", {}), "status": config.get("status")})
    if report is None or report.said.keys() != {_CLAIMS}:
        return None
    return msgspec.structs.replace(report, is_applied=True)


def status_patch_of(body: Any) -> StatusPatch | None:  # any JSON value
    """The patch as a report, if it is one."""
    if not isinstance(body, dict) or not body.keys() <= {"metadata", "status"}:
        return None
    metadata, status = body.get("metadata", {}), body.get("status")
    if not isinstance(metadata, dict) or not metadata.keys() <= {"uid"}:
        return None
    if not isinstance(status, dict) or not status.keys() <= _MEMBERS:
        return None
    conditions, order = status.get(_CONDITIONS, []), status.get(_ORDER)
    if not isinstance(conditions, list):
        return None
    for condition in conditions:
        if not isinstance(condition, dict) or condition.get("type") not in TYPES or "$patch" in condition:
            return None
        if [value for value in condition.values() if not value and value is not None]:
            return None  # what is empty is left out, which takes the type table to know
    members = {name: value for name, value in status.items() if name not in (_CONDITIONS, _ORDER)}
    if _CLAIMS in members:
        names = [name for name, *_ in _claim_names(members[_CLAIMS])]
        if len(set(names)) < len(names):
            return None
    for name, value in members.items():
        if not value and value is not None:
            if name != _NOMINATED:
                return None
            members[name] = None
    wanted = tuple([one["type"] for one in order]) if order is not None else None
    return StatusPatch(metadata.get("uid", ""), conditions, wanted, members, status)


class _Change(msgspec.Struct, frozen=True):
    """Which fields a report changes. Addresses, which are part of a field's name, stand in as @0, @1, ..."""

    changed: bytes
    removed: FieldSet | None

    def fields(self, addresses: list[str]) -> bytes:
        found = self.changed
        for at, address in enumerate(addresses):
            found = found.replace(b"@%d" % at, address.encode())
        return found


class _Outcome(msgspec.Struct, frozen=True, gc=False):
    """What became of a pod's status and of its field owners."""

    status: Raw
    managed: Raw


_STATUS_TYPE: Final = "core.v1.PodStatus"
_ALWAYS: Final = {"type": "", "status": "", "lastProbeTime": None, "lastTransitionTime": None}
"""Members of a condition that are written also when they say nothing."""


class StatusPatches:
    def __init__(self, walker: FieldWalker) -> None:
        self._walker = walker
        self._changes: dict[tuple[object, ...], _Change] = {}
        self._outcomes: dict[tuple[object, ...], _Outcome] = {}
        """Of pods that are alike: many are made, evicted or found to fit nowhere in the same second."""

    def write(self, pod_bytes: ObjectBytes, pod: Pod, report: StatusPatch, manager: str, now: Instant) -> bool | None:
        """Whether the report changes the pod; None when it takes the long way to say."""
        metadata = pod_bytes.metadata
        if metadata.deletion_timestamp or (report.uid and report.uid != metadata.uid):
            return None
        if pod_bytes.status is NOTHING:
            return None
        time = to_time(now)
        before = bytes(pod_bytes.status)
        key = None
        if _ADDRESS not in before:
            spec, owners, said = pod.spec, bytes(metadata.managed_fields), encode(report.said)
            key = (before, owners, said, manager, report.operation, time, spec.restart_policy, bool(spec.node_name))
            known = self._outcomes.get(key)
            if known is not None:
                pod_bytes.status, metadata.managed_fields = known.status, known.managed
                return True
        is_changed = self._write(pod_bytes, pod, report, manager, time)
        if is_changed and key is not None:
            if len(self._outcomes) >= OUTCOMES_MAX:
                self._outcomes.clear()
            self._outcomes[key] = _Outcome(pod_bytes.status, metadata.managed_fields)
        return is_changed

    def _write(self, pod_bytes: ObjectBytes, pod: Pod, report: StatusPatch, manager: str, time: str) -> bool | None:
        metadata = pod_bytes.metadata
        status: Document = read(pod_bytes.status, {})
        wanted = dict(status)
        shape: list[object] = [_CONDITIONS in status]
        members = dict(report.members)
        self._walker.complete(members, _STATUS_TYPE)
        mentions = _set_members(wanted, members, shape)
        if mentions is None or not has_settled_addresses(wanted):
            return None
        touched = _set_conditions(wanted, report, shape)
        if touched is None:
            return None
        if len(shape) == 1:
            return False
        if touched:
            mentions += [_mention(kind) for kind in touched] if status.get(_CONDITIONS) else [mention_of(_CONDITIONS)]
        if status_errors(wanted, status, pod.spec.restart_policy, pod.spec.node_name):
            return None
        if metadata.managed_fields is NOTHING:
            pod_bytes.status = written(wanted)
            return True  # nobody tracks this pod
        is_addressed = _ADDRESSES in wanted and _ADDRESSES not in status
        addresses = [one["ip"] for one in wanted[_ADDRESSES]] if is_addressed else []
        shape.append(len(addresses))
        shape.append(report.operation)
        change = self._change(tuple(shape), status, wanted, addresses, is_applied=report.is_applied)
        owned = OwnedChange(change.fields(addresses), change.removed, mentions)
        writer = Manager(name=manager, operation=report.operation, api_version=_VERSION, subresource=_SUBRESOURCE)
        managed = owners_after(metadata.managed_fields, owned, writer, time)
        if managed is None:
            return None
        metadata.managed_fields = managed
        pod_bytes.status = written(wanted)
        return True

    def _change(
        self,
        shape: tuple[object, ...],
        status: Document,
        wanted: Document,
        addresses: list[str],
        *,
        is_applied: bool,
    ) -> _Change:
        """It depends on no value, only on which ones differ. Who applies claims owns these, and not their list."""
        known = self._changes.get(shape)
        if known is None:
            if len(self._changes) >= CHANGES_MAX:
                self._changes.clear()
            if addresses:
                wanted = {**wanted, _ADDRESSES: [{"ip": f"@{at}"} for at in range(len(addresses))]}
            found = self._walker.diff({_SUBRESOURCE: wanted}, {_SUBRESOURCE: status}, "core.v1.Pod")
            fields = found.changed
            if is_applied:
                fields = self._walker.held({_SUBRESOURCE: {_CLAIMS: wanted[_CLAIMS]}}, "core.v1.Pod")
            changed = encode(ordered(fields)) if fields is not None else b""
            known = self._changes[shape] = _Change(changed, found.removed)
        return known


def _set_members(wanted: Document, members: Document, shape: list[object]) -> list[bytes] | None:
    """Put members other than conditions in. How owners name those that differ; None for lists to be merged."""
    mentions = []
    for name, value in members.items():
        before = wanted.get(name)
        if before == value:
            continue
        if before is not None and name in _MERGED:
            return None
        if value is None:
            del wanted[name]
        else:
            wanted[name] = value
        shape.append((name, before is None, value is None, _claim_names(value) if name == _CLAIMS else None))
        mentions.append(mention_of(name))
    return mentions


def _claim_names(statuses: list[Document] | None) -> tuple[tuple[str, ...], ...]:
    """What the names of fields depend on: how each claim is called in the pod, and which members it has."""
    return tuple((status.get("name", ""), *status) for status in statuses or ())


def _set_conditions(wanted: Document, report: StatusPatch, shape: list[object]) -> list[str] | None:
    """Put the conditions in. The types of those that differ; None for an order that takes more thought."""
    before: list[Document] = wanted.get(_CONDITIONS, [])
    merged = list(before)
    places = {one.get("type"): at for at, one in enumerate(before)}
    touched = []
    for patch in report.conditions:
        kind = patch["type"]
        at = places.get(kind)
        found = merged[at] if at is not None else None
        after = {**(found or {}), **patch}
        for name in [name for name, value in patch.items() if value is None]:
            del after[name]
        for name, nothing in _ALWAYS.items():
            after.setdefault(name, nothing)
        if at is None:
            places[kind] = len(merged)
            merged.append(after)
        else:
            merged[at] = after
        if after == found:
            continue
        touched.append(kind)
        names = tuple(after)
        if found is None:
            shape.append((kind, names))
        else:
            differing = tuple([name for name in names if after[name] != found.get(name)])
            shape.append((kind, names, differing, tuple([name for name in found if name not in after])))
    if report.order is None:
        merged = interleaved(merged, before, [patch["type"] for patch in report.conditions], "type")
    elif report.order != tuple([one.get("type") for one in merged]):
        return None
    if touched:
        wanted[_CONDITIONS] = merged
    elif merged != before:
        return None
    return touched


def _mention(kind: str) -> bytes:
    """The same for a condition."""
    return encode(f'k:{{"type":"{kind}"}}')
