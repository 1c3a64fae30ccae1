"""Which pod a kubelet evicts when its node runs short, and what it says.

Rules
-----
1. Short of memory or disk: first pods that use more than they requested; among equals the lower priority; then whoever
   uses most beyond its request. Short of process ids: the lower priority. Ties: the younger pod, then the name.
2. Critical and static pods are never evicted, nor are pods that have ended or are going already.
3. One pod at a time, every ten seconds while the pressure lasts.
4. A pod uses what its annotation says; without one its request, and a little if it requested nothing. So best-effort
   pods go first and guaranteed ones, which never use more than they requested, last.
5. What is left is told with the eviction: what the pods do not use, and less than a kubelet's threshold, or the node
   would not be short.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

import msgspec

from doorman.api.machinery.quantity import quantity_text, whole_value
from doorman.api.views.nodes import Node
from doorman.api.views.pods import Container, Pod
from doorman.base.clock import Instant
from doorman.nodes.node_annotations import DISK_USAGE, MEMORY_USAGE, parse_amount
from doorman.nodes.pods.kubelet_pod_status import EXIT_CODE_OF_KILL, disrupted_body
from doorman.nodes.pods.pod_admission import is_critical
from doorman.semantics.pods.pod_resources import MEMORY, counted_quantities, pod_requests

INTERVAL_SECONDS: Final = 10.0
IDLE_BYTES: Final = 10 << 20
"""What a pod that requested nothing and says nothing uses."""


MEMORY_THRESHOLD_BYTES: Final = 100 << 20
DISK_THRESHOLD_PARTS: Final = 10
"""A kubelet's defaults: memory.available below 100Mi, nodefs.available below a tenth."""
PAGE_BYTES: Final = 4 << 10


class Shortage(msgspec.Struct, frozen=True):
    """A pressure: its condition, what is short, and the annotation that says how much of it a pod uses."""

    condition: str
    resource: str
    annotation: str = ""


class Observation(msgspec.Struct, frozen=True):
    """How much the node keeps free, and how much of that was left."""

    threshold: int
    available: int


SHORTAGES: Final = (
    Shortage("MemoryPressure", "memory", MEMORY_USAGE),
    Shortage("DiskPressure", "ephemeral-storage", DISK_USAGE),
    Shortage("PIDPressure", "pids"),
)


def decide_victim(shortage: Shortage, pods: Iterable[Pod]) -> Pod | None:
    """Rules 1 and 2."""
    evictable = [
        pod
        for pod in pods
        if not pod.is_finished
        and not pod.metadata.deletion_timestamp
        and pod.status.start_time
        and not is_critical(pod)
    ]
    return min(evictable, key=lambda pod: _rank(shortage, pod), default=None)


def observe(shortage: Shortage, node: Node, pods: Iterable[Pod]) -> Observation | None:
    """Rule 5; None of what kubelets keep no measure of unless they are told to."""
    if not shortage.annotation:
        return None
    capacity = counted_quantities(node.status.capacity).get(shortage.resource, 0)
    is_memory = shortage.resource == MEMORY
    threshold = MEMORY_THRESHOLD_BYTES if is_memory else capacity // DISK_THRESHOLD_PARTS
    left = capacity - sum(usage(shortage, pod) for pod in pods)
    return Observation(threshold, max(0, min(left, threshold - PAGE_BYTES)))


def eviction_message(shortage: Shortage, pod: Pod, observed: Observation | None) -> str:
    """
    >>> eviction_message(SHORTAGES[2], Pod(), None)
    'The node was low on resource: pids. '
    """
    text = f"The node was low on resource: {shortage.resource}. "
    if observed is not None:
        text += f"Threshold quantity: {_bytes(observed.threshold)}, available: {_bytes(observed.available)}. "
    if not shortage.annotation:
        return text
    for container, used in _usage_by_container(shortage, pod):
        requested = _requested(container, shortage.resource)
        if used > requested:
            text += (
                f"Container {container.name} was using {_bytes(used)}, request is {_bytes(requested)}, "
                f"has larger consumption of {shortage.resource}. "
            )
    return text


def eviction_body(pod: Pod, message: str, now: Instant) -> dict[str, Any]:
    """The status patch, as JSON: the pod failed, its containers were killed, and by whom."""
    return disrupted_body(pod, "Evicted", message, now, code=EXIT_CODE_OF_KILL)


def usage(shortage: Shortage, pod: Pod) -> int:
    """Rule 4."""
    said = pod.metadata.annotations.get(shortage.annotation)
    if said is not None:
        try:
            return parse_amount(said)
        except ValueError:
            pass
    return pod_requests(pod.spec).get(shortage.resource, 0) or IDLE_BYTES


def _usage_by_container(shortage: Shortage, pod: Pod) -> Iterable[tuple[Container, int]]:
    """Every container uses what it requested, the first one the rest."""
    rest = usage(shortage, pod)
    others = [(container, _requested(container, shortage.resource)) for container in pod.spec.containers[1:]]
    rest -= sum(requested for _, requested in others)
    return [(container, max(0, rest)) for container in pod.spec.containers[:1]] + others


def _requested(container: Container, resource: str) -> int:
    text = container.resources.requests.get(resource)
    return whole_value(text) if text is not None else 0


def _rank(shortage: Shortage, pod: Pod) -> tuple[bool, int, int, str, str]:
    excess = 0
    if shortage.annotation:
        excess = usage(shortage, pod) - pod_requests(pod.spec).get(shortage.resource, 0)
    age = pod.metadata.creation_timestamp
    return excess <= 0, pod.spec.priority, -excess, _reversed(age), pod.metadata.name


def _reversed(text: str) -> str:
    """Sorts later times first: digits are turned round, everything else stays."""
    return text.translate(_TURNED)


def _bytes(count: int) -> str:
    return quantity_text(Fraction(count), is_binary=True)


_TURNED: Final = str.maketrans("0123456789", "9876543210")
