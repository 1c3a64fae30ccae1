"""DefaultTolerationSeconds: a pod that says nothing about nodes that are not ready or unreachable bears them a while.

A toleration counts as saying something when its key is the taint's or empty and its effect NoExecute or empty; what it
would really tolerate is not looked at.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import CREATE_AND_UPDATE, Attributes, ClusterReader, Interest
from doorman.api.taints import NOT_READY, UNREACHABLE
from doorman.base.clock import Instant

INTERESTS: Final = (Interest(resource="pods", operations=CREATE_AND_UPDATE),)
SECONDS_DEFAULT: Final = 300


def decide_tolerations(
    tolerations: Iterable[Mapping[str, Any]], *, not_ready_seconds: int, unreachable_seconds: int
) -> list[dict[str, Any]]:  # tolerations as JSON
    """Those to append."""
    says_not_ready = says_unreachable = False
    for toleration in tolerations:
        if toleration.get("effect", "") not in ("", "NoExecute"):
            continue
        key = toleration.get("key", "")
        says_not_ready = says_not_ready or key in ("", NOT_READY)
        says_unreachable = says_unreachable or key in ("", UNREACHABLE)
    missing = []
    if not says_not_ready:
        missing.append(_toleration(NOT_READY, not_ready_seconds))
    if not says_unreachable:
        missing.append(_toleration(UNREACHABLE, unreachable_seconds))
    return missing


class DefaultTolerationSeconds:
    name = "DefaultTolerationSeconds"
    interests: Sequence[Interest] = INTERESTS

    def __init__(self, *, not_ready_seconds: int, unreachable_seconds: int) -> None:
        self._not_ready_seconds = not_ready_seconds
        self._unreachable_seconds = unreachable_seconds

    def admit(self, attributes: Attributes, _cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a write has an object"
        spec = attributes.obj.setdefault("spec", {})
        tolerations = spec.get("tolerations") or []
        missing = decide_tolerations(
            tolerations,
            not_ready_seconds=self._not_ready_seconds,
            unreachable_seconds=self._unreachable_seconds,
        )
        if missing:
            spec["tolerations"] = [*tolerations, *missing]


def _toleration(key: str, seconds: int) -> dict[str, Any]:  # a toleration as JSON
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
