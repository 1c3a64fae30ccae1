"""The driver of all simulated devices: publishes what nodes have, as the driver of real devices would.

For each kind of device of a simulated node there is one ResourceSlice, a pool of its own, owned by the node. A change
is a new generation of the pool. Taints that were published before keep the time at which they were added, since a taint
that is published without one begins anew. The class of a kind is made with its first slice. While a node is cut off
nothing of it is published anew; what was published stays.

Keys: `node/<name>`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from doorman.api.views.meta import controller_of
from doorman.api.views.nodes import Node
from doorman.api.views.resource.devices import CLASSES, SLICES, DeviceClass, DeviceTaint, ResourceSlice
from doorman.api.views.resource.resource_claims import ClaimAllocation
from doorman.base.clock import Instant
from doorman.base.instants import from_time, to_time
from doorman.base.json_types import Document
from doorman.client.actions import Action, Create, Delete, Patch, PatchType
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.nodes.devices.simulated_devices import (
    DRIVER_SUFFIX,
    DeviceAnnotationError,
    DeviceKind,
    DeviceTaintSpec,
    failed_devices,
    parse_device_taints,
    parse_devices,
)
from doorman.nodes.node_annotations import DEVICE_TAINTS, DEVICES, is_simulated
from doorman.nodes.status.simulated_health import health_at

NAME: Final = "simulated-device-driver"
WORKERS: Final = 16


def node_keys(change: ObjectChange) -> Iterable[str]:
    old: Node | None = change.old
    newest: Node = change.newest
    if DEVICES not in newest.metadata.annotations and (old is None or DEVICES not in old.metadata.annotations):
        return ()
    if old is not None and change.new is not None and old.metadata.annotations == newest.metadata.annotations:
        return ()
    return (f"node/{newest.metadata.name}",)


def slice_keys(change: ObjectChange) -> Iterable[str]:
    newest: ResourceSlice = change.newest
    return (f"node/{newest.spec.node_name}",) if newest.spec.driver.endswith(DRIVER_SUFFIX) else ()


SOURCES: Final = (Source("nodes", node_keys), Source(SLICES, slice_keys))


def slice_name(node: str, driver: str) -> str:
    return f"{node}-{driver}"


def withdrawn_device(allocation: ClaimAllocation, node: str, slices: ListerOf[ResourceSlice] | None) -> str:
    """The first device of an allocation that a simulated driver, asked to prepare it, does not have any more."""
    if slices is None:
        return ""
    for result in allocation.devices.results:
        if result.driver.endswith(DRIVER_SUFFIX):
            published = slices.get(slice_name(node, result.driver))
            if published is None or all(device.name != result.device for device in published.spec.devices):
                return result.device
    return ""


def decide_devices(
    kind: DeviceKind,
    taints: Sequence[DeviceTaintSpec],
    failed: Sequence[str],
    before: ResourceSlice | None,
    now: Instant,
) -> list[Document]:
    """The devices as they are to be published."""
    known = {device.name: device.taints for device in before.spec.devices} if before is not None else {}
    devices = []
    for name in kind.device_names():
        if name in failed:
            continue
        device: Document = {"name": name}
        if kind.attributes:
            device["attributes"] = kind.attributes
        if kind.capacity:
            device["capacity"] = kind.capacity
        own = [_published(taint, known.get(name, ()), now) for taint in taints if taint.device == name]
        if own:
            device["taints"] = own
        devices.append(device)
    return devices


class SimulatedDeviceDriver:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, nodes: ListerOf[Node], slices: ListerOf[ResourceSlice], classes: ListerOf[DeviceClass]) -> None:
        self._nodes = nodes
        self._slices = slices
        self._classes = classes

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change tries again."""

    def reconcile(self, key: str, now: Instant) -> Result:
        name = key.removeprefix("node/")
        node = self._nodes.get(name)
        if node is None or not is_simulated(node.metadata.annotations):
            return DONE
        annotations = node.metadata.annotations
        created = from_time(node.metadata.creation_timestamp) if node.metadata.creation_timestamp else now
        health = health_at(annotations, created, now)
        if health.silent:
            return Result(wakes=((key, health.changes_at),)) if health.changes_at is not None else DONE
        try:
            kinds = parse_devices(annotations.get(DEVICES, ""))
            taints = parse_device_taints(annotations.get(DEVICE_TAINTS, ""))
        except DeviceAnnotationError:
            return DONE  # the agent tells people of it
        actions: list[Action] = []
        for kind in kinds:
            actions += self._publish(node, kind, taints, failed_devices(annotations), now)
        wanted = {slice_name(name, kind.driver) for kind in kinds}
        for one in self._slices.by("owner", node.metadata.uid):
            if one.spec.driver.endswith(DRIVER_SUFFIX) and one.metadata.name not in wanted:
                actions.append(Delete(resource=SLICES, name=one.metadata.name, uid=one.metadata.uid))
        return Result(actions=actions)

    def _publish(
        self, node: Node, kind: DeviceKind, taints: Sequence[DeviceTaintSpec], failed: Sequence[str], now: Instant
    ) -> list[Action]:
        name = slice_name(node.metadata.name, kind.driver)
        before = self._slices.get(name)
        devices = decide_devices(kind, taints, failed, before, now)
        actions: list[Action] = []
        if self._classes.get(kind.driver) is None:
            selector = {"cel": {"expression": f'device.driver == "{kind.driver}"'}}
            body = {"metadata": {"name": kind.driver}, "spec": {"selectors": [selector]}}
            actions.append(Create(resource=CLASSES, body=body))
        if before is None:
            actions.append(Create(resource=SLICES, body=_manifest(node, kind, name, devices)))
        elif controller_of(before.metadata) is not None and _differs(before, devices):
            pool = {"name": node.metadata.name, "generation": before.spec.pool.generation + 1, "resourceSliceCount": 1}
            body = {"metadata": {"uid": before.metadata.uid}, "spec": {"pool": pool, "devices": devices}}
            actions.append(Patch(resource=SLICES, name=name, body=body, type=PatchType.MERGE))
        return actions


def _manifest(node: Node, kind: DeviceKind, name: str, devices: list[Document]) -> Document:
    meta = node.metadata
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta.name, "uid": meta.uid, "controller": True}
    pool = {"name": meta.name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": kind.driver, "nodeName": meta.name, "pool": pool, "devices": devices}
    return {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec}


def _published(taint: DeviceTaintSpec, before: Iterable[DeviceTaint], now: Instant) -> Document:
    same = [one for one in before if (one.key, one.value, one.effect) == (taint.key, taint.value, taint.effect)]
    return {**taint.published(), "timeAdded": same[0].time_added if same else to_time(now)}


def _differs(before: ResourceSlice, devices: Sequence[Document]) -> bool:
    """Whether what is published is not what it should be: names, taints, or what devices are like."""
    published = [
        (
            device.name,
            [(one.key, one.value, one.effect) for one in device.taints],
            {key: value.value() for key, value in device.attributes.items()},
            {key: value.value for key, value in device.capacity.items()},
        )
        for device in before.spec.devices
    ]
    wanted = [
        (
            device["name"],
            [(one["key"], one.get("value", ""), one["effect"]) for one in device.get("taints", ())],
            {key: next(iter(value.values())) for key, value in device.get("attributes", {}).items()},
            {key: value["value"] for key, value in device.get("capacity", {}).items()},
        )
        for device in devices
    ]
    return published != wanted
