"""What Go's two decoders say of a value of the wrong type.

A body, and what a JSON patch or a merge patch made, is read by the JSON decoder: it names the struct and the members
on the way, without indexes and keys of maps. What a strategic merge patch made is converted from a map: that names
types alone, and whether it "cannot convert" or finds an "unrecognized type" is a matter of what Go could convert (an
integer to a string, never a string to an integer).
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from doorman.api.machinery.go_scalars import base64_fault

_SCALARS: Final = ("string", "bool", "int32", "int64", "double")
_INTEGERS: Final = ("int32", "int64")
_GO_NAMES: Final = {"double": "float64", "intstr": "intstr.IntOrString", "bytes": "[]uint8"}
_SOURCES: Final = {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map", list: "slice"}

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


class Fields(Protocol):
    """Where the members of a type are looked up: `Schema`."""

    def fields(self, type_name: str) -> Mapping[str, Any]: ...  # a field is a type expression or a dict with one


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


def conversion_fault(schema: Fields, value: Any, expression: Any, member: str = "") -> str | None:  # JSON, its type
    """What the conversion from a map says of the first value that does not fit; None when nothing is of a wrong type,
    or when what is wrong is told by a type's own decoder."""
    if value is None:
        return None
    source = _SOURCES[type(value)]
    if isinstance(expression, list):
        shape, inner = expression
        if source != {"list": "slice", "map": "map"}[shape]:
            return f"cannot restore {'slice' if shape == 'list' else 'map'} from {source}"
        faults = (conversion_fault(schema, item, inner) for item in (value if shape == "list" else value.values()))
        return next((fault for fault in faults if fault), None)
    if expression.startswith("@"):
        fields = schema.fields(expression[1:])
        if not fields or expression.endswith(("OrBool", "OrArray", "OrStringArray")):
            return None
        if source != "map":
            return f"cannot restore struct from: {source}"
        owner = expression.rpartition(".")[2]
        for name, field in fields.items():
            inner = field["t"] if isinstance(field, dict) else field
            if name in value and (fault := conversion_fault(schema, value[name], inner, f"{owner}.{name}")):
                return fault
        return None
    if expression == "bytes":
        fault = base64_fault(value) if source == "string" else ""
        return f"error decoding from json: {fault}" if fault else None if source == "string" else _no_slice(source)
    return _scalar_fault(source, value, expression, member) if expression in _SCALARS else None


def _no_slice(source: str) -> str:
    return f"cannot restore slice from {source}"


def converted(schema: Fields, value: Any, expression: Any) -> Any:  # JSON, its type
    """A value with its integers as the conversion from a map makes them: cut to their bits, not refused.

    >>> converted(None, [2**31, 2**64, 1.0], ["list", "int32"])
    [-2147483648, 0, 1]
    """
    if isinstance(expression, list):
        if expression[0] == "list" and isinstance(value, list):
            return [converted(schema, item, expression[1]) for item in value]
        if expression[0] == "map" and isinstance(value, dict):
            return {name: converted(schema, item, expression[1]) for name, item in value.items()}
        return value
    if expression in _INTEGERS:
        return _cut(value, 32 if expression == "int32" else 64)
    if expression.startswith("@") and isinstance(value, dict):
        fields = schema.fields(expression[1:])
        types = {name: field["t"] if isinstance(field, dict) else field for name, field in fields.items()}
        return {name: converted(schema, item, types[name]) if name in types else item for name, item in value.items()}
    return value


def _cut(value: Any, bits: int) -> Any:  # JSON
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
        return value
    whole = int(value)
    if not -(2**63) <= whole < 2**63:
        whole = -(2**63)  # as processors convert what is out of range
    return (whole + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _scalar_fault(source: str, value: Any, expression: str, member: str) -> str | None:
    is_integer = expression in _INTEGERS
    wanted = go_type(expression)
    if source == wanted or (source == "int64" and (is_integer or expression == "double")):
        return None
    if source == "float64" and is_integer:
        return None if value.is_integer() else f"cannot convert float64 to {wanted}"
    if source == "int64" and expression == "string":
        return f"cannot convert int64 to {NAMED.get(member, 'string')}"
    return f"unrecognized type: {wanted}"


def go_type(expression: Any) -> str:  # a type expression
    if isinstance(expression, list):
        return f"[]{go_type(expression[1])}" if expression[0] == "list" else f"map[string]{go_type(expression[1])}"
    if expression.startswith("@"):
        return ".".join(expression[1:].split(".")[-2:])
    return _GO_NAMES.get(expression, str(expression))
