"""DefaultPreemption, the queue's side: a pod whose victims are being deleted waits until that has been asked for.

The choice of victims is in `doorman.scheduler.preemption.preemption_evaluator`.
"""

from collections.abc import Container, Sequence

from doorman.api.views.pods import Pod
from doorman.scheduler.framework import Hint


class DefaultPreemption:
    name = "DefaultPreemption"

    def __init__(self, preempting: Container[str]) -> None:
        self._preempting = preempting
        """Keys of pods whose victims' deletion is under way; owned by the scheduler."""

    def waits(self, pod: Pod) -> str:
        under_way = pod.metadata.key in self._preempting
        return "waiting for the preemption for this pod to be finished" if under_way else ""

    def hints(self) -> Sequence[Hint]:
        """None: the scheduler itself tells the queue when the gate opens, and no event is a reason to try again."""
        return ()
