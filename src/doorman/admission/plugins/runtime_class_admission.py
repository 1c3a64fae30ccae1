"""RuntimeClass: a pod takes over the overhead, node selector and tolerations of its runtime class."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import CREATE, Attributes, ClusterReader, Interest, refusal
from doorman.api.machinery.quantity import parse_quantity
from doorman.base.clock import Instant
from doorman.base.go_format import quote
from doorman.semantics.library import to_toleration
from doorman.semantics.taints.toleration_lists import merge_tolerations, toleration_document

INTERESTS: Final = (Interest(resource="pods", operations=CREATE),)
CLASSES: Final = "runtimeclasses.node.k8s.io"

_OTHER_OVERHEAD: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_LONE_OVERHEAD: Final = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def decide_selector_conflict(pod: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    """Why the selectors cannot be merged, empty when they can."""
    for key, value in wanted.items():
        if key in pod and pod[key] != value:
            return (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {pod[key]}"
            )
    return ""


def is_same_overhead(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """By amount, however it is written."""
    return one.keys() == other.keys() and all(parse_quantity(one[name]) == parse_quantity(other[name]) for name in one)


class RuntimeClass:
    name = "RuntimeClass"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        assert attributes.obj is not None, "a create has an object"
        spec = attributes.obj.get("spec") or {}
        wanted = spec.get("runtimeClassName")
        if not wanted:
            return
        found = cluster.get(CLASSES, "", wanted)
        if found is None:
            raise refusal(attributes, f"pod rejected: RuntimeClass {quote(wanted)} not found")
        overhead = (found.get("overhead") or {}).get("podFixed")
        if overhead:
            if not is_same_overhead(spec.get("overhead", overhead), overhead):
                raise refusal(attributes, _OTHER_OVERHEAD)
            spec["overhead"] = dict(overhead)
        self._schedule(attributes, spec, found.get("scheduling") or {})

    def validate(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        spec = (attributes.obj or {}).get("spec") or {}
        wanted, said = spec.get("runtimeClassName"), spec.get("overhead")
        if not said and not wanted:
            return
        found = (cluster.get(CLASSES, "", wanted) if wanted else None) or {}
        overhead = found.get("overhead")
        if overhead is None and said:
            raise refusal(attributes, _LONE_OVERHEAD)
        if overhead is not None and not is_same_overhead(said or {}, overhead.get("podFixed") or {}):
            raise refusal(attributes, _OTHER_OVERHEAD)

    def _schedule(self, attributes: Attributes, spec: dict[str, Any], scheduling: Mapping[str, Any]) -> None:
        if selector := scheduling.get("nodeSelector"):
            own = spec.get("nodeSelector") or {}
            if why := decide_selector_conflict(own, selector):
                raise refusal(attributes, why)
            spec["nodeSelector"] = {**own, **selector}
        if tolerations := scheduling.get("tolerations"):
            own_tolerations = [to_toleration(one) for one in spec.get("tolerations") or ()]
            merged = merge_tolerations(own_tolerations, [to_toleration(one) for one in tolerations])
            spec["tolerations"] = [toleration_document(one) for one in merged]
