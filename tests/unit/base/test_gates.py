"""Feature gates as `--feature-gates` sets them."""

import pytest

from doorman.base.gates import FeatureGates, GateError, parse_gates

ALWAYS_ON = "Setting GA feature gate {}=true. It will be removed in a future release."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", FeatureGates(), id="defaults"),
        pytest.param(
            "TaintTolerationComparisonOperators=false", FeatureGates(comparison_operators=False), id="operators-off"
        ),
        pytest.param(
            "NodeControllerLeaseCircuitBreaker=False", FeatureGates(lease_circuit_breaker=False), id="breaker-off"
        ),
        pytest.param(
            "NodeControllerLeaseCircuitBreaker=true, TaintTolerationComparisonOperators=true",
            FeatureGates(comparison_operators=True, lease_circuit_breaker=True),
            id="both-on",
        ),
        *(
            pytest.param(f"{name}=true", FeatureGates(warnings=(ALWAYS_ON.format(name),)), id=name)
            for name in ("SeparateTaintEvictionController", "TaintBasedEvictions", "TaintNodesByCondition")
        ),
    ],
)
def test_gates_are_read(text: str, expected: FeatureGates) -> None:
    assert parse_gates(text) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("Nope=true", "unrecognized feature gate: Nope", id="unknown"),
        pytest.param("TaintBasedEvictions", "missing bool value for TaintBasedEvictions", id="no-value"),
        pytest.param("TaintBasedEvictions=maybe", "not true or false", id="neither"),
        pytest.param("TaintNodesByCondition=false", "feature is locked to true", id="locked"),
    ],
)
def test_gates_that_cannot_be_taken(text: str, complaint: str) -> None:
    with pytest.raises(GateError, match=complaint):
        parse_gates(text)
