"""What plugins said they want to hear of: whether something that happened is worth a pod's next attempt."""

from collections.abc import Callable, Mapping, Sequence

from doorman.base.histograms import LabelledHistograms
from doorman.scheduler.framework import ActionType, ClusterEvent, EventResource, Hint
from doorman.scheduler.queue.cluster_events import event_label
from doorman.scheduler.queue.queued_pod import QueuedPod
from doorman.scheduler.scheduler_metrics import EVENTS_PER_SAMPLE

Answers = dict[tuple[str, int], bool]
"""To one event, by profile and plugin and by shape: they are the same for all pods of one shape."""


class QueueingHints:
    def __init__(
        self,
        hints: Mapping[str, Mapping[str, Sequence[Hint]]],
        *,
        stopwatch: Callable[[], float] = float,
        seconds: LabelledHistograms | None = None,
    ) -> None:
        """`hints` are by profile, then by plugin. `seconds` takes how long some of them took by the `stopwatch`."""
        self._hints = hints
        self._stopwatch = stopwatch
        self._seconds = seconds if seconds is not None else LabelledHistograms(())
        self._asked = 0
        self._by_pod = frozenset(
            (profile, plugin)
            for profile, plugins in hints.items()
            for plugin, own in plugins.items()
            if any(hint.is_for_pod is not None for hint in own)
        )
        """Plugins whose answers are not the same for all pods of one shape."""
        self._wanted: dict[tuple[str, frozenset[str]], tuple[tuple[EventResource, ActionType], ...]] = {}

    def wanted(self, pod: QueuedPod) -> Sequence[tuple[EventResource, ActionType]]:
        """Of what the pod's gate, or else those who rejected it, asked to hear."""
        plugins = frozenset({pod.gate}) if pod.gate else pod.rejectors
        known = self._wanted.get((pod.profile, plugins))
        if known is None:
            hints = self._hints[pod.profile]
            wanted = {
                (hint.resource, change)
                for plugin in plugins
                for hint in hints.get(plugin, ())
                for change in ActionType
                if change & hint.changes
            }
            known = self._wanted[pod.profile, plugins] = tuple(sorted(wanted))
        return known

    def is_worth_a_try(self, pod: QueuedPod, event: ClusterEvent, answers: Answers | None = None) -> bool:
        """Whether one of those who keep the pod waiting thinks so; a pod that nobody keeps is always worth one."""
        if event.resource is EventResource.WILDCARD:
            return True
        plugins = pod.rejectors | {pod.gate} if pod.gate else pod.rejectors
        if not plugins:
            return True
        hints = self._hints[pod.profile]
        for plugin in sorted(plugins):
            is_shared = answers is not None and (pod.profile, plugin) not in self._by_pod
            answer = (
                answers.get((f"{pod.profile}/{plugin}", pod.shape.id)) if answers is not None and is_shared else None
            )
            if answer is None:
                answer = self._ask(plugin, hints.get(plugin, ()), pod, event)
                if answers is not None and is_shared:
                    answers[f"{pod.profile}/{plugin}", pod.shape.id] = answer
            if answer:
                return True
        return False

    def _ask(self, plugin: str, hints: Sequence[Hint], pod: QueuedPod, event: ClusterEvent) -> bool:
        self._asked += 1
        if self._asked % EVENTS_PER_SAMPLE != 1:
            return _says_yes(hints, pod, event)
        began = self._stopwatch()
        answer = _says_yes(hints, pod, event)
        labels = (plugin, event_label(event.resource, event.change), "Queue" if answer else "QueueSkip")
        self._seconds.observe(labels, self._stopwatch() - began)
        return answer


def _says_yes(hints: Sequence[Hint], pod: QueuedPod, event: ClusterEvent) -> bool:
    for hint in hints:
        if hint.resource is event.resource and event.change & hint.changes:
            try:
                if hint.is_for_pod is not None:
                    if hint.is_for_pod(pod.pod, event):
                        return True
                elif hint.is_worth_a_try(pod.shape, event):
                    return True
            except Exception:  # noqa: BLE001 - a hint that breaks must not leave its pod waiting for ever
                return True
    return False
