"""SchedulingGates: a pod with gates is not tried."""

from collections.abc import Sequence

from doorman.api.views.pods import Pod
from doorman.scheduler.framework import ActionType, EventResource, Hint, always


class SchedulingGates:
    name = "SchedulingGates"

    def waits(self, pod: Pod) -> str:
        """
        >>> from doorman.api.views.pods import PodSpec, SchedulingGate
        >>> SchedulingGates().waits(Pod(spec=PodSpec(scheduling_gates=(SchedulingGate(name="a"),))))
        'waiting for scheduling gates: [a]'
        """
        gates = pod.spec.scheduling_gates
        return f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]" if gates else ""

    def hints(self) -> Sequence[Hint]:
        return (Hint(EventResource.TARGET_POD, ActionType.UPDATE_POD_GATES_ELIMINATED, always),)
