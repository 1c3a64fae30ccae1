"""What is done with kinds of resource.k8s.io before they are validated and written.

Members that belong to features which are off by default are dropped, as if nobody had sent them.
"""

from collections.abc import Iterable
from typing import Any, Final

from doorman.api.kinds import Kind
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.registry.strategy import prepare_create, prepare_status, prepare_update

_SLICE_MEMBERS: Final = ("partitionTypeAttribute", "skipNodeOperations")
_BINDINGS: Final = ("bindingConditions", "bindingFailureConditions")
_ATTRIBUTE_LISTS: Final = ("bools", "ints", "strings", "versions")


# Resource slices


def create_resource_slice(kind: Kind, doc: Document, now: Instant) -> None:
    _drop_from_slice(doc)
    prepare_create(kind, doc, now)


def update_resource_slice(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    _drop_from_slice(new)
    prepare_update(kind, new, old, now)


def date_device_taints(doc: Document, now: Instant) -> None:
    """A taint that does not say since when it is there is there since now, also when it was written before."""
    for device in _devices(doc):
        for taint in device.get("taints") or ():
            taint.setdefault("timeAdded", to_time(now))


def _drop_from_slice(doc: Document) -> None:
    _drop(doc.get("spec") or {}, _SLICE_MEMBERS)
    for device in _devices(doc):
        _drop(device, ("nodeAllocatableResources",))
        if not any(device.get(name) for name in _BINDINGS):
            _drop(device, _BINDINGS)  # that one of them alone is empty is for validation to say
        for attribute in (device.get("attributes") or {}).values():
            _drop(attribute, _ATTRIBUTE_LISTS)
        for consumption in device.get("consumesCounters") or ():
            _drop(consumption, ("compatibilityGroups",))


def _devices(doc: Document) -> Iterable[Document]:
    return (doc.get("spec") or {}).get("devices") or ()


# Claims and their templates


def create_resource_claim(kind: Kind, doc: Document, now: Instant) -> None:
    _drop_from_claim(doc.get("spec") or {})
    prepare_create(kind, doc, now)


def update_resource_claim(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    _drop_from_claim(new.get("spec") or {})
    prepare_update(kind, new, old, now)


def resource_claim_status(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    """What drivers reported of devices goes when the devices are no longer allocated."""
    prepare_status(kind, new, old, now)
    status = new.get("status")
    if not status:
        return
    for result in _results(new):
        _drop(result, ("skipNodeOperations",))
        for toleration in result.get("tolerations") or ():
            toleration["operator"] = toleration.get("operator") or "Equal"
    gone = {_device_key(result) for result in _results(old)} - {_device_key(result) for result in _results(new)}
    if gone and "devices" in status:
        kept = [device for device in status["devices"] or () if _device_key(device) not in gone]
        new["status"] = {**status, "devices": kept} if kept else _without(status, "devices")


def create_claim_template(kind: Kind, doc: Document, now: Instant) -> None:
    _drop_from_claim((doc.get("spec") or {}).get("spec") or {})
    prepare_create(kind, doc, now)


def update_claim_template(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    _drop_from_claim((new.get("spec") or {}).get("spec") or {})
    prepare_update(kind, new, old, now)


def _drop_from_claim(spec: Document) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        for wanted in (request.get("exactly") or {}, *(request.get("firstAvailable") or ())):
            _drop(wanted, ("derivedAttributes",))


def _results(claim: Document) -> Iterable[Document]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or ()


def _device_key(one: Document) -> tuple[Any, ...]:
    return tuple(one.get(member) or "" for member in ("driver", "pool", "device", "shareID"))


# Rules that taint devices


def update_device_taint_rule(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    """A taint whose effect changes is there since now, unless whoever changes it says otherwise."""
    after, before = ((one.get("spec") or {}).get("taint") or {} for one in (new, old))
    if after.get("effect") != before.get("effect") and after.get("timeAdded") == before.get("timeAdded"):
        after["timeAdded"] = to_time(now)
    prepare_update(kind, new, old, now)


def date_rule(doc: Document, now: Instant) -> None:
    doc.setdefault("spec", {}).setdefault("taint", {}).setdefault("timeAdded", to_time(now))


# Requests for reports on pools


def create_pool_request(kind: Kind, doc: Document, now: Instant) -> None:
    _drop(doc.get("spec") or {}, ("defaultPartitionTypeAttribute",))
    prepare_create(kind, doc, now)


def update_pool_request(kind: Kind, new: Document, old: Document, now: Instant) -> None:
    _drop(new.get("spec") or {}, ("defaultPartitionTypeAttribute",))
    prepare_update(kind, new, old, now)


def _drop(part: Document, members: Iterable[str]) -> None:
    for member in members:
        part.pop(member, None)


def _without(part: Document, member: str) -> Document:
    return {name: value for name, value in part.items() if name != member}
