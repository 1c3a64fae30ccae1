"""The order in which nodes are looked at: by zone in turn, zones and nodes in the order they appeared.

>>> order = NodeOrder()
>>> for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")):
...     order.add(name, {"topology.kubernetes.io/zone": zone})
>>> order.names()
['a1', 'b1', 'a2', 'a3']
"""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.well_known import ZONE_LABEL

REGION_LABEL: Final = "topology.kubernetes.io/region"
_OLD_ZONE_LABEL: Final = "failure-domain.beta.kubernetes.io/zone"
_OLD_REGION_LABEL: Final = "failure-domain.beta.kubernetes.io/region"

Zone = tuple[str, str]


def zone_of(labels: Mapping[str, str]) -> Zone:
    """Region and zone; labels of before 1.17 are still understood, and win as they do upstream."""
    zone = labels.get(_OLD_ZONE_LABEL, labels.get(ZONE_LABEL, ""))
    region = labels.get(_OLD_REGION_LABEL, labels.get(REGION_LABEL, ""))
    return region, zone


class NodeOrder:
    """The owner of the order; nodes are added, removed and moved between zones one by one."""

    def __init__(self) -> None:
        self._zones: dict[Zone, dict[str, None]] = {}
        self._zone_of: dict[str, Zone] = {}

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        assert name not in self._zone_of, "a node is added once"
        zone = zone_of(labels)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = None

    def remove(self, name: str) -> None:
        zone = self._zone_of.pop(name)
        members = self._zones[zone]
        del members[name]
        if not members:
            del self._zones[zone]

    def update(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the order changed."""
        if self._zone_of[name] == zone_of(labels):
            return False
        self.remove(name)
        self.add(name, labels)
        return True

    def names(self) -> list[str]:
        rounds = zip_longest(*self._zones.values())
        return [name for one_round in rounds for name in one_round if name is not None]


def is_same_for_scheduling(old: Node, new: Node) -> bool:
    """Whether nothing differs that the scheduler looks at."""
    return (
        old.spec.unschedulable == new.spec.unschedulable
        and old.spec.taints == new.spec.taints
        and old.metadata.labels == new.metadata.labels
        and old.status.allocatable == new.status.allocatable
        and old.status.images == new.status.images
    )
