"""One device as a driver publishes it, with the taints of rules added, and what selectors say of it.

What a CEL expression says of a device depends on its driver, attributes and capacity. So it is worked out once for all
devices that are alike in these, which may be all devices of a cluster, and kept as long as there is one of them.

>>> from doorman.api.views.resource.devices import ResourcePool, ResourceSliceSpec
>>> slice_ = ResourceSlice(spec=ResourceSliceSpec(driver="gpu.example.com", pool=ResourcePool(name="node-1")))
>>> device = PublishedDevice(slice_, Device(name="gpu-0", attributes={"model": DeviceAttribute(string="a100")}))
>>> device.matches("device.attributes['gpu.example.com'].model == 'a100'")
True
>>> device.matches("'vendor' in device.attributes['gpu.example.com']")
False
"""

from collections.abc import Iterable
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

from doorman.api.machinery.quantity import QuantityError, parse_quantity
from doorman.api.views.resource.devices import (
    Device,
    DeviceAttribute,
    DeviceId,
    DeviceTaintRule,
    ResourceSlice,
)
from doorman.semantics.cel.cel_errors import CelError
from doorman.semantics.cel.expression import is_true
from doorman.semantics.cel.values import DefaultMap
from doorman.semantics.devices.device_taints import selector_names_device

_NO_KEY_HINT: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
    "fields"
)


ANSWERS_MAX: Final = 1000
"""Expressions whose answers are kept."""


class SelectorError(Exception):
    """A selector that does not compile, or fails on a device."""


class SelectorAnswers:
    """What expressions say of devices that are alike."""

    __slots__ = ("__weakref__", "_answers", "_cel", "_device", "_driver")

    def __init__(self, driver: str, device: Device) -> None:
        """`device` is any one of them."""
        self._driver = driver
        self._device = device
        self._answers: dict[str, bool | SelectorError] = {}
        self._cel: dict[str, Any] | None = None  # the device as a CEL value

    def matches(self, expression: str) -> bool:
        """Raises SelectorError, the same each time."""
        answer = self._answers.get(expression)
        if answer is None:
            if len(self._answers) >= ANSWERS_MAX:
                self._answers.clear()
            answer = self._answers[expression] = self._evaluated(expression)
        if isinstance(answer, SelectorError):
            raise answer
        return answer

    def _evaluated(self, expression: str) -> bool | SelectorError:
        if self._cel is None:
            self._cel = cel_value(self._driver, self._device)
        try:
            return is_true(expression, {"device": self._cel})
        except CelError as error:
            what = "compile" if str(error).startswith("compilation failed") else "runtime"
            hint = _NO_KEY_HINT if what == "runtime" and "no such key:" in str(error) else ""
            return SelectorError(f"CEL {what} error: {error}{hint}")


class AnswersOfAlike:
    """
    >>> known = AnswersOfAlike()
    >>> kept = known.of("d", Device(name="gpu-0"))
    >>> kept is known.of("d", Device(name="gpu-1")), kept is known.of("another", Device(name="gpu-1"))
    (True, False)
    """

    def __init__(self) -> None:
        self._known: WeakValueDictionary[bytes, SelectorAnswers] = WeakValueDictionary()

    def of(self, driver: str, device: Device) -> SelectorAnswers:
        likeness = (driver, device.attributes, device.capacity, device.allow_multiple_allocations)
        key = msgspec.json.encode(likeness)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = SelectorAnswers(driver, device)
        return found


class PublishedDevice:
    """Owned by the pools: their rules replace `taints`, everything else stays as it was published."""

    __slots__ = ("device", "id", "matches", "published_in", "taints")

    def __init__(self, published_in: ResourceSlice, device: Device, alike: AnswersOfAlike | None = None) -> None:
        """`alike` knows the answers of devices that are like this one."""
        spec = published_in.spec
        self.published_in = published_in
        self.device = device
        self.id: DeviceId = (spec.driver, spec.pool.name, device.name)
        self.taints = device.taints
        """The slice's, then those of rules."""
        self.matches = (alike or AnswersOfAlike()).of(spec.driver, device).matches
        """Whether an expression wants the device. Raises SelectorError, the same each time."""

    def add_taints(self, rules: Iterable[DeviceTaintRule]) -> bool:
        """Put the taints of rules behind the device's own; whether that changes anything."""
        before = self.taints
        chosen = [
            rule.spec.taint
            for rule in rules
            if selector_names_device(rule.spec.device_selector, self.id, missing_is_all=True)
        ]
        self.taints = (*self.device.taints, *chosen) if chosen else self.device.taints
        return self.taints != before

    def attribute(self, name: str) -> DeviceAttribute | None:
        """By its full name. The driver's own attributes may be published without their domain."""
        found = self.device.attributes.get(name)
        if found is not None:
            return found
        domain, _, own = name.partition("/")
        return self.device.attributes.get(own) if own and domain == self.id[0] else None


def cel_value(driver: str, device: Device) -> dict[str, Any]:  # a CEL value
    """`device` as expressions see it: attributes and capacities by domain, then by name."""
    # The library of quantities and versions is loaded with the first expression, like the rest of the language.
    from doorman.semantics.cel.library.quantities import Quantity, parse_semver

    attributes: DefaultMap = DefaultMap()
    for name, attribute in device.attributes.items():
        value: Any = attribute.value()
        if attribute.version is not None:
            value = parse_semver(attribute.version)
        domain, own = _qualified(name, driver)
        attributes.setdefault(domain, {})[own] = value
    capacity: DefaultMap = DefaultMap()
    for name, amount in device.capacity.items():
        domain, own = _qualified(name, driver)
        try:
            capacity.setdefault(domain, {})[own] = Quantity(parse_quantity(amount.value))
        except QuantityError:
            continue
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": device.allow_multiple_allocations,
    }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, sign, own = name.partition("/")
    return (domain, own) if sign else (driver, name)
