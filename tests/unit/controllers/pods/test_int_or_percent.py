"""Numbers or shares."""

import pytest

from doorman.controllers.pods.int_or_percent import scaled


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [
        pytest.param(None, 10, 7, 7, id="default"),
        pytest.param(3, 10, 3, 3, id="number"),
        pytest.param("25%", 10, 3, 2, id="share"),
        pytest.param("100%", 10, 10, 10, id="all"),
        pytest.param("0%", 10, 0, 0, id="none"),
        pytest.param("x", 10, 0, 0, id="unreadable"),
    ],
)
def test_scaled(value: int | str | None, total: int, up: int, down: int) -> None:
    assert scaled(value, total, default=7, round_up=True) == up
    assert scaled(value, total, default=7, round_up=False) == down
