"""Why a claim was given no device of a node, device by device: for people, not for decisions."""

from collections.abc import Sequence
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.resource.devices import DeviceTaint
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.scheduler.devices.device_requests import AllocationError, RequestForDevices, is_selected
from doorman.scheduler.devices.device_state import DeviceState
from doorman.scheduler.devices.published_devices import PublishedDevice
from doorman.semantics.devices.device_taints import selector_names_device, untolerated_taint

DEVICES_NAMED_MAX: Final = 20


def device_objections(claims: Sequence[ResourceClaim], node: Node, state: DeviceState) -> list[str]:
    """One line for each device that cannot be had; when nothing speaks against any of them, that they are too few."""
    pools = state.reached_by(node)
    found = [f"pool {'/'.join(pool.id)} is incomplete" for pool in pools if pool.is_incomplete]
    found += [
        f"pool {'/'.join(pool.id)} contradicts itself: {pool.contradiction}" for pool in pools if pool.contradiction
    ]
    devices = [device for pool in pools for device in pool.devices]
    if not devices and not found:
        return ["no driver publishes devices for this node"]
    for claim in claims:
        for request in _requests(claim, state):
            who = f"claim {claim.metadata.name}, request {request.reference}"
            for device in devices:
                objection = _objection(claim, request, device, state)
                if objection:
                    found.append(f"{who}: device {device.id[2]} {objection}")
    if len(found) > DEVICES_NAMED_MAX:
        found = [*found[:DEVICES_NAMED_MAX], f"and {len(found) - DEVICES_NAMED_MAX} more"]
    return found or ["there are fewer such devices than the claims ask for, or constraints rule the combination out"]


def taint_source(device: PublishedDevice, taint: DeviceTaint, state: DeviceState) -> str:
    """Where a device has a taint from: its slice, or a rule."""
    if any(own is taint for own in device.device.taints):
        return f"slice {device.published_in.metadata.name}"
    for name, rule in state.rules().items():
        if rule.spec.taint == taint and selector_names_device(
            rule.spec.device_selector, device.id, missing_is_all=True
        ):
            hint = ", which names no devices and so taints all" if rule.spec.device_selector is None else ""
            return f"DeviceTaintRule {name}{hint}"
    return "nobody knows where"


def _requests(claim: ResourceClaim, state: DeviceState) -> list[RequestForDevices]:
    found = []
    for request in claim.spec.devices.requests:
        options = [("", request.exactly)] if request.exactly is not None else []
        options += [(each.name, each) for each in request.first_available]
        for alternative, wanted in options:
            device_class = state.classes.by_name.get(wanted.device_class_name)
            if device_class is not None:
                found.append(RequestForDevices(request.name, alternative, wanted, device_class, wanted.count))
    return found


def _objection(claim: ResourceClaim, request: RequestForDevices, device: PublishedDevice, state: DeviceState) -> str:
    try:
        if not is_selected(claim, request, device):
            return "is not selected"
    except AllocationError as error:
        return f"cannot be looked at: {error}"
    holders = state.taken.holders(device.id) if state.taken.is_taken(device.id) else ()
    if holders and not request.wanted.admin_access:
        return f"is allocated to claim {', '.join(holders)}"
    taint = untolerated_taint(device.taints, request.wanted.tolerations)
    if taint is not None:
        return f"has taint {taint} ({taint_source(device, taint, state)}), which the request does not tolerate"
    return ""
