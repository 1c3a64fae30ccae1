"""What an evaluation may cost: about one unit a step, a tenth of one for each character or element handled.

Expressions run in the one loop that serves everybody. The limit bounds what one may cost; on the way to it, an
evaluation that runs in slices gives way to the others every so many units.
"""

from typing import Final

from doorman.base.bounds import CEL_COST_MAX
from doorman.base.loop_turns import pause_if_due
from doorman.semantics.cel.cel_errors import CostExceeded

_UNITS_A_SIZE: Final = 10
_UNITS_A_PAUSE: Final = 2_000
"""About a millisecond of steps."""


class CostBudget:
    __slots__ = ("_pause_at", "left")

    def __init__(self, left: int = CEL_COST_MAX) -> None:
        self.left = left
        self._pause_at = max(left - _UNITS_A_PAUSE, 0)

    def charge(self, units: int) -> None:
        self.left -= units
        if self.left < self._pause_at:
            if self.left < 0:
                raise CostExceeded
            self._pause_at = max(self.left - _UNITS_A_PAUSE, 0)
            pause_if_due()

    def charge_size(self, size: int) -> None:
        """Before something of that many characters or elements is made or walked over."""
        self.charge(1 + size // _UNITS_A_SIZE)
