"""How full nodes are: what pods have asked for, in percent of what a node has."""

from collections.abc import Iterable, Iterator
from typing import Final

from doorman.api.machinery.quantity import whole_value
from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import UNFINISHED_BY_NODE
from doorman.api.views.pods import Pod
from doorman.client.informer_cache import ListerOf
from doorman.plan.plan_result import FullNode
from doorman.scheduler.cache.node_order import natural_order
from doorman.semantics.pods.pod_resources import counted_quantities, pod_requests

FULL_PERCENT: Final = 90
RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


def full_nodes(nodes: ListerOf[Node], pods: ListerOf[Pod], newcomers: Iterable[Pod]) -> Iterator[FullNode]:
    """Nodes that have got new pods and are as good as full of something."""
    came: dict[str, list[Pod]] = {}
    for pod in newcomers:
        came.setdefault(pod.spec.node_name, []).append(pod)
    for name in sorted(came, key=natural_order):
        node = nodes.get(name)
        if node is None:
            continue
        after = _fill(node, pods.by(UNFINISHED_BY_NODE, name))
        full = {resource: percent for resource, percent in after.items() if percent >= FULL_PERCENT}
        came_with = _fill(node, came[name]) if full else {}
        for resource, percent in full.items():
            before = percent - came_with.get(resource, 0)
            yield FullNode(name=name, resource=resource, percent_before=max(0, before), percent_after=percent)


def _fill(node: Node, pods: Iterable[Pod]) -> dict[str, int]:
    found = list(pods)
    has = counted_quantities(node.status.allocatable)
    asked: dict[str, int] = dict.fromkeys(RESOURCES, 0)
    for pod in found:
        for resource, amount in pod_requests(pod.spec).items():
            asked[resource] = asked.get(resource, 0) + amount
    percent = {name: 100 * amount // has[name] for name, amount in asked.items() if has.get(name)}
    places = whole_value(node.status.allocatable["pods"]) if "pods" in node.status.allocatable else 0
    return {**percent, "pods": 100 * len(found) // places} if places else percent
