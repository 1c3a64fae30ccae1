"""What selectors say of devices, and how often that is worked out."""

from typing import Any

import pytest

from doorman.scheduler.devices import published_devices
from doorman.scheduler.devices.published_devices import SelectorError
from support.claims import a_node, a_slice, pools_of
from support.devices import DRIVER, device

MODEL = f"device.attributes['{DRIVER}'].model == 'a'"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Expressions that are worked out."""
    found: list[str] = []
    real = published_devices.is_true

    def noting(expression: str, values: Any) -> bool:
        found.append(expression)
        return real(expression, values)

    monkeypatch.setattr(published_devices, "is_true", noting)
    return found


def model(name: str, text: str, **more: Any) -> dict[str, Any]:
    return device(name, attributes={"model": {"string": text}}, **more)


def answers(*slices: Any) -> list[bool]:
    pools = pools_of(*slices)
    return [published.matches(MODEL) for published in pools.all_devices()]


def test_devices_that_are_alike_are_asked_once_wherever_they_are(asked: list[str]) -> None:
    slices = [a_slice(f"node-{number}", model("x", "a"), model("y", "a"), model("z", "b")) for number in range(3)]
    assert answers(*slices) == [True, True, False] * 3
    assert len(asked) == 2


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(a_slice("node-2", model("x", "a", capacity={"memory": {"value": "1Gi"}})), id="capacity"),
        pytest.param(a_slice("node-2", model("x", "a", allowMultipleAllocations=True)), id="sharing"),
        pytest.param(
            a_slice("node-2", device("x", attributes={f"{DRIVER}/model": {"string": "a"}}), driver="other.example.com"),
            id="driver",
        ),
    ],
)
def test_whatever_an_expression_can_see_makes_a_device_another(asked: list[str], other: Any) -> None:
    assert answers(a_slice("node-1", model("x", "a")), other) == [True, True]
    assert len(asked) == 2


def test_failure_is_the_same_each_time_and_says_nothing_of_the_device() -> None:
    [published, other] = pools_of(a_slice("node-1", "x", "y")).reached_by(a_node())[0].devices
    texts = []
    for one in (published, other, published):
        with pytest.raises(SelectorError) as caught:
            one.matches(MODEL)
        texts.append(str(caught.value))
    assert len(set(texts)) == 1
    assert texts[0].startswith("CEL runtime error: no such key: model.")
