"""What the scheduler knows of devices: pools, classes, rules, claims, and allocations that are being written.

An allocation counts from the moment it is decided (it is pending) until its claim is seen with it, or until it could
not be written. Every change says which nodes it matters to, so that what was worked out for all others stays good.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from doorman.api.views.meta import controller_of
from doorman.api.views.nodes import Node
from doorman.api.views.resource.devices import (
    CLASSES,
    SLICES,
    TAINT_RULES,
    DeviceClass,
    DeviceTaintRule,
    ResourceSlice,
)
from doorman.api.views.resource.resource_claims import (
    CLAIMS,
    EXTENDED_RESOURCE_ANNOTATION,
    AllocatedDevice,
    ResourceClaim,
)
from doorman.scheduler.cache.claim_users import ClaimUsers
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.row_changes import RowChanges
from doorman.scheduler.devices.allocation.allocated_devices import AllocatedDevices
from doorman.scheduler.devices.device_classes import DeviceClasses
from doorman.scheduler.devices.device_pools import DevicePools, NodePool
from doorman.scheduler.framework import ActionType, ClusterEvent, EventResource

DEVICE_KINDS: Final = (SLICES, CLASSES, CLAIMS, TAINT_RULES)
"""What it must be told of."""

_OLD_TO_ACTION: Final = {True: ActionType.ADD, False: ActionType.UPDATE_OTHER}


class DeviceGates(msgspec.Struct, frozen=True, kw_only=True):
    taints: bool = True
    """DRADeviceTaints: whether taints keep claims from devices at all."""
    rules: bool = True
    """DRADeviceTaintRules: whether rules taint devices."""


class PendingAllocation:
    """Decided, and not yet seen in the claim."""

    __slots__ = ("claim_key", "is_written", "pod_key", "results")

    def __init__(self, claim_key: str, pod_key: str, results: tuple[AllocatedDevice, ...]) -> None:
        self.claim_key = claim_key
        self.pod_key = pod_key
        self.results = results
        self.is_written = False


class DeviceState:
    def __init__(self, cluster: ClusterState, gates: DeviceGates | None = None) -> None:
        self._cluster = cluster
        self._gates = gates if gates is not None else DeviceGates()
        self.pools = DevicePools()
        self.classes = DeviceClasses()
        self.taken = AllocatedDevices()
        self.rows = RowChanges()
        """Rows of nodes whose devices, or what is allocated of them, changed."""
        self.epoch = 0
        """Changes with anything that may matter to every node."""
        self.version = 0
        """Changes with whatever changes."""
        self._claims: dict[str, ResourceClaim] = {}
        self._owned: dict[str, dict[str, None]] = {}
        """Keys of claims by the uids of their owners."""
        self._rules: dict[str, DeviceTaintRule] = {}
        self._pending: dict[str, PendingAllocation] = {}
        """By the claim's uid."""
        self._pending_of: dict[str, list[str]] = {}
        """Uids of claims by the keys of the pods for which they are pending."""
        self.users = ClaimUsers()

    def claim(self, key: str) -> ResourceClaim | None:
        return self._claims.get(key)

    def claims_of(self, owner_uid: str) -> Sequence[ResourceClaim]:
        return [self._claims[key] for key in self._owned.get(owner_uid, ())]

    def is_pending(self, claim_uid: str) -> bool:
        return claim_uid in self._pending

    def rules(self) -> Mapping[str, DeviceTaintRule]:
        return self._rules

    def reached_by(self, node: Node) -> tuple[NodePool, ...]:
        return self.pools.reached_by(node)

    def node_changed(self, name: str) -> None:
        self.pools.node_changed(name)

    def changed(self, resource: str, old: Any, new: Any) -> list[ClusterEvent]:  # views of that kind
        """Take a change up; gives what it means to waiting pods."""
        self.version += 1
        newest = new if new is not None else old
        if resource == SLICES:
            return self._slice_changed(newest.metadata.name, new)
        if resource == CLASSES:
            return self._class_changed(old, new)
        if resource == CLAIMS:
            return self._claim_changed(newest.metadata.key, new)
        assert resource == TAINT_RULES, f"{resource} is none of the kinds of devices"
        return self._rule_changed(newest.metadata.name, new)

    def reserve(self, claim: ResourceClaim, pod_key: str, results: tuple[AllocatedDevice, ...]) -> None:
        """An allocation is decided: its devices are taken from now on."""
        self.version += 1
        pending = PendingAllocation(claim.metadata.key, pod_key, results)
        self._pending[claim.metadata.uid] = pending
        self._pending_of.setdefault(pod_key, []).append(claim.metadata.uid)
        self.taken.add(claim.metadata.uid, pending.claim_key, results)
        self._touch_devices(results)

    def written(self, pod_key: str) -> None:
        """The pod's claims are written: what is seen of them from now on says what they have."""
        for uid in self._pending_of.get(pod_key, ()):
            self._pending[uid].is_written = True

    def unreserve(self, pod_key: str) -> None:
        """The pod is not placed after all: what was decided for it and is not in a claim yet is free again."""
        for uid in tuple(self._pending_of.get(pod_key, ())):
            self._drop(uid)

    def _settle(self, uid: str) -> PendingAllocation:
        """It is pending no longer."""
        pending = self._pending.pop(uid)
        others = self._pending_of[pending.pod_key]
        others.remove(uid)
        if not others:
            del self._pending_of[pending.pod_key]
        return pending

    def _drop(self, uid: str) -> None:
        self.version += 1
        pending = self._settle(uid)
        seen = self._claims.get(pending.claim_key)
        if seen is None or seen.metadata.uid != uid or seen.status.allocation is None:
            self.taken.remove(uid, pending.results)
            self._touch_devices(pending.results)

    def _slice_changed(self, name: str, new: ResourceSlice | None) -> list[ClusterEvent]:
        known = name in self.pools
        if new is not None and not self._gates.taints:
            new = _without_taints(new)
        self._touch(self.pools.put(new) if new is not None else self.pools.remove(name))
        if new is None:
            return []
        return [ClusterEvent(EventResource.RESOURCE_SLICE, _OLD_TO_ACTION[not known], None, new)]

    def _rule_changed(self, name: str, new: DeviceTaintRule | None) -> list[ClusterEvent]:
        if not self._gates.taints or not self._gates.rules:
            return []
        before = self._rules.pop(name, None)
        if new is not None:
            self._rules[name] = new
        if before is not None and new is not None and before.spec == new.spec:
            return []
        touched = self.pools.set_rules(dict(sorted(self._rules.items())))
        self._touch(touched)
        if touched is not None and not touched:
            return []
        return [ClusterEvent(EventResource.RESOURCE_SLICE, ActionType.UPDATE_OTHER, None, None)]

    def _class_changed(self, old: DeviceClass | None, new: DeviceClass | None) -> list[ClusterEvent]:
        if self.classes.changed(old, new):
            self._cluster.set_delegated(self.classes.extended_resources())
        self._touch(None)
        if new is None:
            return []
        return [ClusterEvent(EventResource.DEVICE_CLASS, _OLD_TO_ACTION[old is None], old, new)]

    def _claim_changed(self, key: str, new: ResourceClaim | None) -> list[ClusterEvent]:
        old = self._claims.pop(key, None)
        if old is not None:
            for owner in old.metadata.owner_references:
                self._owned.get(owner.uid, {}).pop(key, None)
                if not self._owned.get(owner.uid, True):
                    del self._owned[owner.uid]
        if new is not None:
            self._claims[key] = new
            for owner in new.metadata.owner_references:
                self._owned.setdefault(owner.uid, {})[key] = None
        self._reallocate(old, new)
        if old is not None and new is not None and old.metadata.uid != new.metadata.uid:
            return [self._claim_event(old, None), self._claim_event(None, new)]
        return [self._claim_event(old, new)] if old is not None or new is not None else []

    def _claim_event(self, old: ResourceClaim | None, new: ResourceClaim | None) -> ClusterEvent:
        newest = new if new is not None else old
        assert newest is not None, "a change has an old or a new side"
        freed = _results(old) and not _results(new)
        only = None if freed else self.users.of(newest.metadata.key)
        change = ActionType.DELETE if new is None else _OLD_TO_ACTION[old is None]
        return ClusterEvent(EventResource.RESOURCE_CLAIM, change, old, new, only)

    def _reallocate(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """What the old side had is free, what the new side has is taken, and what is pending stays so if it must."""
        before, after = _results(old), _results(new)
        if old is not None and new is not None and before == after and old.metadata.uid == new.metadata.uid:
            if not after and (pending := self._pending.get(new.metadata.uid)) is not None and pending.is_written:
                self._drop(new.metadata.uid)
            return
        if new is not None and not before and after and self._is_as_decided(old, new, after):
            return
        if old is not None and before:
            self.taken.remove(old.metadata.uid, before)
        for side in (old, new):
            pending = self._pending.get(side.metadata.uid) if side is not None else None
            if side is None or pending is None:
                continue
            if (side is new and (after or pending.is_written)) or new is None or new.metadata.uid != side.metadata.uid:
                self._settle(side.metadata.uid)
                self.taken.remove(side.metadata.uid, pending.results)
                self._touch_devices(pending.results)
            else:
                self.taken.add(side.metadata.uid, pending.claim_key, pending.results)
        if new is not None and after:
            self.taken.add(new.metadata.uid, new.metadata.key, after)
        self._touch_devices((*before, *after))

    def _is_as_decided(
        self, old: ResourceClaim | None, new: ResourceClaim, results: tuple[AllocatedDevice, ...]
    ) -> bool:
        """Whether the claim is seen with what was decided for it: that counts already, and is pending no longer."""
        uid = new.metadata.uid
        if old is not None and old.metadata.uid != uid:
            return False
        if uid not in self._pending and new.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true":
            owner = controller_of(new.metadata)
            uid = pending_uid(owner.uid) if owner is not None else uid
        pending = self._pending.get(uid)
        if pending is None or pending.results != results:
            return False
        self._settle(uid)
        if uid != new.metadata.uid:
            self.taken.remove(uid, results)
            self.taken.add(new.metadata.uid, new.metadata.key, results)
        return True

    def _touch_devices(self, results: Iterable[AllocatedDevice]) -> None:
        for pool in dict.fromkeys(result.id[:2] for result in results):
            self._touch(self.pools.nodes_of(pool))

    def _touch(self, nodes: frozenset[str] | None) -> None:
        if nodes is None:
            self.epoch += 1
            return
        for name in sorted(nodes):
            row = self._cluster.row_or_none(name)
            if row is not None:
                self.rows.note(row)


def pending_uid(pod_uid: str) -> str:
    """Under which the claim for a pod's extended resources is pending, before there is one."""
    return f"{pod_uid}-extended"


def _results(claim: ResourceClaim | None) -> tuple[AllocatedDevice, ...]:
    if claim is None or claim.status.allocation is None:
        return ()
    return claim.status.allocation.devices.results


def _without_taints(slice_: ResourceSlice) -> ResourceSlice:
    devices = tuple(msgspec.structs.replace(device, taints=()) for device in slice_.spec.devices)
    return msgspec.structs.replace(slice_, spec=msgspec.structs.replace(slice_.spec, devices=devices))
