"""Images that cannot be pulled: which they are, what a kubelet does about them, and what it says.

Rules
-----
1. An image cannot be pulled that matches a pattern of the annotation `doorman.dev/failing-images` of the pod or of its
   node: `*` and `?` as in file names, several with commas between. The image is compared as it is written, with its
   tag, and with its registry.
2. Init containers come one after another: the first whose image fails holds up all that follow. Other containers do not
   wait for each other: those whose images can be pulled run, and the pod is Pending all the same.
3. After a failure (`ErrImagePull`) the kubelet backs off (`ImagePullBackOff`, one second later): 10 s, 20 s, 40 s …
   300 s from one pull to the next. Whatever changes meanwhile, the next pull shows.
4. With the policy `Never` nothing is pulled: what cannot be pulled is not there (`ErrImageNeverPull`).
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Container, Pod
from doorman.base.clock import Instant
from doorman.client.actions import Action, RecordEvent
from doorman.client.controller_contract import Result
from doorman.nodes.kubelet_writes import pod_event, status_patch
from doorman.nodes.node_annotations import FAILING_IMAGES
from doorman.nodes.pods.unstarted_pod_status import held_up_body
from doorman.semantics.pods.image_references import full_reference

BACK_OFF_SECONDS: Final = 10.0
BACK_OFF_SECONDS_MAX: Final = 300.0
SEEN_AGAIN_SECONDS: Final = 1.0
"""From a failure until the kubelet looks at the pod again, and finds that it is to wait."""


class _Pulls(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pod's pulls stand: when the last failed, and how long it is waited after it."""

    failed_at: Instant
    pause_seconds: float
    images: tuple[str, ...]
    backs_off: bool = False


class ImagePulls:
    """Remembers how often the images of each pod were tried in vain."""

    def __init__(self) -> None:
        self._pulls: dict[str, _Pulls] = {}
        """By the pod's uid."""

    def wait(self, key: str, pod: Pod, node: Node, now: Instant) -> Result | None:
        """What a kubelet does about a pod whose images it cannot pull; None when it has them."""
        on_pod, on_node = pod.metadata.annotations, node.metadata.annotations
        if not self._pulls and FAILING_IMAGES not in on_pod and FAILING_IMAGES not in on_node:
            return None
        patterns = failing_patterns(on_pod, on_node)
        uid = pod.metadata.uid
        before = self._pulls.get(uid)
        if before is not None and now < before.failed_at + before.pause_seconds:
            return self._back_off(key, pod, before, patterns, now)
        failing = failing_containers(pod, patterns)
        if failing:
            return self._fail(key, pod, before, failing, now)
        if before is None:
            return None
        del self._pulls[uid]
        return Result(actions=tuple(_success_events(pod, before.images)), wakes=((f"pod/{key}", now),))

    def forget(self, uid: str) -> None:
        self._pulls.pop(uid, None)

    def _fail(self, key: str, pod: Pod, before: _Pulls | None, failing: tuple[Container, ...], now: Instant) -> Result:
        pause = BACK_OFF_SECONDS if before is None else min(2 * before.pause_seconds, BACK_OFF_SECONDS_MAX)
        images = tuple(container.image for container in failing)
        self._pulls[pod.metadata.uid] = _Pulls(failed_at=now, pause_seconds=pause, images=images)
        actions: list[Action] = list(_failure_events(pod, failing))
        said = {container.name: _failure_of(container) for container in failing}
        actions.append(status_patch(pod, held_up_body(pod, said, now)))
        return Result(actions=actions, wakes=((f"pod/{key}", now + SEEN_AGAIN_SECONDS),))

    def _back_off(self, key: str, pod: Pod, before: _Pulls, patterns: tuple[str, ...], now: Instant) -> Result:
        due = before.failed_at + before.pause_seconds
        if before.backs_off or now < before.failed_at + SEEN_AGAIN_SECONDS:
            seen = due if before.backs_off else before.failed_at + SEEN_AGAIN_SECONDS
            return Result(wakes=((f"pod/{key}", seen),))
        self._pulls[pod.metadata.uid] = msgspec.structs.replace(before, backs_off=True)
        waiting = [
            container
            for container in failing_containers(pod, patterns)
            if container.image_pull_policy != "Never" and container.image in before.images
        ]
        if not waiting:
            return Result(wakes=((f"pod/{key}", due),))
        actions: list[Action] = list(_back_off_events(pod, waiting))
        said = {container.name: _back_off_of(container) for container in waiting}
        actions.append(status_patch(pod, held_up_body(pod, said, now)))
        return Result(actions=actions, wakes=((f"pod/{key}", due),))


def failing_patterns(pod_annotations: Mapping[str, str], node_annotations: Mapping[str, str]) -> tuple[str, ...]:
    """
    >>> failing_patterns({FAILING_IMAGES: "nginx, *:old"}, {FAILING_IMAGES: "example.com/*"})
    ('nginx', '*:old', 'example.com/*')
    """
    texts = [
        annotations[FAILING_IMAGES]
        for annotations in (pod_annotations, node_annotations)
        if FAILING_IMAGES in annotations
    ]
    return tuple(pattern for text in texts for one in text.split(",") if (pattern := one.strip()))


def failing_containers(pod: Pod, patterns: tuple[str, ...]) -> tuple[Container, ...]:
    """Rules 1 and 2: those whose images a kubelet tries now, in vain."""
    if not patterns:
        return ()
    for container in pod.spec.init_containers:
        if _fails(container.image, patterns):
            return (container,)
    return tuple(container for container in pod.spec.containers if _fails(container.image, patterns))


def _fails(image: str, patterns: tuple[str, ...]) -> bool:
    """
    >>> [_fails("nginx", (pattern,)) for pattern in ("nginx", "nginx:*", "docker.io/*", "ngin", "*:1.27")]
    [True, True, True, False, False]
    """
    whole = full_reference(image)
    tag = whole.rpartition("/")[2].partition(":")[2]
    tagged = f"{image}:{tag}" if tag and "@" not in image and not image.endswith(f":{tag}") else image
    return any(fnmatchcase(name, pattern) for name in (image, tagged, whole) for pattern in patterns)


def _error_of(image: str) -> str:
    """As containerd says it."""
    whole = full_reference(image)
    return (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{whole}": failed to resolve reference '
        f'"{whole}": {whole}: not found'
    )


def _failure_of(container: Container) -> tuple[str, str]:
    """Reason and message of a container that waits."""
    if container.image_pull_policy == "Never":
        return "ErrImageNeverPull", f'Container image "{container.image}" is not present with pull policy of Never'
    return "ErrImagePull", _error_of(container.image)


def _back_off_of(container: Container) -> tuple[str, str]:
    text = f'Back-off pulling image "{container.image}": ErrImagePull: {_error_of(container.image)}'
    return "ImagePullBackOff", text


def _failure_events(pod: Pod, failing: tuple[Container, ...]) -> Iterator[RecordEvent]:
    for container in failing:
        name, image = container.name, container.image
        reason, message = _failure_of(container)
        if container.image_pull_policy == "Never":
            yield pod_event(pod, reason, message, container=name)
        else:
            yield pod_event(pod, "Pulling", f'Pulling image "{image}"', kind="Normal", container=name)
            yield pod_event(pod, "Failed", f'Failed to pull image "{image}": {message}', container=name)
        yield pod_event(pod, "Failed", f"Error: {reason}", container=name)


def _back_off_events(pod: Pod, waiting: list[Container]) -> Iterator[RecordEvent]:
    for container in waiting:
        text = f'Back-off pulling image "{container.image}"'
        yield pod_event(pod, "BackOff", text, kind="Normal", container=container.name)
        yield pod_event(pod, "Failed", "Error: ImagePullBackOff", container=container.name)


def _success_events(pod: Pod, images: tuple[str, ...]) -> Iterator[RecordEvent]:
    """Of those that failed before; what succeeds at once is not told."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        image = container.image
        if image in images and container.image_pull_policy != "Never":
            yield pod_event(pod, "Pulling", f'Pulling image "{image}"', kind="Normal", container=container.name)
            text = f'Successfully pulled image "{image}" in 0s (0s including waiting). Image size: 0 bytes.'
            yield pod_event(pod, "Pulled", text, kind="Normal", container=container.name)
