"""How a plan is made."""

from collections.abc import Callable
from typing import Final

import msgspec

from doorman.runtime.settings import Settings

HORIZON_SECONDS: Final = 3600.0

PlanProgress = Callable[[str, float], None]
"""Told what is being done, and how much of it is done, from 0 to 1."""


class PlanOptions(msgspec.Struct, frozen=True, kw_only=True):
    settings: Settings = Settings()
    """Of the control plane: gates, kube-controller-manager's flags, the scheduler's configuration."""
    horizon_seconds: float = HORIZON_SECONDS
    until_quiet: bool = True
    """Whether to end before the horizon when nothing more can happen."""
    seed: int = 1
