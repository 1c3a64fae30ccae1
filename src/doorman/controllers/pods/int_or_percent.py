"""Numbers or shares: `2` or `25%` of a total."""

import math

from doorman.api.views.apps import IntOrPercent


def scaled(value: IntOrPercent | None, total: int, *, default: IntOrPercent, round_up: bool) -> int:
    """
    >>> [scaled(v, 10, default=1, round_up=True) for v in (None, 3, "25%", "0%")]
    [1, 3, 3, 0]
    >>> scaled("25%", 10, default=1, round_up=False)
    2
    """
    given = default if value is None else value
    if isinstance(given, int):
        return given
    try:
        share = int(given.removesuffix("%")) * total / 100
    except ValueError:
        return 0
    return math.ceil(share) if round_up else math.floor(share)
