"""Priority: the number and the preemption policy of a pod come from its class, and only one class is the default."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.admission.plugin_contract import (
    CREATE,
    CREATE_AND_UPDATE,
    UPDATE,
    Attributes,
    ClusterReader,
    Interest,
    Operation,
    refusal,
)
from doorman.base.clock import Instant

CLASSES: Final = "priorityclasses.scheduling.k8s.io"
INTERESTS: Final = (
    Interest(resource="pods", operations=CREATE),
    Interest(resource="pods", operations=UPDATE),
    Interest(resource=CLASSES, operations=CREATE_AND_UPDATE),
)

PREEMPT: Final = "PreemptLowerPriority"
_COMPUTED: Final = "must not be provided in pod spec; priority admission controller computed"
_FROM_CLASS: Final = "from the given PriorityClass name"


def decide_default_class(classes: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The default class; of several the one with the lowest value."""
    return min(
        (one for one in classes if one.get("globalDefault")),
        key=lambda one: (one.get("value", 0), one["metadata"]["name"]),
        default=None,
    )


class Priority:
    name = "Priority"
    interests: Sequence[Interest] = INTERESTS

    def admit(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        if attributes.resource != "pods" or attributes.obj is None:
            return
        spec = attributes.obj.setdefault("spec", {})
        if attributes.operation is Operation.UPDATE:
            stored = (attributes.old or {}).get("spec") or {}
            for field in ("priority", "preemptionPolicy"):
                if field not in spec and field in stored:
                    spec[field] = stored[field]
            return
        self._admit_new(attributes, spec, cluster)

    def validate(self, attributes: Attributes, cluster: ClusterReader, _now: Instant) -> None:
        if attributes.resource != "priorityclasses" or attributes.obj is None:
            return
        if not attributes.obj.get("globalDefault"):
            return
        found = decide_default_class(cluster.list(CLASSES))
        if found is None:
            return
        name = found["metadata"]["name"]
        if attributes.operation is Operation.CREATE or name != attributes.name:
            text = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise refusal(attributes, text)

    def _admit_new(
        self, attributes: Attributes, spec: dict[str, Any], cluster: ClusterReader
    ) -> None:  # a PodSpec as JSON
        name = spec.get("priorityClassName", "")
        found = cluster.get(CLASSES, "", name) if name else decide_default_class(cluster.list(CLASSES))
        if name and found is None:
            raise refusal(attributes, f"no PriorityClass with name {name} was found")
        if not name and found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
        number = found.get("value", 0) if found is not None else 0
        policy = found.get("preemptionPolicy") or PREEMPT if found is not None else PREEMPT
        if spec.get("priority", number) != number:
            text = f"the integer value of priority ({spec['priority']}) {_COMPUTED} {number} {_FROM_CLASS}"
            raise refusal(attributes, text)
        spec["priority"] = number
        if spec.get("preemptionPolicy", policy) != policy:
            given = spec["preemptionPolicy"]
            text = f"the string value of PreemptionPolicy ({given}) {_COMPUTED} {policy} {_FROM_CLASS}"
            raise refusal(attributes, text)
        spec["preemptionPolicy"] = policy
