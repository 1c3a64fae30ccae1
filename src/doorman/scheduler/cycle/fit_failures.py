"""Remembers why pods of a shape fitted nowhere, so that their likes need not be tried while nothing has changed."""

from typing import Final

import msgspec

from doorman.scheduler.cycle.attempts import FitError, PostFilterResult
from doorman.scheduler.queue.queued_pod import QueuedPod

FAILURES_MAX: Final = 1024

State = tuple[int, ...]
"""Versions of everything that decisions depend on."""


class FitFailure(msgspec.Struct, frozen=True):
    state: State
    fit_error: FitError
    result: PostFilterResult | None


class FitFailures:
    """A failure is good for pods of the same shape, priority and preemption policy, in the same state."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int, str], FitFailure] = {}

    def get(self, queued: QueuedPod, state: State) -> FitFailure | None:
        known = self._known.get(_key(queued))
        return known if known is not None and known.state == state else None

    def remember(self, queued: QueuedPod, failure: FitFailure) -> None:
        if failure.result is not None and failure.result.victims:
            return  # the next one must find other victims
        if len(self._known) >= FAILURES_MAX:
            self._known.clear()
        self._known[_key(queued)] = failure


def _key(queued: QueuedPod) -> tuple[str, int, int, str]:
    return queued.profile, queued.shape.id, queued.priority, queued.pod.spec.preemption_policy
