"""Services and workloads that select pods: where the selector of default spread constraints comes from.

The selector of a pod is the labels that every service selecting it asks for, and the selector of the
ReplicationController, ReplicaSet or StatefulSet that controls it. Without any there is no default spreading.
"""

from collections.abc import Mapping
from typing import Any, Final

from doorman.api.machinery.label_selectors import Requirement, Selector, SelectorOperator, selector_or_nothing
from doorman.scheduler.cache.pod_shapes import Shape

CONTROLLERS: Final = {
    "replicationcontrollers": ("v1", "ReplicationController"),
    "replicasets.apps": ("apps/v1", "ReplicaSet"),
    "statefulsets.apps": ("apps/v1", "StatefulSet"),
}
"""By resource: the kind as owner references name it."""

REMEMBERED_MAX: Final = 4096
"""Selectors are worked out anew when more shapes than this take turns."""


class WorkloadSelectors:
    def __init__(self) -> None:
        self.version = 0
        self._services: dict[str, dict[str, Mapping[str, str]]] = {}
        """Selectors by namespace and name."""
        self._controllers: dict[tuple[str, str, str, str], Any] = {}  # a label set, or a LabelSelector
        self._selectors: dict[int, tuple[int, Selector]] = {}
        """By shape: the version it was worked out at, and the selector."""

    def changed(self, resource: str, old: Any, new: Any) -> None:  # views with metadata and spec.selector
        newest = new if new is not None else old
        meta = newest.metadata
        selector = getattr(getattr(new, "spec", None), "selector", None)
        if resource == "services":
            by_name = self._services.setdefault(meta.namespace, {})
            before = by_name.pop(meta.name, None)
            if selector:
                by_name[meta.name] = selector
        else:
            key = (*CONTROLLERS[resource], meta.namespace, meta.name)
            before = self._controllers.pop(key, None)
            if selector is not None:
                self._controllers[key] = selector
        if before != (selector or None):
            self.version += 1
            self._selectors.clear()

    def selector_of(self, shape: Shape) -> Selector:
        known = self._selectors.get(shape.id)
        if known is None or known[0] != self.version:
            if len(self._selectors) >= REMEMBERED_MAX:
                self._selectors.clear()
            known = self._selectors[shape.id] = (self.version, self._find(shape))
        return known[1]

    def _find(self, shape: Shape) -> Selector:
        labels: dict[str, str] = {}
        for selector in self._services.get(shape.namespace, {}).values():
            if all(shape.labels.get(key) == value for key, value in selector.items()):
                labels.update(selector)
        requirements: list[Requirement] = []
        if shape.controller is not None:
            api_version, kind, name = shape.controller
            found = self._controllers.get((api_version, kind, shape.namespace, name))
            if isinstance(found, Mapping):
                labels.update(found)
            elif found is not None:
                requirements.extend(selector_or_nothing(found).requirements)
        equal = (Requirement(key, SelectorOperator.EQUALS, (value,)) for key, value in sorted(labels.items()))
        return Selector((*equal, *requirements))
