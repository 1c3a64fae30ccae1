"""Views of devices and claims for tables: short to write, as the allocator reads them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.resource.devices import DeviceClass, ResourceSlice
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.scheduler.devices.allocation.allocated_devices import AllocatedDevices
from doorman.scheduler.devices.allocation.allocator import Allocator
from doorman.scheduler.devices.device_pools import DevicePools
from support.devices import Json, claim_spec, slice_manifest


def a_node(name: str = "node-1", **labels: str) -> Node:
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, Node)


def a_slice(node: str, *devices: Json | str, **more: Any) -> ResourceSlice:
    return msgspec.convert(slice_manifest(node, devices, **more), ResourceSlice)


def a_claim(*requests: Json, name: str = "c", **devices: Any) -> ResourceClaim:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return msgspec.convert({"metadata": metadata, "spec": claim_spec(*requests, **devices)}, ResourceClaim)


def a_class(name: str = "gpu", *expressions: str, **spec: Any) -> DeviceClass:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    return msgspec.convert({"metadata": {"name": name}, "spec": {"selectors": selectors, **spec}}, DeviceClass)


def pools_of(*slices: ResourceSlice) -> DevicePools:
    pools = DevicePools()
    for each in slices:
        pools.put(each)
    return pools


def allocated_names(
    claims: Sequence[ResourceClaim],
    *slices: ResourceSlice,
    node: Node | None = None,
    taken: AllocatedDevices | None = None,
    classes: Sequence[DeviceClass] = (),
) -> list[list[str]] | None:
    """Names of the devices that each claim gets; None when there is no solution."""
    where = node or a_node()
    known = {each.metadata.name: each for each in (a_class(), *classes)}
    allocator = Allocator(known, taken or AllocatedDevices())
    found = allocator.allocate(claims, where, pools_of(*slices).reached_by(where))
    return None if found is None else [[chosen.device.id[2] for chosen in each.devices] for each in found]
