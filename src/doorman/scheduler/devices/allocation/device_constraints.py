"""Constraints of a claim: an attribute that all of its devices share, or in which all of them differ.

>>> from doorman.api.views.resource.devices import Device, ResourceSlice, ResourceSliceSpec
>>> slice_ = ResourceSlice(spec=ResourceSliceSpec(driver="gpu.example.com"))
>>> def gpu(name, numa):
...     return PublishedDevice(slice_, Device(name=name, attributes={"numa": DeviceAttribute(int_=numa)}))
>>> same = ConstraintState(DeviceConstraint(match_attribute="gpu.example.com/numa"))
>>> same.add("r", "", gpu("a", 0)), same.add("r", "", gpu("b", 1)), same.add("r", "", gpu("c", 0))
(True, False, True)
"""

from doorman.api.views.resource.devices import DeviceAttribute
from doorman.api.views.resource.resource_claims import DeviceConstraint
from doorman.scheduler.devices.published_devices import PublishedDevice

_Value = tuple[str, object]
"""The attribute's type and value: what is an int here is no bool there."""


class ConstraintState:
    """One constraint while devices are tried. What was added is taken back in the reverse order."""

    def __init__(self, constraint: DeviceConstraint) -> None:
        self._requests = frozenset(constraint.requests)
        self._is_match = constraint.match_attribute is not None
        self._attribute = constraint.match_attribute or constraint.distinct_attribute or ""
        self._values: list[_Value] = []

    def add(self, request: str, subrequest: str, device: PublishedDevice) -> bool:
        """Whether the device may be added for that request; if so it is."""
        if not self._applies(request, subrequest):
            return True
        value = _value_of(device.attribute(self._attribute))
        if value is None:
            return False
        if self._is_match:
            if self._values and self._values[0] != value:
                return False
        elif value in self._values:
            return False
        self._values.append(value)
        return True

    def take_back(self, request: str, subrequest: str) -> None:
        """The device that was added last, for that request."""
        if self._applies(request, subrequest):
            self._values.pop()

    def _applies(self, request: str, subrequest: str) -> bool:
        if not self._requests:
            return True
        return request in self._requests or bool(subrequest and f"{request}/{subrequest}" in self._requests)


def _value_of(attribute: DeviceAttribute | None) -> _Value | None:
    if attribute is None:
        return None
    if attribute.string is not None:
        return ("string", attribute.string)
    if attribute.int_ is not None:
        return ("int", attribute.int_)
    if attribute.bool_ is not None:
        return ("bool", attribute.bool_)
    return ("version", attribute.version) if attribute.version is not None else None
