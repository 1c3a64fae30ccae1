"""Which pod a kubelet evicts when its node runs short, and what it says.

Rules
-----
1. Short of memory or disk: first pods that use more than they requested; among equals the lower priority; then whoever
   uses most beyond its request. Short of process ids: the lower priority. Ties: the younger pod, then the name.
2. Critical and static pods are never evicted, nor are pods that have ended or are going already.
3. One pod at a time, every ten seconds while the pressure lasts.
4. A pod uses what its annotation says; without one its request, and a little if it requested nothing. So best-effort
   pods go first and guaranteed ones, which never use more than they requested, last.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from doorman.api.pods import Pod
from doorman.api.quantity import QuantityError, whole_value
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.nodes.admission import is_critical
from doorman.nodes.marks import DISK_USAGE, MEMORY_USAGE
from doorman.semantics.pod_resources import pod_requests

INTERVAL_SECONDS: Final = 10.0
IDLE_BYTES: Final = 10 << 20
"""What a pod that requested nothing and says nothing uses."""


class Shortage(msgspec.Struct, frozen=True):
    """A pressure: its condition, what is short, and the annotation that says how much of it a pod uses."""

    condition: str
    resource: str
    mark: str = ""


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


def eviction_message(shortage: Shortage, pod: Pod) -> str:
    """
    >>> eviction_message(SHORTAGES[2], Pod())
    'The node was low on resource: pids. '
    """
    text = f"The node was low on resource: {shortage.resource}. "
    if not shortage.mark:
        return text
    used, requested = usage(shortage, pod), pod_requests(pod.spec).get(shortage.resource, 0)
    if used <= requested or not pod.spec.containers:
        return text
    name = pod.spec.containers[0].name
    return text + (
        f"Container {name} was using {_kibibytes(used)}, request is {_kibibytes(requested)}, "
        f"has larger consumption of {shortage.resource}. "
    )


def eviction_body(pod: Pod, message: str, now: Instant) -> dict[str, Any]:
    """The status patch: the pod failed, and who ended it."""
    condition = {
        "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": message,
        "lastTransitionTime": to_time(now), "observedGeneration": pod.metadata.generation,
    }  # fmt: skip
    unready = [
        {"type": kind, "status": "False", "reason": "PodFailed", "lastTransitionTime": to_time(now)}
        for kind in ("Ready", "ContainersReady")
    ]
    status = {"phase": "Failed", "reason": "Evicted", "message": message, "conditions": [condition, *unready]}
    return {"metadata": {"uid": pod.metadata.uid}, "status": status}


def usage(shortage: Shortage, pod: Pod) -> int:
    """Rule 4."""
    said = pod.metadata.annotations.get(shortage.mark)
    if said is not None:
        try:
            return whole_value(said)
        except QuantityError:
            pass
    return pod_requests(pod.spec).get(shortage.resource, 0) or IDLE_BYTES


def _rank(shortage: Shortage, pod: Pod) -> tuple[bool, int, int, str, str]:
    excess = 0
    if shortage.mark:
        excess = usage(shortage, pod) - pod_requests(pod.spec).get(shortage.resource, 0)
    age = pod.metadata.creation_timestamp
    return excess <= 0, pod.spec.priority, -excess, _reversed(age), pod.metadata.name


def _reversed(text: str) -> str:
    """Sorts later times first: digits are turned round, everything else stays."""
    return text.translate(_TURNED)


def _kibibytes(count: int) -> str:
    return f"{count // 1024}Ki" if count else "0"


_TURNED: Final = str.maketrans("0123456789", "9876543210")
