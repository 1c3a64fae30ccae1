"""DeviceClasses by name, and by the extended resource that each stands for.

Rules
-----
1. A class stands for `deviceclass.resource.kubernetes.io/<its name>`, and for its `spec.extendedResourceName` if it has
   one.
2. Of several classes with the same extendedResourceName the one created last counts; of those of the same second the
   first by name.

>>> from doorman.api.views.meta import ObjectMeta
>>> from doorman.api.views.resource.devices import DeviceClassSpec
>>> classes = DeviceClasses()
>>> gpu = DeviceClass(metadata=ObjectMeta(name="gpu"), spec=DeviceClassSpec(extended_resource_name="example.com/gpu"))
>>> classes.changed(None, gpu)
True
>>> classes.standing_for("example.com/gpu").metadata.name
'gpu'
>>> classes.standing_for("deviceclass.resource.kubernetes.io/gpu").metadata.name
'gpu'
"""

from collections.abc import Mapping

from doorman.api.views.resource.devices import DeviceClass
from doorman.semantics.pods.resource_names import DEVICE_CLASS_PREFIX


class DeviceClasses:
    def __init__(self) -> None:
        self._by_name: dict[str, DeviceClass] = {}
        self._by_resource: dict[str, DeviceClass] = {}

    @property
    def by_name(self) -> Mapping[str, DeviceClass]:
        return self._by_name

    def changed(self, old: DeviceClass | None, new: DeviceClass | None) -> bool:
        """Whether other extended resources are backed now than before."""
        before = set(self.extended_resources())
        for side in (old, new):
            if side is not None:
                self._by_name.pop(side.metadata.name, None)
        if new is not None:
            self._by_name[new.metadata.name] = new
        self._by_resource = {}
        for one in sorted(self._by_name.values(), key=_precedence):
            self._by_resource[one.spec.extended_resource_name] = one
        self._by_resource.pop("", None)
        return before != set(self.extended_resources())

    def standing_for(self, resource: str) -> DeviceClass | None:
        """Rules 1 and 2."""
        if resource.startswith(DEVICE_CLASS_PREFIX):
            return self._by_name.get(resource.removeprefix(DEVICE_CLASS_PREFIX))
        return self._by_resource.get(resource)

    def extended_resources(self) -> tuple[str, ...]:
        return (*self._by_resource, *(f"{DEVICE_CLASS_PREFIX}{name}" for name in self._by_name))


def _precedence(one: DeviceClass) -> tuple[str, tuple[int, ...]]:
    """The later in this order the more it counts."""
    return one.metadata.creation_timestamp, tuple(-ord(letter) for letter in one.metadata.name)
