"""DefaultPreemption, the queue's side: a pod whose victims are being deleted waits until that has been asked for.

The choice of victims is in `doorman.scheduler.preemption`.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from doorman.api.pods import Pod
from doorman.scheduler.framework import Change, Hint, Resource


class DefaultPreemption:
    name = "DefaultPreemption"

    def __init__(self, preempting: AbstractSet[str]) -> None:
        self._preempting = preempting
        """Keys of pods whose victims' deletion is under way; owned by the scheduler."""

    def waits(self, pod: Pod) -> str:
        under_way = pod.metadata.key in self._preempting
        return "waiting for the preemption for this pod to be finished" if under_way else ""

    def hints(self) -> Sequence[Hint]:
        """The deletion of pods concerns it, but is never by itself a reason to try again."""
        return (Hint(Resource.ASSIGNED_POD, Change.DELETE, lambda _shape, _event: False),)
