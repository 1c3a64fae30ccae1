"""metrics.k8s.io: what nodes and pods use, as metrics-server tells it; made when it is asked for."""

from fractions import Fraction
from typing import Final

from doorman.api.machinery.quantity import quantity_text
from doorman.api.views.meta import ObjectMeta
from doorman.api.views.nodes import Node
from doorman.base.clock import Clock
from doorman.base.errors import GroupResource, not_found
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.client.informer_cache import ListerOf
from doorman.nodes.pods.simulated_usage import PodUsage, SimulatedUsage

GROUP: Final = "metrics.k8s.io"
NODE_METRICS: Final = f"nodes.{GROUP}"
POD_METRICS: Final = f"pods.{GROUP}"
WINDOW: Final = "15s"
_API_VERSION: Final = f"{GROUP}/v1beta1"


class ResourceMetrics:
    def __init__(self, usage: SimulatedUsage, nodes: ListerOf[Node], clock: Clock) -> None:
        self._usage = usage
        self._nodes = nodes
        self._clock = clock

    def pods(self, namespace: str, name: str) -> Document:
        """One, or all as `items`. Raises 404."""
        found = self._usage.in_namespace(namespace)
        if not name:
            return {"items": [self._pod(one) for one in found]}
        for one in found:
            if one.pod.metadata.name == name:
                return {"kind": "PodMetrics", "apiVersion": _API_VERSION, **self._pod(one)}
        raise not_found(GroupResource(GROUP, "pods"), f"{namespace}/{name}")

    def nodes(self, name: str) -> Document:
        """The same of nodes."""
        used: dict[str, tuple[int, int]] = {}
        for one in self._usage.in_namespace(""):
            cpu, memory = used.get(one.pod.spec.node_name, (0, 0))
            cpu += sum(container.cpu for container in one.containers)
            memory += sum(container.memory for container in one.containers)
            used[one.pod.spec.node_name] = (cpu, memory)
        nodes = sorted(self._nodes.list(), key=lambda node: node.metadata.name)
        known = [node for node in nodes if self._usage.is_heard_of(node.metadata.name)]
        if not name:
            return {"items": [self._node(node, used.get(node.metadata.name, (0, 0))) for node in known]}
        for node in known:
            if node.metadata.name == name:
                shown = self._node(node, used.get(name, (0, 0)))
                return {"kind": "NodeMetrics", "apiVersion": _API_VERSION, **shown}
        raise not_found(GroupResource(GROUP, "nodes"), name)

    def _pod(self, one: PodUsage) -> Document:
        containers = [
            {"name": container.name, "usage": _usage(container.cpu, container.memory)} for container in one.containers
        ]
        return {**self._head(one.pod.metadata), "containers": containers}

    def _node(self, node: Node, used: tuple[int, int]) -> Document:
        return {**self._head(node.metadata), "usage": _usage(*used)}

    def _head(self, meta: ObjectMeta) -> Document:
        now = to_time(self._clock.now())
        shown: Document = {"name": meta.name, "creationTimestamp": now}
        if meta.namespace:
            shown["namespace"] = meta.namespace
        if meta.labels:
            shown["labels"] = dict(meta.labels)
        return {"metadata": shown, "timestamp": now, "window": WINDOW}


def _usage(cpu: int, memory: int) -> Document:
    """
    >>> _usage(250, 64 * 1000 << 20)
    {'cpu': '250m', 'memory': '64Mi'}
    """
    return {
        "cpu": quantity_text(Fraction(cpu, 1000)),
        "memory": quantity_text(Fraction(memory // 1000), is_binary=True),
    }
