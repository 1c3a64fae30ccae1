"""Which amounts of a device's capacity may be asked for."""

from typing import Any

import pytest

from doorman.validation.resource.devices.device_capacity import capacity_errors

AT = "c.requestPolicy"


def policy(most: str = "8", **members: Any) -> dict[str, Any]:
    return {"value": most, "requestPolicy": members}


def bounds(**members: str) -> dict[str, str]:
    return {"min": "1", **members}


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        pytest.param({"value": "8"}, [], id="no-policy"),
        pytest.param(policy(), [], id="empty-policy"),
        pytest.param(policy(default="1", validValues=["1", "2", "4"]), [], id="values"),
        pytest.param(policy(default="2", validRange=bounds(max="8", step="1")), [], id="range"),
        pytest.param(
            policy(validValues=["1"]), [f"{AT}.default: Required value: required when validValues is defined"], id="a"
        ),
        pytest.param(
            policy(validRange=bounds()), [f"{AT}.default: Required value: required when validRange is defined"], id="b"
        ),
        pytest.param(
            policy(default="1", validValues=["1"], validRange=bounds()),
            [
                f'{AT}: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" '
                "at the same time"
            ],
            id="both",
        ),
        pytest.param(
            policy(default="3", validValues=["2", "1", "1", "9"]),
            [
                f'{AT}.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
                f'{AT}.validValues[3]: Invalid value: "9": option is larger than capacity value: 8',
                f'{AT}.validValues[2]: Duplicate value: "1"',
                f'{AT}.validValues: Invalid value: "3": default value is not valid according to the requestPolicy',
            ],
            id="bad-values",
        ),
        pytest.param(
            policy(default="1", validRange={"max": "2"}),
            [f"{AT}.validRange.min: Required value: required when validRange is defined"],
            id="no-min",
        ),
        pytest.param(
            policy("2", default="1", validRange={"min": "4", "max": "3"}),
            [
                f'{AT}.validRange.min: Invalid value: "4": min is larger than capacity value: 2',
                f'{AT}.validRange.default: Invalid value: "1": default is less than min: 4',
                f'{AT}.validRange.max: Invalid value: "4": min is larger than max: 3',
                f'{AT}.validRange.max: Invalid value: "3": max is larger than capacity value: 2',
            ],
            id="bad-range",
        ),
        pytest.param(
            policy("80Gi", default="10Gi", validRange={"min": "1Gi", "max": "40Gi", "step": "1Ei"}),
            [
                f'{AT}.validRange.step: Invalid value: "1Ei": '
                "one step 1073741825Gi is larger than capacity value: 80Gi",
                *(
                    f'{AT}.validRange.step: Invalid value: "{amount}": '
                    "value is not a multiple of a given step (1Ei) from (1Gi)"
                    for amount in ("10Gi", "40Gi")
                ),
            ],
            id="step",
        ),
        pytest.param(
            policy(default="1", validRange=bounds(step="0")),
            [f'{AT}.validRange.step: Invalid value: "0": must be greater than zero'],
            id="no-step",
        ),
        pytest.param(policy(default="1200m", validRange=bounds(step="500m")), [], id="parts-count-as-whole"),
        pytest.param(policy(default="100u", validRange={"min": "0", "step": "1"}), [], id="very-small-part"),
    ],
)
def test_policy_of_a_shared_device(capacity: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in capacity_errors(capacity, "c", is_shared=True)] == expected


def test_device_that_is_not_shared_has_no_policy() -> None:
    (error,) = capacity_errors(policy(), "c", is_shared=False)
    assert str(error) == f"{AT}: Forbidden: allowMultipleAllocations must be true"
