"""Small truths about pods that every workload controller goes by."""

from collections.abc import Iterable
from typing import Any

from doorman.api.taints import Toleration
from doorman.api.views.meta import ObjectMeta
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.generated_names import SAFE_ALPHABET
from doorman.base.instants import from_time
from doorman.semantics.pods.node_selectors import NAME_FIELD


def is_active(pod: Pod) -> bool:
    """Not finished and not being deleted: it counts as a replica."""
    return not pod.is_finished and not pod.metadata.deletion_timestamp


def is_ready(pod: Pod) -> bool:
    ready = pod.status.condition("Ready")
    return ready is not None and ready.status == "True"


def ready_since(pod: Pod, otherwise: Instant) -> Instant:
    ready = pod.status.condition("Ready")
    return from_time(ready.last_transition_time) if ready is not None and ready.last_transition_time else otherwise


def is_available(pod: Pod, min_ready_seconds: int, now: Instant) -> bool:
    """Ready, and for long enough."""
    if not is_ready(pod):
        return False
    return min_ready_seconds == 0 or ready_since(pod, now) + min_ready_seconds <= now


def next_available(pods: Iterable[Pod], min_ready_seconds: int, now: Instant) -> Instant | None:
    """When the next of the pods that are ready but not yet available will be."""
    if min_ready_seconds == 0:
        return None
    instants = (ready_since(pod, now) + min_ready_seconds for pod in pods if is_ready(pod) and is_active(pod))
    return min((instant for instant in instants if instant > now), default=None)


def target_node(pod: Pod) -> str:
    """Where the pod is, or the one node it is pinned to; empty when neither."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields:
            if field.key == NAME_FIELD and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""


def created_order(pod: Pod) -> tuple[str, str]:
    return pod.metadata.creation_timestamp, pod.metadata.name


def owner_reference(api_version: str, kind: str, meta: ObjectMeta) -> dict[str, Any]:
    """As the managing controller of what it makes."""
    return {
        "apiVersion": api_version, "kind": kind, "name": meta.name, "uid": meta.uid,
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip


def toleration_body(toleration: Toleration) -> dict[str, Any]:
    """The toleration as JSON, without what is empty."""
    body = {
        "key": toleration.key, "operator": toleration.operator, "value": toleration.value, "effect": toleration.effect,
    }  # fmt: skip
    out: dict[str, Any] = {name: value for name, value in body.items() if value}
    if toleration.toleration_seconds is not None:
        out["tolerationSeconds"] = toleration.toleration_seconds
    return out


def fnv1a_32(data: bytes) -> int:
    """
    >>> fnv1a_32(b"a") == 0xe40c292c
    True
    """
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def safe_text(number: int) -> str:
    """A number in letters and digits that make no words.

    >>> safe_text(1234567890)
    '56789bcdf4'
    """
    return "".join(SAFE_ALPHABET[ord(digit) % len(SAFE_ALPHABET)] for digit in str(number))


def safe_suffix(number: int, length: int = 5) -> str:
    """The end of a generated name.

    >>> safe_suffix(0), safe_suffix(27), len(safe_suffix(2**40))
    ('bbbbb', 'bbbcb', 5)
    """
    letters = []
    for _ in range(length):
        number, digit = divmod(number, len(SAFE_ALPHABET))
        letters.append(SAFE_ALPHABET[digit])
    return "".join(reversed(letters))


def max_restarts(pod: Pod) -> int:
    return max((status.restart_count for status in pod.status.container_statuses), default=0)
