"""A pod that holds a place on a node."""

import math

from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.scheduler.cache.pod_shapes import Shape


class PodRecord:
    """A pod that holds a place on a node: bound there, or assumed to be soon."""

    __slots__ = ("_started", "assumed", "key", "leaving", "node", "pod", "priority", "row", "shape")

    def __init__(self, key: str, pod: Pod, shape: Shape, node: str, *, assumed: bool) -> None:
        self.key = key
        self.pod = pod
        self.shape = shape
        self.node = node
        self.assumed = assumed
        self.priority = pod.spec.priority
        self.leaving = bool(pod.metadata.deletion_timestamp)
        self.row = -1
        self._started: Instant | None = None

    @property
    def started(self) -> Instant:
        """When the pod started; one that has not starts after all that have."""
        if self._started is None:
            text = self.pod.status.start_time
            if not text:
                return math.inf
            self._started = from_time(text)
        return self._started
