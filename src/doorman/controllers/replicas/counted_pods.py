"""What a set has found out about its pods, kept while they are the same: of fifty pods one changes at a time.

It is about one version of a pod and one version of its owner. When somebody is not plainly the owner's (an orphan, one
whose labels do not match any more), nothing is kept and everything is looked at anew.
"""

from collections.abc import Sequence
from typing import NamedTuple

from doorman.api.machinery.label_selectors import Selector
from doorman.api.views.meta import ObjectMeta, controller_of
from doorman.api.views.pods import Pod
from doorman.controllers.pods.pod_state import is_ready


class CountedPod(NamedTuple):
    pod: Pod
    is_mine: bool
    is_active: bool
    is_labeled: bool
    """Whether it has all labels of the template."""
    is_ready: bool


class ReplicaCounts(NamedTuple):
    replicas: int
    labeled: int
    ready: int
    available: int
    terminating: int


class CountedPods:
    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[str, int], dict[str, CountedPod]]] = {}
        """By owner: which version of it they are about, and the pods by uid."""

    def of(
        self, key: str, meta: ObjectMeta, selector: Selector, labels: dict[str, str], pods: Sequence[Pod]
    ) -> list[CountedPod] | None:
        """In the order of the pods, none of which has ended; None when some are not plainly the owner's."""
        version = (meta.uid, meta.generation)
        known_version, known = self._kept.get(key, (version, {}))
        if known_version != version:
            known = {}
        found: dict[str, CountedPod] = {}
        for pod in pods:
            uid = pod.metadata.uid
            one = known.get(uid)
            if one is None or one.pod is not pod:
                one = _counted_pod(pod, meta.uid, selector, labels)
            if not one.is_mine:
                self._kept.pop(key, None)
                return None
            found[uid] = one
        self._kept[key] = (version, found)
        return list(found.values())

    def forget(self, key: str) -> None:
        self._kept.pop(key, None)


def counted(known_pods: Sequence[CountedPod]) -> ReplicaCounts:
    """Of an owner whose pods are available as soon as they are ready."""
    active = [one for one in known_pods if one.is_active]
    ready = sum(one.is_ready for one in active)
    return ReplicaCounts(
        replicas=len(active),
        labeled=sum(one.is_labeled for one in active),
        ready=ready,
        available=ready,
        terminating=len(known_pods) - len(active),
    )


def _counted_pod(pod: Pod, owner_uid: str, selector: Selector, labels: dict[str, str]) -> CountedPod:
    meta = pod.metadata
    controller = controller_of(meta)
    return CountedPod(
        pod=pod,
        is_mine=controller is not None and controller.uid == owner_uid and selector.matches(meta.labels),
        is_active=not meta.deletion_timestamp,
        is_labeled=labels.items() <= meta.labels.items(),
        is_ready=is_ready(pod),
    )
