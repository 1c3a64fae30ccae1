"""How many pods a set has of which kind, kept up to date by those that changed: of fifty pods one does at a time.

It is about versions of pods and one version of their owner. When somebody is not plainly the owner's (an orphan, one
whose labels do not match any more), nothing is kept and everything is looked at anew.
"""

from collections.abc import Sequence
from typing import NamedTuple

from doorman.api.machinery.label_selectors import Selector
from doorman.api.views.meta import ObjectMeta, controller_of
from doorman.api.views.pods import Pod
from doorman.controllers.pods.pod_state import is_ready


class ReplicaCounts(NamedTuple):
    replicas: int
    labeled: int
    """Those that have all labels of the template."""
    ready: int
    available: int
    terminating: int


class _Counted(NamedTuple):
    """One version of a pod. It is kept, so that its id stays its own."""

    pod: Pod
    is_active: bool
    is_labeled: bool
    is_ready: bool


class _Counts:
    """Of one version of an owner."""

    __slots__ = ("labeled", "pods", "ready", "replicas", "version")

    def __init__(self, version: tuple[str, int]) -> None:
        self.version = version
        self.pods: dict[int, _Counted] = {}
        self.replicas = self.labeled = self.ready = 0

    def add(self, one: _Counted, sign: int) -> None:
        if one.is_active:
            self.replicas += sign
            self.labeled += sign * one.is_labeled
            self.ready += sign * one.is_ready


class CountedPods:
    def __init__(self) -> None:
        self._counts: dict[str, _Counts] = {}
        """By owner."""

    def of(
        self, key: str, meta: ObjectMeta, selector: Selector, labels: dict[str, str], pods: Sequence[Pod]
    ) -> ReplicaCounts | None:
        """Of pods none of which has ended, and which are available as soon as they are ready; None when some are not
        plainly the owner's.
        """
        version = (meta.uid, meta.generation)
        counts = self._counts.pop(key, None)
        if counts is None or counts.version != version:
            counts = _Counts(version)
        known = counts.pods
        for pod in pods:
            if id(pod) not in known:
                if not _is_plainly_of(pod, meta.uid, selector):
                    return None
                known[id(pod)] = counted = _counted(pod, labels)
                counts.add(counted, 1)
        if len(known) > len(pods):
            for former in known.keys() - set(map(id, pods)):
                counts.add(known.pop(former), -1)
        self._counts[key] = counts
        terminating = len(known) - counts.replicas
        return ReplicaCounts(counts.replicas, counts.labeled, counts.ready, counts.ready, terminating)

    def forget(self, key: str) -> None:
        self._counts.pop(key, None)


def _is_plainly_of(pod: Pod, owner_uid: str, selector: Selector) -> bool:
    controller = controller_of(pod.metadata)
    return controller is not None and controller.uid == owner_uid and selector.matches(pod.metadata.labels)


def _counted(pod: Pod, labels: dict[str, str]) -> _Counted:
    meta = pod.metadata
    return _Counted(
        pod=pod,
        is_active=not meta.deletion_timestamp,
        is_labeled=labels.items() <= meta.labels.items(),
        is_ready=is_ready(pod),
    )
