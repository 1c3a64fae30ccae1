"""What is measured of a controller's queue of keys, as Kubernetes' work queues are."""

from typing import Final

from doorman.base.histograms import Histogram

BOUNDS_SECONDS: Final = tuple(10.0**power for power in range(-8, 4))


class WorkqueueMetrics:
    """Of one queue by name. A controller may have several: one for each kind of key."""

    __slots__ = ("adds", "name", "retries", "waited", "worked")

    def __init__(self, name: str) -> None:
        self.name = name
        self.adds = 0
        """Keys that were put in; one that waits already is not put in again."""
        self.retries = 0
        self.waited = Histogram(BOUNDS_SECONDS)
        """How long keys waited until somebody looked at them."""
        self.worked = Histogram(BOUNDS_SECONDS)
        """How long looking at them took, with all that was done for them."""
