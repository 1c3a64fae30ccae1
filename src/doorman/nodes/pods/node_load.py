"""What each simulated node carries: the pods it has taken, with what they ask for, summed as they come and go."""

from doorman.api.views.pods import Pod
from doorman.nodes.pods.pod_admission import Load
from doorman.semantics.pods.host_ports import HostPort, host_ports
from doorman.semantics.pods.pod_resources import pod_requests


class _NodeLoad:
    __slots__ = ("ports", "requests", "totals")

    def __init__(self) -> None:
        self.requests: dict[str, dict[str, int]] = {}
        self.totals: dict[str, int] = {}
        self.ports: dict[str, tuple[HostPort, ...]] = {}


class Loads:
    """Pods are known by uid, because a namesake is another pod."""

    def __init__(self) -> None:
        self._nodes: dict[str, _NodeLoad] = {}
        self._node_of: dict[str, str] = {}

    def has(self, uid: str) -> bool:
        return uid in self._node_of

    def pods_of(self, node: str) -> list[str]:
        """Uids, in the order in which they were taken."""
        found = self._nodes.get(node)
        return list(found.requests) if found is not None else []

    def take(self, pod: Pod) -> None:
        uid, node = pod.metadata.uid, pod.spec.node_name
        if uid in self._node_of:
            return
        load = self._nodes.setdefault(node, _NodeLoad())
        requests = pod_requests(pod.spec)
        load.requests[uid] = requests
        for resource, count in requests.items():
            load.totals[resource] = load.totals.get(resource, 0) + count
        ports = host_ports(pod.spec)
        if ports:
            load.ports[uid] = ports
        self._node_of[uid] = node

    def drop(self, uid: str) -> None:
        node = self._node_of.pop(uid, None)
        if node is None:
            return
        load = self._nodes[node]
        for resource, count in load.requests.pop(uid).items():
            load.totals[resource] -= count
        load.ports.pop(uid, None)
        if not load.requests:
            del self._nodes[node]

    def of(self, node: str) -> Load:
        load = self._nodes.get(node)
        if load is None:
            return Load()
        ports = frozenset(port for ports in load.ports.values() for port in ports)
        return Load(pods=len(load.requests), requests=load.totals, ports=ports)
