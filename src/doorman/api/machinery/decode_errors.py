"""What Go's JSON decoder says of a value of the wrong type.

A body, and what a JSON patch or a merge patch made, is read by it: it names the struct and the members on the way,
without indexes and keys of maps. What a strategic merge patch made is converted from a map (`map_conversion`).
"""

from typing import Any, Final

_GO_NAMES: Final = {"double": "float64", "intstr": "intstr.IntOrString", "bytes": "[]uint8"}

NAMED: Final = {
    "Container.imagePullPolicy": "v1.PullPolicy",
    "Container.terminationMessagePolicy": "v1.TerminationMessagePolicy",
    "ContainerPort.protocol": "v1.Protocol",
    "CronJobSpec.concurrencyPolicy": "v1.ConcurrencyPolicy",
    "DaemonSetUpdateStrategy.type": "v1.DaemonSetUpdateStrategyType",
    "DeploymentStrategy.type": "v1.DeploymentStrategyType",
    "LabelSelectorRequirement.operator": "v1.LabelSelectorOperator",
    "NodeAddress.type": "v1.NodeAddressType",
    "NodeCondition.status": "v1.ConditionStatus",
    "NodeCondition.type": "v1.NodeConditionType",
    "NodeSelectorRequirement.operator": "v1.NodeSelectorOperator",
    "NodeStatus.allocatable": "v1.ResourceList",
    "NodeStatus.capacity": "v1.ResourceList",
    "ObjectMeta.uid": "types.UID",
    "PodCondition.status": "v1.ConditionStatus",
    "PodCondition.type": "v1.PodConditionType",
    "PodSpec.dnsPolicy": "v1.DNSPolicy",
    "PodSpec.overhead": "v1.ResourceList",
    "PodSpec.preemptionPolicy": "v1.PreemptionPolicy",
    "PodSpec.restartPolicy": "v1.RestartPolicy",
    "PodStatus.phase": "v1.PodPhase",
    "ResourceRequirements.limits": "v1.ResourceList",
    "ResourceRequirements.requests": "v1.ResourceList",
    "ServiceSpec.type": "v1.ServiceType",
    "Taint.effect": "v1.TaintEffect",
    "Toleration.effect": "v1.TaintEffect",
    "Toleration.operator": "v1.TolerationOperator",
    "TopologySpreadConstraint.whenUnsatisfiable": "v1.UnsatisfiableConstraintAction",
}
"""Members whose type has a name of its own in Go, which the table of types does not tell."""


class DecodeError(ValueError):
    """A value of the wrong type; the text is the decoder's part of the API's message."""


def json_type(value: Any) -> str:  # any JSON value
    """What Go's decoder calls it."""
    if isinstance(value, bool):
        return "bool"
    return {str: "string", int: "number", float: "number", dict: "object", list: "array"}.get(type(value), "null")


def member_place(type_name: str, place: str, name: str) -> str:
    """Where a member is: its struct, then the members on the way to it.

    >>> member_place("core.v1.Taint", "NodeSpec.spec.taints", "key")
    'Taint.spec.taints.key'
    """
    owner, trail = type_name.rpartition(".")[2], place.partition(".")[2]
    return f"{owner}.{trail}.{name}" if trail else f"{owner}.{name}"


def unmarshal_fault(found: str, expression: Any, place: str) -> str:  # a type expression
    """What the JSON decoder says; `found` is what it calls the value.

    >>> unmarshal_fault("number", "string", "Taint.spec.taints.effect")
    'json: cannot unmarshal number into Go struct field Taint.spec.taints.effect of type v1.TaintEffect'
    """
    owner, name = place.partition(".")[0], place.rpartition(".")[2]
    named = NAMED.get(f"{owner}.{name}") if expression == "string" or expression == ["map", "quantity"] else None
    where = f"struct field {place}" if place else "value"
    return f"json: cannot unmarshal {found} into Go {where} of type {named or go_type(expression)}"


def go_type(expression: Any) -> str:  # a type expression
    if isinstance(expression, list):
        return f"[]{go_type(expression[1])}" if expression[0] == "list" else f"map[string]{go_type(expression[1])}"
    if expression.startswith("@"):
        return ".".join(expression[1:].split(".")[-2:])
    return _GO_NAMES.get(expression, str(expression))
