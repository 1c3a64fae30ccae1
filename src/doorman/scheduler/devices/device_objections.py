"""Why a claim was given no device of a node, device by device: for people, not for decisions."""

from collections.abc import Sequence
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.resource.devices import DeviceTaint
from doorman.api.views.resource.resource_claims import ResourceClaim
from doorman.scheduler.devices.allocation.capacity_consumption import has_room
from doorman.scheduler.devices.allocation.device_counters import PoolCounters
from doorman.scheduler.devices.device_pools import NodePool
from doorman.scheduler.devices.device_requests import RequestForDevices, requested_consumption
from doorman.scheduler.devices.device_state import DeviceState
from doorman.scheduler.devices.published_devices import PublishedDevice, SelectorError
from doorman.semantics.devices.device_taints import selector_names_device, untolerated_taint

DEVICES_NAMED_MAX: Final = 20


def device_objections(claims: Sequence[ResourceClaim], node: Node, state: DeviceState) -> list[str]:
    """One line for each device that cannot be had; when nothing speaks against any of them, that they are too few."""
    pools = state.reached_by(node)
    found = [f"pool {'/'.join(pool.id)} is incomplete" for pool in pools if pool.is_incomplete]
    found += [
        f"pool {'/'.join(pool.id)} contradicts itself: {pool.contradiction}" for pool in pools if pool.contradiction
    ]
    if not found and not any(pool.devices for pool in pools):
        return ["no driver publishes devices for this node"]
    for claim in claims:
        for request in _requests(claim, state):
            who = f"claim {claim.metadata.name}, request {request.reference}"
            for pool in pools:
                for device in pool.devices:
                    objection = _objection(request, pool, device, state)
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


def _objection(request: RequestForDevices, pool: NodePool, device: PublishedDevice, state: DeviceState) -> str:
    is_taken = state.taken.is_taken(device.id) and not request.wanted.admin_access
    allocated = f"is allocated to claim {', '.join(state.taken.holders(device.id))}" if is_taken else ""
    try:
        refusal = _refusing_selector(request, device)
    except SelectorError as error:
        return allocated or f"cannot be looked at: {error}"  # a device that is taken is not looked at
    if refusal or allocated:
        return refusal or allocated
    taint = untolerated_taint(device.taints, request.wanted.tolerations)
    if taint is not None:
        return f"has taint {taint} ({taint_source(device, taint, state)}), which the request does not tolerate"
    return _shortage(request, pool, device, state)


def _refusing_selector(request: RequestForDevices, device: PublishedDevice) -> str:
    """Which of the selectors of class and request does not want the device. Raises SelectorError."""
    own = request.device_class
    for who, selectors in (
        (f"class {own.metadata.name}", own.spec.selectors), ("the request", request.wanted.selectors),
    ):  # fmt: skip
        for selector in selectors:
            expression = selector.cel.expression if selector.cel is not None else ""
            if not expression or not device.matches(expression):
                return f"is not selected by {who}: {expression}"
    return ""


def _shortage(request: RequestForDevices, pool: NodePool, device: PublishedDevice, state: DeviceState) -> str:
    """What of a device, or of the card that it is a part of, others use already."""
    consumption = requested_consumption(request, device)
    if consumption is None:
        return "cannot give the capacity that is asked for"
    if not has_room(consumption, device.device, state.taken.consumed(device.id)):
        return f"has too little capacity left beside claim {', '.join(state.taken.holders(device.id))}"
    if device.device.consumes_counters and not PoolCounters(pool, state.taken.in_pool(pool.id)).take(device):
        return "shares counters of which other allocated devices leave too little"
    return ""
