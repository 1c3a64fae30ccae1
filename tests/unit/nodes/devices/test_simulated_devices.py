"""What a node's annotations may say of its devices."""

import pytest

from doorman.nodes.devices.device_commands import taint_device, untaint_device
from doorman.nodes.devices.simulated_devices import DeviceAnnotationError, parse_device_taint, parse_devices
from doorman.nodes.node_annotations import DEVICE_TAINTS, DEVICES

NOT_AN_IDENTIFIER = "a valid C identifier must start with alphabetic character"
NOT_A_KEY = "name part must consist of alphanumeric characters"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("gpu", "want KIND=NUMBER with a number from 1 to 64", id="no-number"),
        pytest.param("gpu=65", "want KIND=NUMBER with a number from 1 to 64", id="more-than-a-slice-holds"),
        pytest.param("GPU=1", '"GPU" is no name for a kind of device', id="kind-with-capitals"),
        pytest.param(f"{'g' * 60}=1", "is no name for a kind of device", id="driver-would-be-too-long"),
        pytest.param("gpu=1;gpu=2", '"gpu" is named twice', id="kind-twice"),
        pytest.param("gpu=1,model", 'want NAME=VALUE, not "model"', id="no-value"),
        pytest.param("gpu=1,memory=80Gi,memory=40Gi", '"memory" is named twice', id="capacity-twice"),
        pytest.param("gpu=1,memory=80Gi,memory=x", '"memory" is named twice', id="capacity-and-attribute"),
        pytest.param("gpu=1,driver-version=1.2.3", NOT_AN_IDENTIFIER, id="attribute-with-a-dash"),
        pytest.param("gpu=1,my-memory=1Gi", NOT_AN_IDENTIFIER, id="capacity-with-a-dash"),
        pytest.param(f"gpu=1,model={'m' * 65}", "may not be more than 64 bytes", id="text-too-long"),
        pytest.param("gpu=1,firmware=01.2.3", "must be a string compatible with semver.org", id="no-version"),
        pytest.param(
            "gpu=1," + ",".join(f"a{number}=1" for number in range(33)),
            "the total number of attributes and capacities must not exceed 32", id="too-many-attributes",
        ),
    ],
)  # fmt: skip
def test_devices_that_no_slice_could_hold_are_refused(text: str, fault: str) -> None:
    with pytest.raises(DeviceAnnotationError) as caught:
        parse_devices(text)
    assert fault in str(caught.value)


def test_number_that_is_longer_than_the_api_takes_is_a_text() -> None:
    [kind] = parse_devices("gpu=1,serial=99999999999999999999,slot=-3")
    assert kind.attributes == {"serial": {"string": "99999999999999999999"}, "slot": {"int": -3}}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("gpu-0 hot", "want DEVICE KEY[=VALUE]:EFFECT", id="no-effect"),
        pytest.param("gpu-0 hot:PreferNoSchedule", "want DEVICE KEY[=VALUE]:EFFECT", id="effect-of-nodes-only"),
        pytest.param("gpu-0 very hot:NoExecute", NOT_A_KEY, id="key-with-a-blank"),
        pytest.param("gpu-0 hot=so so:NoExecute", "a valid label must be an empty string", id="value-with-a-blank"),
        pytest.param("gpu_0 hot:NoExecute", "lower case alphanumeric characters or '-'", id="no-device"),
    ],
)
def test_taints_that_no_slice_could_hold_are_refused(text: str, fault: str) -> None:
    with pytest.raises(DeviceAnnotationError) as caught:
        parse_device_taint(text)
    assert fault in str(caught.value)


def test_seventeenth_taint_of_a_device_is_refused() -> None:
    annotations = {DEVICES: "gpu=1"}
    for number in range(16):
        annotations.update(taint_device(annotations, "gpu-0", f"k{number}:NoSchedule")["metadata"]["annotations"])
    with pytest.raises(DeviceAnnotationError, match='device "gpu-0" would have 17 taints, and can have 16'):
        taint_device(annotations, "gpu-0", "one-more:NoSchedule")
    annotations.update(untaint_device(annotations, "gpu-0", "k0")["metadata"]["annotations"])
    taint_device(annotations, "gpu-0", "one-more:NoSchedule")
    assert annotations[DEVICE_TAINTS].startswith("gpu-0 k1:NoSchedule; ")
