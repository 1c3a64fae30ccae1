"""Annotations are read leniently: what makes no sense was not said."""

import pytest

from doorman.nodes.marks import STARTUP, is_simulated, seconds_or


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2s", 2.0, id="seconds"),
        pytest.param("1m30s", 90.0, id="minutes"),
        pytest.param("0", 0.0, id="zero"),
        pytest.param("-2s", 7.0, id="negative"),
        pytest.param("soon", 7.0, id="no-duration"),
        pytest.param(None, 7.0, id="absent"),
    ],
)
def test_duration_of_an_annotation(text: str | None, expected: float) -> None:
    assert seconds_or({} if text is None else {STARTUP: text}, STARTUP, 7.0) == expected


def test_only_true_makes_a_node_simulated() -> None:
    assert is_simulated({"doorman.dev/simulated": "true"})
    assert not is_simulated({"doorman.dev/simulated": "yes"})
    assert not is_simulated({})
