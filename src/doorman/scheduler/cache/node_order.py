"""The order in which nodes are looked at: by zone in turn, zones and nodes in the order they appeared.

Who appeared first is told by the nodes themselves, by their creation and then by their names, numbers in them as
numbers. So the order, which decides between nodes that are equally good, is the same after a restart, and in a copy of
the cluster.

>>> order = NodeOrder()
>>> for name, zone in (("a10", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")):
...     order.add(name, {"topology.kubernetes.io/zone": zone}, "2026-01-01T00:00:00Z")
>>> order.names()
['a2', 'b1', 'a3', 'a10']
"""

import re
from collections.abc import Mapping
from itertools import zip_longest
from operator import itemgetter
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.well_known import BETA_ZONE_LABEL, ZONE_LABEL

REGION_LABEL: Final = "topology.kubernetes.io/region"
_DIGITS: Final = re.compile(r"(\d+)", re.ASCII)
_OLD_REGION_LABEL: Final = "failure-domain.beta.kubernetes.io/region"

ZoneKey = tuple[str, str]
"""Region and zone."""
_NodeRank = tuple[str, tuple[str | int, ...]]


def zone_of(labels: Mapping[str, str]) -> ZoneKey:
    """Region and zone; labels of before 1.17 are still understood, and win as they do upstream."""
    zone = labels.get(BETA_ZONE_LABEL, labels.get(ZONE_LABEL, ""))
    region = labels.get(_OLD_REGION_LABEL, labels.get(REGION_LABEL, ""))
    return region, zone


class NodeOrder:
    """The owner of the order; nodes are added, removed and moved between zones one by one."""

    def __init__(self) -> None:
        self._zones: dict[ZoneKey, dict[str, _NodeRank]] = {}
        self._zone_of: dict[str, ZoneKey] = {}

    def add(self, name: str, labels: Mapping[str, str], created: str = "") -> None:
        """`created` is the node's creationTimestamp; those without one come in the order they are added."""
        assert name not in self._zone_of, "a node is added once"
        zone = zone_of(labels)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = (created, natural_order(name) if created else ())

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
        created, _ = self._zones[self._zone_of[name]][name]
        self.remove(name)
        self.add(name, labels, created)
        return True

    def names(self) -> list[str]:
        zones = [sorted(members.items(), key=itemgetter(1)) for members in self._zones.values()]
        zones.sort(key=lambda members: members[0][1])
        rounds = zip_longest(*([name for name, _ in members] for members in zones))
        return [name for one_round in rounds for name in one_round if name is not None]


def natural_order(name: str) -> tuple[str | int, ...]:
    """
    >>> sorted(["node-10", "node-9", "node-1"], key=natural_order)
    ['node-1', 'node-9', 'node-10']
    """
    parts = _DIGITS.split(name)
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts))


def is_same_for_scheduling(old: Node, new: Node) -> bool:
    """Whether nothing differs that the scheduler looks at."""
    return (
        old.spec.unschedulable == new.spec.unschedulable
        and old.spec.taints == new.spec.taints
        and old.metadata.labels == new.metadata.labels
        and old.status.allocatable == new.status.allocatable
        and old.status.images == new.status.images
    )
