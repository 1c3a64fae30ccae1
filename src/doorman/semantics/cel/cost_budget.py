"""What an evaluation may cost: about one unit a step, a tenth of one for each character or element handled.

Expressions run in the one loop that serves everybody, so the limit is what keeps a long one from holding up the rest.
"""

from typing import Final

from doorman.base.bounds import CEL_COST_MAX
from doorman.semantics.cel.cel_errors import CostExceeded

_UNITS_A_SIZE: Final = 10


class CostBudget:
    __slots__ = ("left",)

    def __init__(self, left: int = CEL_COST_MAX) -> None:
        self.left = left

    def charge(self, units: int) -> None:
        self.left -= units
        if self.left < 0:
            raise CostExceeded

    def charge_size(self, size: int) -> None:
        """Before something of that many characters or elements is made or walked over."""
        self.charge(1 + size // _UNITS_A_SIZE)
