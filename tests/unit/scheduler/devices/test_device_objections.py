"""What people are told of devices that could not be had."""

import msgspec

from doorman.api.views.resource.devices import CLASSES, SLICES, TAINT_RULES, DeviceTaintRule
from doorman.api.views.resource.resource_claims import AllocatedDevice
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_shapes import ShapeTable
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.devices.device_objections import DEVICES_NAMED_MAX, device_objections
from doorman.scheduler.devices.device_state import DeviceState
from support.claims import a_claim, a_class, a_node, a_slice
from support.devices import DRIVER, device, request, taint


def a_state(*slices: object) -> DeviceState:
    resources = ResourceIds()
    state = DeviceState(ClusterState(resources, ShapeTable(resources)))
    state.changed(CLASSES, None, a_class())
    for each in slices:
        state.changed(SLICES, None, each)
    return state


def test_each_device_with_its_reason() -> None:
    state = a_state(a_slice("node-1", "taken", device("tainted", taint(value="fan", effect="NoSchedule"))))
    state.reserve(a_claim(name="other"), "default/p", (AllocatedDevice(driver=DRIVER, pool="node-1", device="taken"),))
    assert device_objections([a_claim()], a_node(), state) == [
        "claim c, request r: device taken is allocated to claim default/other",
        "claim c, request r: device tainted has taint broken=fan:NoSchedule (slice node-1-gpus), "
        "which the request does not tolerate",
    ]


def test_rules_are_named() -> None:
    state = a_state(a_slice("node-1", "a"))
    rule = msgspec.convert({"metadata": {"name": "drain"}, "spec": {"taint": taint()}}, DeviceTaintRule)
    state.changed(TAINT_RULES, None, rule)
    [told] = device_objections([a_claim()], a_node(), state)
    assert "(DeviceTaintRule drain, which names no devices and so taints all)" in told


def test_what_is_wrong_with_pools_and_when_there_are_just_too_few() -> None:
    incomplete = a_state(a_slice("node-1", "a", pool={"resourceSliceCount": 2}))
    assert device_objections([a_claim()], a_node(), incomplete) == [f"pool {DRIVER}/node-1 is incomplete"]
    twice = a_state(a_slice("node-1", "a", "a"))
    assert device_objections([a_claim()], a_node(), twice) == [
        f"pool {DRIVER}/node-1 contradicts itself: duplicate device name a"
    ]
    assert device_objections([a_claim()], a_node(), a_state()) == ["no driver publishes devices for this node"]
    [few] = device_objections([a_claim(request(count=2))], a_node(), a_state(a_slice("node-1", "a")))
    assert few.startswith("there are fewer such devices")


def test_many_are_counted() -> None:
    devices = [device(f"d{number}", taint()) for number in range(30)]
    told = device_objections([a_claim()], a_node(), a_state(a_slice("node-1", *devices)))
    assert len(told) == DEVICES_NAMED_MAX + 1
    assert told[-1] == "and 10 more"
