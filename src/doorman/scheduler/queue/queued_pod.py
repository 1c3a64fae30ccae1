"""A pod that is not bound yet, and what became of it so far."""

from enum import Enum, auto

from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.scheduler.cache.pod_shapes import Shape


class SubQueue(Enum):
    ACTIVE = auto()
    BACKOFF = auto()
    ERROR_BACKOFF = auto()
    UNSCHEDULABLE = auto()
    IN_FLIGHT = auto()
    """Popped: an attempt is under way, or its binding is."""

    __hash__ = object.__hash__  # an enum's own is written in Python, and a move of a pod asks four times


class QueuedPod:
    """Owned by the queue."""

    __slots__ = (
        "attempts",
        "began",
        "errors",
        "first_tried",
        "gate",
        "key",
        "missed_event",
        "number",
        "pod",
        "priority",
        "profile",
        "rejections",
        "rejectors",
        "sequence",
        "shape",
        "sub_queue",
        "timestamp",
        "was_flushed",
    )  # fmt: skip

    def __init__(self, key: str, pod: Pod, shape: Shape, profile: str, now: Instant) -> None:
        self.key = key
        self.pod = pod
        self.shape = shape
        self.profile = profile
        self.priority = pod.spec.priority
        self.timestamp = now
        self.sequence = 0
        self.attempts = 0
        self.first_tried: Instant = 0.0
        self.began = 0.0
        """When the present attempt began, by the stopwatch of whoever tries."""
        self.rejections = 0
        self.errors = 0
        self.rejectors: frozenset[str] = frozenset()
        self.gate = ""
        """The plugin that keeps it from being tried, if any."""
        self.missed_event = False
        """Something happened that was worth a try while the gate was shut."""
        self.was_flushed = False
        """Only time brought it back since it was last rejected."""
        self.sub_queue = SubQueue.UNSCHEDULABLE
        self.number = 0
