"""Feature gates: declared once here, frozen at start, handed to constructors as plain booleans."""

import msgspec


class FeatureGate(msgspec.Struct, frozen=True):
    name: str
    default: bool
    upstream_default: bool
    locked: bool = False
    note: str = ""


GATES: tuple[FeatureGate, ...] = (
    FeatureGate(
        "TaintTolerationComparisonOperators", default=True, upstream_default=False,
        note="operators Gt and Lt in tolerations",
    ),
    FeatureGate(
        "NodeControllerLeaseCircuitBreaker", default=True, upstream_default=True,
        note="the stored lease is read before a node is marked Unknown",
    ),
    FeatureGate(
        "DRADeviceTaints", default=True, upstream_default=True,
        note="taints of devices keep claims away and evict pods",
    ),
    FeatureGate(
        "DRADeviceTaintRules", default=True, upstream_default=True,
        note="DeviceTaintRules taint devices; needs DRADeviceTaints",
    ),
    FeatureGate("SeparateTaintEvictionController", default=True, upstream_default=True, locked=True),
    FeatureGate("TaintBasedEvictions", default=True, upstream_default=True, locked=True, note="always on since 1.18"),
    FeatureGate("TaintNodesByCondition", default=True, upstream_default=True, locked=True, note="always on since 1.17"),
)  # fmt: skip


class GateError(ValueError):
    """A `--feature-gates` value that cannot be taken."""


class FeatureGates(msgspec.Struct, frozen=True):
    """The gates of one process."""

    comparison_operators: bool = True
    lease_circuit_breaker: bool = True
    device_taints: bool = True
    device_taint_rules: bool = True
    warnings: tuple[str, ...] = ()


def parse_gates(text: str) -> FeatureGates:
    """`A=true,B=false`, as every Kubernetes component takes it.

    >>> parse_gates("TaintTolerationComparisonOperators=false").comparison_operators
    False
    >>> parse_gates("Nope=true")
    Traceback (most recent call last):
    ...
    doorman.base.gates.GateError: unrecognized feature gate: Nope
    """
    known = {gate.name: gate for gate in GATES}
    values = {gate.name: gate.default for gate in GATES}
    warnings: list[str] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, sign, value = part.partition("=")
        if not sign:
            raise GateError(f"missing bool value for {name}")
        if value.lower() not in ("true", "false"):
            raise GateError(f"invalid value of {name}={value}, err: not true or false")
        if name not in known:
            raise GateError(f"unrecognized feature gate: {name}")
        wanted = value.lower() == "true"
        if known[name].locked:
            if wanted is not known[name].default:
                raise GateError(f"cannot set feature gate {name} to {value.lower()}, feature is locked to true")
            warnings.append(f"Setting GA feature gate {name}={value.lower()}. It will be removed in a future release.")
        values[name] = wanted
    return FeatureGates(
        comparison_operators=values["TaintTolerationComparisonOperators"],
        lease_circuit_breaker=values["NodeControllerLeaseCircuitBreaker"],
        device_taints=values["DRADeviceTaints"],
        device_taint_rules=values["DRADeviceTaintRules"],
        warnings=tuple(warnings),
    )
