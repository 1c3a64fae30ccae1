"""What is in a snapshot, looked up: its nodes, its workloads, and where their pods are."""

from collections import Counter
from functools import cache, cached_property

import msgspec

from doorman.api.kinds import builtin_kinds
from doorman.api.views.meta import ObjectMeta, View, controller_of, to_view
from doorman.api.views.nodes import Node
from doorman.plan.plan_actions import PlanError
from doorman.plan.trails.workload_trail import KINDS
from doorman.scheduler.cache.node_order import natural_order
from doorman.snapshot.references import check
from doorman.snapshot.snapshot_format import Snapshot

SHOWN_MAX = 5


class _Head(msgspec.Struct):
    """Of a line, what tells what it is."""

    kind: str = ""


class _PodSpec(View, frozen=True, kw_only=True):
    node_name: str = ""


class _Placed(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _PodSpec = _PodSpec()


class SnapshotIndex:
    def __init__(self, snapshot: Snapshot) -> None:
        """Raises `SnapshotError` when pods are on nodes that are not in it."""
        heads = msgspec.json.Decoder(_Head)
        self.nodes: list[Node] = []
        self._replica_sets: dict[str, ObjectMeta] = {}
        pods: list[_Placed] = []
        for line in snapshot.objects:
            match heads.decode(line).kind:
                case "Node":
                    self.nodes.append(to_view(msgspec.json.decode(line), Node))
                case "Pod":
                    pods.append(to_view(msgspec.json.decode(line), _Placed))
                case "ReplicaSet":
                    meta = to_view(msgspec.json.decode(line), _Placed).metadata
                    self._replica_sets[meta.uid] = meta
        known = {node.metadata.name for node in self.nodes}
        lost = [pod for pod in pods if pod.spec.node_name and pod.spec.node_name not in known]
        check(((f"Pod {pod.metadata.key}", f"Node {pod.spec.node_name}") for pod in lost), snapshot.dangling)
        self._places: dict[str, Counter[str]] = {}
        for pod in pods:
            workload = self._workload_of(pod.metadata)
            if workload and pod.spec.node_name:
                self._places.setdefault(workload, Counter())[pod.spec.node_name] += 1

    @cached_property
    def workloads(self) -> list[str]:
        """`namespace/Kind/name` of those that make their pods again elsewhere and have some."""
        return sorted(name for name in self._places if name.split("/")[1] != "DaemonSet")

    def busiest_node(self, workload: str) -> str:
        """The node with most of its pods; empty when it has none."""
        places = self._places.get(workload, Counter())
        return min(places, key=lambda node: (-places[node], natural_order(node)), default="")

    def workload_named(self, text: str) -> str:
        """By `name`, `Kind/name` or `namespace/Kind/name`. Raises `PlanError` when it is none, or more than one."""
        wanted = text.lower().split("/")
        found = [one for one in self.workloads if _fits(one.lower().split("/"), wanted)]
        if len(found) == 1:
            return found[0]
        shown = ", ".join((found or self.workloads)[:SHOWN_MAX])
        told = f'no workload "{text}"' if not found else f'more than one workload "{text}"'
        raise PlanError(told, f"one of {shown}" if shown else "the snapshot holds no workload with pods")

    def _workload_of(self, meta: ObjectMeta) -> str:
        owner = controller_of(meta)
        if owner is None:
            return ""
        kind, name = owner.kind, owner.name
        above = controller_of(self._replica_sets[owner.uid]) if owner.uid in self._replica_sets else None
        if above is not None:
            kind, name = above.kind, above.name
        return f"{meta.namespace}/{kind}/{name}" if kind in KINDS.values() else ""


def _fits(known: list[str], wanted: list[str]) -> bool:
    """
    >>> _fits(["shop", "deployment", "web"], ["web"]), _fits(["shop", "deployment", "web"], ["shop", "web"])
    (True, True)
    >>> _fits(["shop", "deployment", "web"], ["deploy", "web"])
    True
    """
    namespace, kind, name = known
    match wanted:
        case [one]:
            return one == name
        case [first, last]:
            return last == name and (first == namespace or first in _names_of(kind))
        case [first, middle, last]:
            return (first, last) == (namespace, name) and middle in _names_of(kind)
        case _:
            return False


@cache
def _names_of(kind: str) -> frozenset[str]:
    """What users call it: also in the plural, and for short."""
    resource = next(resource for resource, name in KINDS.items() if name.lower() == kind)
    row = builtin_kinds().named(resource)
    return frozenset((kind, row.resource, row.group_resource, *row.short_names))
