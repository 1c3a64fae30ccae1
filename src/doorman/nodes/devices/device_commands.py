"""Orders about devices of simulated nodes, as merge patches of the node's annotations, which its driver obeys.

>>> annotations = {"doorman.dev/devices": "gpu=2"}
>>> taint_device(annotations, "gpu-0", "broken:NoExecute")
{'metadata': {'annotations': {'doorman.dev/device-taints': 'gpu-0 broken:NoExecute'}}}
>>> fail_device(annotations, "gpu-1")
{'metadata': {'annotations': {'doorman.dev/failed-devices': 'gpu-1'}}}
"""

from collections.abc import Mapping, Sequence

from doorman.base.json_types import Document
from doorman.nodes.devices.simulated_devices import (
    DeviceAnnotationError,
    DeviceTaintSpec,
    failed_devices,
    parse_device_taint,
    parse_device_taints,
    parse_devices,
)
from doorman.nodes.node_annotations import DEVICE_TAINTS, DEVICES, FAILED_DEVICES

Annotations = Mapping[str, str]


def taint_device(annotations: Annotations, device: str, taint: str) -> Document:
    """A taint of the same key and effect is replaced. Raises DeviceAnnotationError."""
    _check(annotations, device)
    new = parse_device_taint(f"{device} {taint}")
    kept = [one for one in _taints(annotations) if _identity(one) != _identity(new)]
    return _said([*kept, new])


def untaint_device(annotations: Annotations, device: str, taint: str) -> Document:
    """`taint` is a key, or a key with an effect. Raises DeviceAnnotationError when there is none such."""
    _check(annotations, device)
    key, _, effect = taint.removesuffix("-").partition(":")
    key = key.partition("=")[0]
    before = _taints(annotations)
    kept = [one for one in before if one.device != device or one.key != key or effect not in ("", one.effect)]
    if len(kept) == len(before):
        raise DeviceAnnotationError(f'device "{device}" has no taint {taint}')
    return _said(kept)


def fail_device(annotations: Annotations, device: str) -> Document:
    """The driver withdraws the device."""
    _check(annotations, device)
    names = failed_devices(annotations)
    return _annotate(FAILED_DEVICES, ",".join(names if device in names else [*names, device]))


def recover_device(annotations: Annotations, device: str) -> Document:
    """The driver publishes it again."""
    _check(annotations, device)
    return _annotate(FAILED_DEVICES, ",".join(name for name in failed_devices(annotations) if name != device))


def _check(annotations: Annotations, device: str) -> None:
    names = [name for kind in parse_devices(annotations.get(DEVICES, "")) for name in kind.device_names()]
    if device not in names:
        there = f"it has {names[0]} to {names[-1]}" if names else "it has none"
        raise DeviceAnnotationError(f'the node has no simulated device "{device}": {there}')


def _taints(annotations: Annotations) -> list[DeviceTaintSpec]:
    return parse_device_taints(annotations.get(DEVICE_TAINTS, ""))


def _identity(taint: DeviceTaintSpec) -> tuple[str, str, str]:
    return taint.device, taint.key, taint.effect


def _said(taints: Sequence[DeviceTaintSpec]) -> Document:
    text = "; ".join(map(str, taints))
    parse_device_taints(text)
    return _annotate(DEVICE_TAINTS, text)


def _annotate(annotation: str, text: str) -> Document:
    return {"metadata": {"annotations": {annotation: text or None}}}
