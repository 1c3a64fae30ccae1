"""What people are told of devices that could not be had."""

import msgspec

from doorman.api.views.resource.devices import CLASSES, SLICES, TAINT_RULES, DeviceTaintRule
from doorman.api.views.resource.resource_claims import AllocatedDevice
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.resource_ids import ResourceIds
from doorman.scheduler.devices.device_objections import DEVICES_NAMED_MAX, device_objections
from doorman.scheduler.devices.device_state import DeviceState
from support.claims import a_claim, a_class, a_node, a_slice
from support.devices import DRIVER, device, request, taint


def a_state(*slices: object) -> DeviceState:
    resources = ResourceIds()
    state = DeviceState(ClusterState(resources))
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


def test_selector_that_does_not_want_a_device_is_named() -> None:
    state = a_state(a_slice("node-1", device("small", attributes={"size": {"int": 1}}), "odd"))
    wanted = request(selectors=[{"cel": {"expression": f"device.attributes['{DRIVER}'].size > 1"}}])
    assert device_objections([a_claim(wanted)], a_node(), state) == [
        f"claim c, request r: device small is not selected by the request: device.attributes['{DRIVER}'].size > 1",
        "claim c, request r: device odd cannot be looked at: "
        "CEL runtime error: no such key: size. consider using CEL optional chaining (.? followed by orValue()) or "
        "guarding the check with has() for optional fields",
    ]
    state.reserve(a_claim(name="other"), "default/p", (AllocatedDevice(driver=DRIVER, pool="node-1", device="odd"),))
    *_, odd = device_objections([a_claim(wanted)], a_node(), state)
    assert odd == "claim c, request r: device odd is allocated to claim default/other", "nobody looks at it then"
    state.changed(CLASSES, a_class(), a_class("gpu", "device.driver == 'other'"))
    assert device_objections([a_claim(wanted)], a_node(), state) == [
        f"claim c, request r: device {name} is not selected by class gpu: device.driver == 'other'"
        for name in ("small", "odd")
    ]


def test_capacity_and_counters_that_others_use_are_told() -> None:
    shared = device("shared", capacity={"memory": {"value": "10Gi"}}, allowMultipleAllocations=True)
    state = a_state(a_slice("node-1", shared))
    share = AllocatedDevice(
        driver=DRIVER, pool="node-1", device="shared", share_id="s", consumed_capacity={"memory": "8Gi"}
    )
    state.reserve(a_claim(name="other"), "default/p", (share,))
    [told] = device_objections([a_claim(request(capacity={"requests": {"memory": "4Gi"}}))], a_node(), state)
    assert told == "claim c, request r: device shared has too little capacity left beside claim default/other"
    [told] = device_objections([a_claim(request(capacity={"requests": {"cores": "4"}}))], a_node(), state)
    assert told == "claim c, request r: device shared cannot give the capacity that is asked for"
    used = [{"counterSet": "card", "counters": {"memory": {"value": "20Gi"}}}]
    parts = [device(name, consumesCounters=used) for name in ("one", "two")]
    card = a_slice("node-1", name="card", sharedCounters=[{"name": "card", "counters": {"memory": {"value": "20Gi"}}}],
                   pool={"resourceSliceCount": 2})  # fmt: skip
    state = a_state(a_slice("node-1", *parts, pool={"resourceSliceCount": 2}), card)
    state.reserve(a_claim(name="other"), "default/p", (AllocatedDevice(driver=DRIVER, pool="node-1", device="one"),))
    assert device_objections([a_claim()], a_node(), state) == [
        "claim c, request r: device one is allocated to claim default/other",
        "claim c, request r: device two shares counters of which other allocated devices leave too little",
    ]


def test_many_are_counted() -> None:
    devices = [device(f"d{number}", taint()) for number in range(30)]
    told = device_objections([a_claim()], a_node(), a_state(a_slice("node-1", *devices)))
    assert len(told) == DEVICES_NAMED_MAX + 1
    assert told[-1] == "and 10 more"
