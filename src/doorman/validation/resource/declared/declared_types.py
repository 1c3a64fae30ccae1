"""What upstream's types of this group declare, by version of the API.

A row names a member as its type has it, in the type's order; members of which nothing is declared, and which lead to
none of which something is, have no row. Members that belong to features which are off by default are not there: they
are dropped before anything is checked.
"""

from collections.abc import Mapping
from typing import Final

from doorman.validation.resource.declared.declared_formats import (
    each_key,
    enum,
    extended_resource_name,
    fully_qualified_name,
    label_key,
    long_name,
    long_name_caseless,
    max_bytes,
    max_length,
    maximum,
    minimum,
    pool_name,
    short_name,
    uuid,
)
from doorman.validation.resource.declared.declared_rules import DeclaredType, Member, Types
from doorman.validation.resource.devices.device_taint import EFFECTS, OPERATORS

_EFFECT: Final = enum(*EFFECTS)
_SELECTORS: Final = Member(name="selectors", items_max=32)
_MODE: Final = Member(name="allocationMode", checks=(enum("All", "ExactCount"),))
_TOLERATIONS: Final = Member(name="tolerations", of="DeviceToleration", shape="list")
_REQUEST_NAMES: Final = Member(name="requests", items_max=32, unique=())
_OPAQUE: Final = Member(name="opaque", of="OpaqueDeviceConfiguration", shape="pointer")
_BINDING: Final = (
    Member(name="bindingConditions", items_max=4),
    Member(name="bindingFailureConditions", items_max=4),
)
_SHARE: Final = Member(name="shareID", is_pointer=True, checks=(uuid,))
_COUNTERS: Final = Member(name="counters", required=True, checks=(each_key(short_name),))
_FIRST_AVAILABLE: Final = Member(
    name="firstAvailable", items_max=8, unique=("name",), of="DeviceSubRequest", shape="list"
)
_DEVICE: Final = (
    Member(name="attributes", of="DeviceAttribute", shape="map"),
    Member(name="consumesCounters", items_max=2, unique=("counterSet",), of="DeviceCounterConsumption", shape="list"),
    Member(name="taints", of="DeviceTaint", shape="list"),
    *_BINDING,
)


def _type(*members: Member) -> DeclaredType:
    return DeclaredType(members=members)


_SLICES: Final = {
    "ResourceSlice": _type(Member(name="spec", of="ResourceSliceSpec")),
    "ResourceSliceSpec": _type(
        Member(name="devices", of="Device", shape="list"),
        Member(name="sharedCounters", items_max=8, unique=("name",), of="CounterSet", shape="list"),
    ),
    "CounterSet": _type(Member(name="name", required=True, checks=(short_name,)), _COUNTERS),
    "Device": _type(*_DEVICE),
    "DeviceCounterConsumption": _type(Member(name="counterSet", required=True, checks=(short_name,)), _COUNTERS),
    "DeviceAttribute": DeclaredType(union=("int", "bool", "string", "version", "ints", "bools", "strings", "versions")),
    "DeviceTaint": _type(Member(name="effect", required=True, checks=(_EFFECT,))),
}
_RULES: Final = {
    "DeviceTaintRule": _type(Member(name="spec", of="DeviceTaintRuleSpec")),
    "DeviceTaintRuleSpec": _type(Member(name="taint", of="DeviceTaint")),
    "DeviceTaint": _SLICES["DeviceTaint"],
}
_CLASSES: Final = {
    "DeviceClass": _type(Member(name="metadata", of="ClassMeta"), Member(name="spec", of="DeviceClassSpec")),
    "ClassMeta": _type(Member(name="name", checks=(long_name,))),
    "DeviceClassSpec": _type(
        _SELECTORS,
        Member(name="config", items_max=32, of="DeviceClassConfiguration", shape="list"),
        Member(name="extendedResourceName", is_pointer=True, checks=(extended_resource_name,)),
    ),
    "DeviceClassConfiguration": _type(_OPAQUE),
}
_CLAIMS: Final = {
    "ResourceClaim": _type(
        Member(name="spec", immutable=True, of="ResourceClaimSpec"), Member(name="status", of="ResourceClaimStatus")
    ),
    "ResourceClaimTemplate": _type(Member(name="spec", of="ResourceClaimTemplateSpec")),
    "ResourceClaimTemplateSpec": _type(Member(name="spec", of="ResourceClaimSpec")),
    "ResourceClaimSpec": _type(Member(name="devices", of="DeviceClaim")),
    "DeviceClaim": _type(
        Member(name="requests", items_max=32, unique=("name",), of="DeviceRequest", shape="list"),
        Member(name="constraints", items_max=32, of="DeviceConstraint", shape="list"),
        Member(name="config", items_max=32, of="DeviceClaimConfiguration", shape="list"),
    ),
    "DeviceRequest": _type(Member(name="exactly", of="ExactDeviceRequest", shape="pointer"), _FIRST_AVAILABLE),
    "ExactDeviceRequest": _type(_SELECTORS, _MODE, _TOLERATIONS),
    "DeviceSubRequest": _type(
        Member(name="deviceClassName", required=True, checks=(long_name,)), _SELECTORS, _MODE, _TOLERATIONS
    ),
    "DeviceToleration": _type(
        Member(name="key", checks=(label_key,)),
        Member(name="operator", required=True, checks=(enum(*OPERATORS),)),
        Member(name="effect", checks=(_EFFECT,)),
    ),
    "DeviceConstraint": _type(
        _REQUEST_NAMES,
        Member(name="matchAttribute", is_pointer=True, checks=(fully_qualified_name,)),
        Member(name="distinctAttribute", is_pointer=True, checks=(fully_qualified_name,)),
    ),
    "DeviceClaimConfiguration": _type(_REQUEST_NAMES, _OPAQUE),
}
_STATUSES: Final = {
    "ResourceClaimStatus": _type(
        Member(name="allocation", set_once=True, of="AllocationResult", shape="pointer"),
        Member(name="reservedFor", items_max=256, unique=("uid",)),
        Member(
            name="devices",
            unique=("driver", "device", "pool", "shareID"),
            of="AllocatedDeviceStatus",
            shape="list",
        ),
    ),
    "AllocationResult": _type(Member(name="devices", of="DeviceAllocationResult")),
    "DeviceAllocationResult": _type(
        Member(name="results", items_max=32, of="DeviceRequestAllocationResult", shape="list"),
        Member(name="config", items_max=64, of="DeviceAllocationConfiguration", shape="list"),
    ),
    "DeviceRequestAllocationResult": _type(
        Member(name="driver", required=True, checks=(long_name_caseless, max_length(63))),
        Member(name="pool", required=True, checks=(pool_name,)),
        _TOLERATIONS,
        *_BINDING,
        _SHARE,
    ),
    "DeviceAllocationConfiguration": _type(
        Member(name="source", required=True, checks=(enum("FromClaim", "FromClass"),)), _REQUEST_NAMES, _OPAQUE
    ),
    "AllocatedDeviceStatus": _type(_SHARE, Member(name="networkData", of="NetworkDeviceData", shape="pointer")),
    "NetworkDeviceData": _type(
        Member(name="interfaceName", checks=(max_bytes(256),)),
        Member(name="ips", items_max=16, unique=()),
        Member(name="hardwareAddress", checks=(max_bytes(128),)),
    ),
}
_POOL_REQUESTS: Final = {
    "ResourcePoolStatusRequest": _type(
        Member(name="spec", immutable=True, of="ResourcePoolStatusRequestSpec"),
        Member(name="status", of="ResourcePoolStatusRequestStatus", shape="pointer"),
    ),
    "ResourcePoolStatusRequestSpec": _type(
        Member(name="driver", required=True, checks=(long_name_caseless,)),
        Member(name="poolName", is_pointer=True, checks=(pool_name,)),
        Member(name="limit", is_pointer=True, checks=(minimum(1), maximum(1000))),
    ),
    "ResourcePoolStatusRequestStatus": _type(
        Member(name="poolCount", required=True, is_pointer=True, checks=(minimum(0),)),
        Member(name="pools", items_max=1000, of="PoolStatus", shape="list"),
        Member(name="conditions", items_max=10),
    ),
    "PoolStatus": _type(
        Member(name="driver", required=True, checks=(long_name_caseless,)),
        Member(name="poolName", required=True, checks=(pool_name,)),
        Member(name="generation", required=True, checks=(minimum(0),)),
        Member(name="resourceSliceCount", is_pointer=True, checks=(minimum(1),)),
        *(
            Member(name=f"{which}Devices", is_pointer=True, checks=(minimum(0),))
            for which in ("total", "allocated", "available", "unavailable")
        ),
        Member(name="nodeName", is_pointer=True, checks=(long_name,)),
        Member(name="validationError", is_pointer=True, checks=(max_bytes(256),)),
        Member(
            name="partitionSummary",
            items_max=32,
            unique=("attribute", "type"),
            of="PartitionTypeStatus",
            shape="list",
        ),
        Member(name="shareableSummary", of="ShareableSummaryStatus", shape="pointer"),
    ),
    "PartitionTypeStatus": _type(
        Member(name="attribute", required=True),
        Member(name="type", required=True),
        Member(name="total", required=True, is_pointer=True, checks=(minimum(0),)),
        Member(name="allocatable", required=True, is_pointer=True, checks=(minimum(0),)),
    ),
    "ShareableSummaryStatus": _type(
        Member(name="fullyAvailableDevices", required=True, is_pointer=True, checks=(minimum(0),)),
        Member(name="partiallyAvailableDevices", required=True, is_pointer=True, checks=(minimum(0),)),
        Member(name="capacity", items_max=32, of="ShareableCapacityStatus", shape="list"),
    ),
    "ShareableCapacityStatus": _type(
        *(Member(name=name, required=True) for name in ("name", "total", "consumed", "available"))
    ),
}


def _opaque(*checks: Member) -> Types:
    return {"OpaqueDeviceConfiguration": _type(*checks)}


_V1: Final[Types] = {
    **_SLICES,
    **_RULES,
    **_CLASSES,
    **_CLAIMS,
    **_STATUSES,
    **_POOL_REQUESTS,
    **_opaque(Member(name="driver", required=True, checks=(long_name_caseless, max_length(63)))),
}
_V1BETA2: Final[Types] = {
    **_V1,
    **_opaque(Member(name="driver", required=True, checks=(max_length(63), long_name_caseless))),
}
_V1BETA1: Final[Types] = {
    **_V1BETA2,
    "Device": _type(Member(name="basic", of="BasicDevice", shape="pointer")),
    "BasicDevice": _type(*_DEVICE),
    "DeviceRequest": _type(_SELECTORS, _MODE, _FIRST_AVAILABLE, _TOLERATIONS),
}
_TYPES: Final[Mapping[str, Types]] = {
    "v1": _V1,
    "v1beta2": _V1BETA2,
    "v1beta1": _V1BETA1,
    "v1alpha3": {**_RULES, **_POOL_REQUESTS},
}


def types_of(version: str) -> Types:
    """What a version of the group declares."""
    return _TYPES.get(version, _V1)
