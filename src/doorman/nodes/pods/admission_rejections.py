"""How fast a node refuses pods, one after another, and how many it has refused.

A ReplicaSet replaces a refused pod at once, and the scheduler may well send the next one to the same node. With real
kubelets every round takes its time; without any, such a circle would never come to an end at one instant of virtual
time, and burn a core in real time.
"""

from typing import Final

from prometheus_client import Counter

from doorman.base.clock import Instant

REFUSAL_SECONDS: Final = 0.125
"""From one refusal of a node to its next."""

COUNTED_REASONS: Final = frozenset(
    {
        "Evicted", "InvalidNodeInfo", "NodeShutdown", "OutOfcpu", "OutOfephemeral-storage", "OutOfmemory", "OutOfpods",
        "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch", "SupplementalGroupsPolicyNotSupported",
        "SysctlForbidden", "UnexpectedAdmissionError",
    }
)  # fmt: skip
"""Those that a kubelet counts by name. TaintToleration is not one of them, though it was meant to be."""


class AdmissionRejections:
    def __init__(self) -> None:
        self.count: Final = Counter(
            "kubelet_admission_rejections_total",
            "Pods that nodes have refused, by reason.",
            ("reason",),
            registry=None,
        )
        self._due: dict[str, Instant] = {}
        """By uid of the pod."""
        self._noted: set[str] = set()
        self._next: dict[str, Instant] = {}
        """By node: when it may refuse again."""

    def due(self, uid: str, node: str, now: Instant) -> Instant:
        """When this pod is refused: now, or when those before it have been."""
        due = self._due.get(uid)
        if due is None:
            due = self._due[uid] = max(now, self._next.get(node, now))
            self._next[node] = due + REFUSAL_SECONDS
        return due

    def note(self, uid: str, reason: str) -> None:
        """It was refused; told again, it counts once."""
        if uid not in self._noted:
            self._noted.add(uid)
            self.count.labels(reason if reason in COUNTED_REASONS else "Other").inc()

    def forget(self, uid: str) -> None:
        self._due.pop(uid, None)
        self._noted.discard(uid)

    def forget_node(self, node: str) -> None:
        self._next.pop(node, None)
