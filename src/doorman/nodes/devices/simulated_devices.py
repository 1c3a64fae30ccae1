"""What devices a simulated node has, as its annotations spell it.

- `doorman.dev/devices: gpu=8,model=a100,memory=80Gi`: eight devices `gpu-0` to `gpu-7` of driver `gpu.doorman.dev`.
  What follows the number goes for each: a quantity with a unit is a capacity, anything else an attribute (a number, a
  boolean, a version such as `1.2.0`, or else a text). Several kinds are separated by `;`.
- `doorman.dev/device-taints: gpu-0 broken=fan:NoExecute; gpu-1 hot:NoSchedule`: taints that the driver publishes.
- `doorman.dev/failed-devices: gpu-3`: devices that the driver has withdrawn.

What the API would not take in a slice is refused here already: one wrong word would keep all from being published.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec

from doorman.base.json_types import Document
from doorman.nodes.node_annotations import DEVICE_TAINTS, DEVICES, FAILED_DEVICES
from doorman.semantics.name_syntax import dns_label_faults
from doorman.validation.resource.devices.device_names import driver_errors
from doorman.validation.resource.devices.slice_device import TAINTS_MAX, device_errors

DRIVER_SUFFIX: Final = ".doorman.dev"
DEVICES_MAX: Final = 64
"""In one slice, when any of them may be tainted."""

EFFECTS: Final = ("NoSchedule", "NoExecute", "None")
_QUANTITY: Final = re.compile(r"\d+(\.\d+)?([KMGTPE]i|[kMGTPE])", re.ASCII)
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+", re.ASCII)
_INTEGER: Final = re.compile(r"-?\d{1,18}", re.ASCII)
"""Longer ones might not be what the API takes for a number."""


class DeviceAnnotationError(ValueError):
    """What cannot be obeyed, and why."""


class DeviceKind(msgspec.Struct, frozen=True):
    name: str
    count: int
    attributes: Document
    capacity: Document

    @property
    def driver(self) -> str:
        return f"{self.name}{DRIVER_SUFFIX}"

    def device_names(self) -> list[str]:
        return [f"{self.name}-{number}" for number in range(self.count)]


class DeviceTaintSpec(msgspec.Struct, frozen=True):
    device: str
    key: str
    value: str
    effect: str

    def published(self) -> Document:
        """As it stands in a slice, but for the time."""
        document = {"key": self.key, "effect": self.effect}
        return {**document, "value": self.value} if self.value else document

    def __str__(self) -> str:
        pair = f"{self.key}={self.value}" if self.value else self.key
        return f"{self.device} {pair}:{self.effect}"


def parse_devices(text: str) -> list[DeviceKind]:
    """Raises DeviceAnnotationError.

    >>> [kind] = parse_devices("gpu=2,model=a100,memory=80Gi,numa=1,linked=true,firmware=1.2.0")
    >>> kind.driver, kind.device_names(), kind.capacity
    ('gpu.doorman.dev', ['gpu-0', 'gpu-1'], {'memory': {'value': '80Gi'}})
    >>> kind.attributes["model"], kind.attributes["numa"], kind.attributes["linked"], kind.attributes["firmware"]
    ({'string': 'a100'}, {'int': 1}, {'bool': True}, {'version': '1.2.0'})
    """
    kinds: dict[str, DeviceKind] = {}
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        first, *others = (piece.strip() for piece in part.split(","))
        name, sign, number = first.partition("=")
        if not sign or not number.isdecimal() or not 1 <= int(number) <= DEVICES_MAX:
            raise DeviceAnnotationError(f'want KIND=NUMBER with a number from 1 to {DEVICES_MAX}, not "{first}"')
        if dns_label_faults(name) or driver_errors(f"{name}{DRIVER_SUFFIX}", ""):
            raise DeviceAnnotationError(f'"{name}" is no name for a kind of device')
        if name in kinds:
            raise DeviceAnnotationError(f'"{name}" is named twice')
        attributes: Document = {}
        capacity: Document = {}
        for other in others:
            key, sign, value = other.partition("=")
            if not key or not sign or not value:
                raise DeviceAnnotationError(f'want NAME=VALUE, not "{other}"')
            if key in attributes or key in capacity:
                raise DeviceAnnotationError(f'"{key}" is named twice')
            if _QUANTITY.fullmatch(value):
                capacity[key] = {"value": value}
            else:
                attributes[key] = _attribute(value)
        kind = kinds[name] = DeviceKind(name, int(number), attributes, capacity)
        _check_publishable({"name": kind.device_names()[-1], "attributes": attributes, "capacity": capacity}, name)
    return list(kinds.values())


def parse_device_taints(text: str) -> list[DeviceTaintSpec]:
    """Raises DeviceAnnotationError.

    >>> [str(taint) for taint in parse_device_taints("gpu-0 broken=fan:NoExecute; gpu-1 hot:NoSchedule")]
    ['gpu-0 broken=fan:NoExecute', 'gpu-1 hot:NoSchedule']
    """
    taints = [parse_device_taint(part) for part in filter(None, (piece.strip() for piece in text.split(";")))]
    for device, count in Counter(taint.device for taint in taints).items():
        if count > TAINTS_MAX:
            raise DeviceAnnotationError(f'device "{device}" would have {count} taints, and can have {TAINTS_MAX}')
    return taints


def parse_device_taint(text: str) -> DeviceTaintSpec:
    device, _, taint = text.partition(" ")
    pair, _, effect = taint.strip().rpartition(":")
    key, _, value = pair.partition("=")
    if not device or not key or effect not in EFFECTS:
        wanted = f"DEVICE KEY[=VALUE]:EFFECT with an effect of {', '.join(EFFECTS)}"
        raise DeviceAnnotationError(f'want {wanted}, not "{text}"')
    found = DeviceTaintSpec(device, key, value, effect)
    _check_publishable({"name": device, "taints": [found.published()]}, device)
    return found


def failed_devices(annotations: Mapping[str, str]) -> list[str]:
    return [name for name in (piece.strip() for piece in annotations.get(FAILED_DEVICES, "").split(",")) if name]


def device_annotation_errors(annotations: Mapping[str, str]) -> list[str]:
    """What cannot be obeyed of a node's annotations about devices."""
    errors = []
    for annotation, parse in ((DEVICES, parse_devices), (DEVICE_TAINTS, parse_device_taints)):
        try:
            parse(annotations.get(annotation, ""))
        except DeviceAnnotationError as error:
            errors.append(f"{annotation}: {error}")
    return errors


def _check_publishable(device: Document, about: str) -> None:
    """Raises DeviceAnnotationError, with what the API would say to a slice with that device."""
    errors = device_errors(device, None, about, has_own_place=False)
    if errors:
        raise DeviceAnnotationError(str(errors[0]))


def _attribute(text: str) -> Document:
    if text in ("true", "false"):
        return {"bool": text == "true"}
    if _INTEGER.fullmatch(text):
        return {"int": int(text)}
    return {"version": text} if _VERSION.fullmatch(text) else {"string": text}
