"""The life of a pod on a simulated node: when it starts, is ready, exits, starts again, and how long it takes to stop.

Rules
-----
1. A pod that was taken is Pending until its start-up time is over, then Running; it is Ready when its readiness time
   is over too. By default both are at once.
2. A pod with a running time exits when it is over, run after run with the next exit code. One that says nothing
   about it runs for a moment and succeeds if it is a Job's, or if all its containers read their input once
   (`stdinOnce`, as of `kubectl run -i`): nobody can attach to them, so that their input ends.
3. After an exit `Never` ends the pod, Succeeded with code 0 and else Failed; `OnFailure` ends it only with code 0;
   otherwise it starts again, the first time at once, then after 10 s, 20 s, 40 s, at most 300 s. Containers that ran
   for more than ten minutes start again at once: the back-off has been forgotten meanwhile.
4. A pod that is Running but not Ready, because somebody else said so, is Ready again when its node is. Readiness gates
   count: it is Ready only while all of them are open.
5. A pod that outlives its `activeDeadlineSeconds` fails.
6. A pod that is deleted goes when it has stopped or when its grace period is over, whichever is sooner. To stop takes
   the longest `sleep` of its containers' preStop hooks, if they run, and then its termination time: what its annotation
   says, else its node's. By default that is nothing: a container that ends at SIGTERM is gone within the moment that
   it takes to be seen.
7. An ephemeral container that is added to a running pod runs from then on.
8. A container that is given another image starts again with it, and any change of the spec is acknowledged: the status
   says which generation it is about.

Each function looks at the pod as it is and gives the next status, or the instant at which to look again.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from doorman.api.views.meta import controller_of
from doorman.api.views.pods import ContainerStatus, Pod
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.base.json_types import Document
from doorman.client.actions import RecordEvent
from doorman.nodes.agent_settings import PodLives
from doorman.nodes.kubelet_writes import pod_event
from doorman.nodes.node_annotations import (
    EXIT_CODES,
    POD_TERMINATION,
    READY_AFTER,
    RUNS_FOR,
    STARTUP,
    TERMINATION,
    NodeAnnotationError,
    parse_exit_codes,
    seconds_or,
)
from doorman.nodes.pods.kubelet_pod_status import (
    changed_containers,
    closed_gates,
    completed_body,
    ephemeral_status,
    failed_body,
    full_name,
    patch_of,
    readiness_body,
    replaced_body,
    restarted_body,
    running_body,
    waiting_body,
)
from doorman.nodes.pods.unstarted_pod_status import starting_body

INPUT_ENDS_SECONDS: Final = 1.0
RESTART_DELAY_SECONDS: Final = 10.0
RESTART_DELAY_SECONDS_MAX: Final = 300.0
BACK_OFF_MEMORY_SECONDS: Final = 2 * RESTART_DELAY_SECONDS_MAX
DEADLINE_REASON: Final = "DeadlineExceeded"
DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """What the annotations say."""

    startup_seconds: float = 0.0
    ready_after_seconds: float = 0.0
    runs_for_seconds: float | None = None
    exit_codes: tuple[int, ...] = (0,)
    termination_seconds: float = 0.0


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """The status to post now, if any, whether a stretch of the pod's life begins with it, and when to look again."""

    body: Document | None = None
    begins: bool = True
    backs_off: bool = False
    """Its containers wait to be started again."""
    replaced: tuple[str, ...] = ()
    """Containers that were stopped because their definition changed."""
    looks_again: Instant | None = None


ORDINARY: Final = Life()
_SILENT_LIVES: Final = PodLives()


def life_of(pod: Pod, lives: PodLives = _SILENT_LIVES) -> Life:
    """`lives` are of pods that do not say."""
    annotations = pod.metadata.annotations
    owner = controller_of(pod.metadata)
    of_job = owner is not None and owner.kind == "Job"
    reads_once = bool(pod.spec.containers) and all(one.stdin_once for one in pod.spec.containers)
    if not annotations and not of_job and not reads_once and lives is _SILENT_LIVES:
        return ORDINARY
    own_seconds = lives.job_run_seconds if of_job else INPUT_ENDS_SECONDS if reads_once else None
    runs_for = seconds_or(annotations, RUNS_FOR, -1.0 if own_seconds is None else own_seconds)
    return Life(
        startup_seconds=seconds_or(annotations, STARTUP, lives.startup_seconds),
        ready_after_seconds=seconds_or(annotations, READY_AFTER, 0.0),
        runs_for_seconds=runs_for if runs_for >= 0 else None,
        exit_codes=_exit_codes(annotations.get(EXIT_CODES)),
        termination_seconds=seconds_or(annotations, TERMINATION, lives.termination_seconds),
    )


def decide_start(pod: Pod, life: Life, now: Instant) -> Next:
    """Rule 1, for a pod that was just taken."""
    if life.startup_seconds > 0:
        return Next(body=starting_body(pod, now), looks_again=now + life.startup_seconds)
    return _run(pod, life, now, now)


def decide_next(pod: Pod, life: Life, now: Instant, *, since: Instant | None, node_is_ready: bool) -> Next:
    """Rules 1 to 5, for a pod that was taken before; `since` is when its present stretch began, if known."""
    started = _instant(pod.status.start_time, now)
    deadline = deadline_of(pod, now)
    if deadline is not None and now >= deadline:
        return Next(body=failed_body(pod, DEADLINE_REASON, DEADLINE_MESSAGE, now))
    found = _decide_by_phase(pod, life, now, since=since, started=started, node_is_ready=node_is_ready)
    if found.body is None and pod.spec.ephemeral_containers and pod.status.phase == "Running":
        found = _run_ephemeral(pod, found, now)
    if found.body is None and pod.status.observed_generation != pod.metadata.generation:
        found = _acknowledge(pod, life, found, now)
    if deadline is None or found.body is not None:
        return found
    return Next(looks_again=deadline if found.looks_again is None else min(deadline, found.looks_again))


def deadline_of(pod: Pod, now: Instant) -> Instant | None:
    """Rule 5: when a pod that was taken fails unless it has ended."""
    seconds = pod.spec.active_deadline_seconds
    return _instant(pod.status.start_time, now) + seconds if seconds is not None else None


def decide_stop(pod: Pod, life: Life, *, seen: Instant) -> Instant:
    """Rule 6: when a pod whose deletion the node saw at `seen` is gone."""
    stops_after = pre_stop_seconds(pod) + life.termination_seconds
    grace = pod.metadata.deletion_grace_period_seconds
    return seen + min(stops_after, grace if grace is not None else stops_after)


def pre_stop_seconds(pod: Pod) -> float:
    """How long the preStop hooks of its running containers sleep, all at once; what else they do takes no time."""
    if pod.status.phase != "Running":
        return 0.0
    seconds = 0
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        hook = container.lifecycle.pre_stop if container.lifecycle is not None else None
        if hook is not None and hook.sleep is not None:
            seconds = max(seconds, hook.sleep.seconds)
    return float(seconds)


def lives_on(node_annotations: Mapping[str, str], lives: PodLives) -> PodLives:
    """What pods on a node do that do not say: as it says, and else `lives`."""
    if POD_TERMINATION not in node_annotations:
        return lives
    seconds = seconds_or(node_annotations, POD_TERMINATION, lives.termination_seconds)
    return msgspec.structs.replace(lives, termination_seconds=seconds)


def deleted_at(pod: Pod, now: Instant) -> Instant:
    """When a pod was deleted that goes at its deletionTimestamp at the latest."""
    grace = pod.metadata.deletion_grace_period_seconds or 0
    return min(now, _instant(pod.metadata.deletion_timestamp, now) - grace)


def life_events(pod: Pod, following: Next) -> Iterable[RecordEvent]:
    """What a kubelet tells of a turn of a pod's life."""
    if following.backs_off:
        meta = pod.metadata
        for container in pod.spec.containers:
            text = f"Back-off restarting failed container {container.name} in pod {full_name(meta)}"
            yield pod_event(pod, "BackOff", text, container=container.name)
    for name in following.replaced:
        yield pod_event(pod, "Killing", f"Container {name} definition changed, will be restarted", kind="Normal")
    if following.body is not None and following.body["status"].get("reason") == DEADLINE_REASON:
        yield pod_event(pod, DEADLINE_REASON, DEADLINE_MESSAGE, kind="Normal")


def _decide_by_phase(
    pod: Pod, life: Life, now: Instant, *, since: Instant | None, started: Instant, node_is_ready: bool
) -> Next:
    if pod.status.phase != "Running":
        runs_at = (since if since is not None else started) + life.startup_seconds
        return _run(pod, life, now, runs_at) if now >= runs_at else Next(looks_again=runs_at)
    first = pod.status.container_statuses[0] if pod.status.container_statuses else ContainerStatus()
    if first.state.waiting is not None:
        ended = first.last_state.terminated
        finished = _instant(ended.finished_at, started) if ended is not None else started
        again_at = (since if since is not None else finished) + _restart_delay(life, first.restart_count + 1)
        return _restart(pod, life, first, now) if now >= again_at else Next(looks_again=again_at)
    run_began = since if since is not None else _run_began(first, started)
    if life.runs_for_seconds is not None:
        exits_at = run_began + life.runs_for_seconds
        if now >= exits_at:
            return _exit(pod, life, first, now)
        return _ready_or_wait(pod, life, now, run_began, node_is_ready, also=exits_at)
    return _ready_or_wait(pod, life, now, run_began, node_is_ready, also=None)


def _run_ephemeral(pod: Pod, otherwise: Next, now: Instant) -> Next:
    """Rule 7."""
    known = {status.name: status for status in pod.status.ephemeral_container_statuses}
    if all(container.name in known for container in pod.spec.ephemeral_containers):
        return otherwise
    statuses = [
        ephemeral_status(pod, container, known.get(container.name), now) for container in pod.spec.ephemeral_containers
    ]
    body = patch_of(pod, {"ephemeralContainerStatuses": statuses})
    return Next(body=body, begins=False, looks_again=otherwise.looks_again)


def _acknowledge(pod: Pod, life: Life, otherwise: Next, now: Instant) -> Next:
    """Rule 8."""
    changed = changed_containers(pod)
    if not changed:
        return Next(body=patch_of(pod, {}), begins=False, looks_again=otherwise.looks_again)
    names = tuple(pod.spec.containers[at].name for at in changed)
    return Next(body=replaced_body(pod, changed, now, ready=life.ready_after_seconds <= 0), replaced=names)


def _ready_or_wait(
    pod: Pod, life: Life, now: Instant, run_began: Instant, node_is_ready: bool, also: Instant | None
) -> Next:
    """Rules 1 and 4."""
    ready = pod.status.condition("Ready")
    closed = closed_gates(pod) if pod.spec.readiness_gates else ""
    if ready is not None:
        if ready.status == "True" and not closed:
            return Next(looks_again=also)
        if closed and (ready.status, ready.message) == ("False", closed):
            return Next(looks_again=also)
    ready_at = run_began + life.ready_after_seconds
    if now < ready_at:
        return Next(looks_again=ready_at if also is None else min(also, ready_at))
    if not node_is_ready:
        return Next(looks_again=also)
    return Next(body=readiness_body(pod, now), begins=False, looks_again=also)


def _run(pod: Pod, life: Life, now: Instant, run_began: Instant) -> Next:
    ready = now >= run_began + life.ready_after_seconds
    again = [] if ready else [run_began + life.ready_after_seconds]
    if life.runs_for_seconds is not None:
        again.append(run_began + life.runs_for_seconds)
    return Next(body=running_body(pod, now, ready=ready), looks_again=min(again, default=None))


def _exit(pod: Pod, life: Life, first: ContainerStatus, now: Instant) -> Next:
    """Rules 2 and 3."""
    code = life.exit_codes[min(first.restart_count, len(life.exit_codes) - 1)]
    policy = pod.spec.restart_policy
    if policy == "Never" or (policy == "OnFailure" and code == 0):
        return Next(body=completed_body(pod, code, now))
    delay = _restart_delay(life, first.restart_count + 1)
    if delay <= 0:
        return _restart(pod, life, first, now, code=code)
    return Next(body=waiting_body(pod, code, delay, now), backs_off=True, looks_again=now + delay)


def _restart(pod: Pod, life: Life, first: ContainerStatus, now: Instant, code: int | None = None) -> Next:
    ready = life.ready_after_seconds <= 0
    again = [] if ready else [now + life.ready_after_seconds]
    if life.runs_for_seconds is not None:
        again.append(now + life.runs_for_seconds)
    body = restarted_body(pod, first.restart_count + 1, now, ready=ready, code=code)
    return Next(body=body, looks_again=min(again, default=None))


def _restart_delay(life: Life, restart: int) -> float:
    """Rule 3: before the first start again nothing, then doubling."""
    if restart <= 1 or (life.runs_for_seconds or 0.0) > BACK_OFF_MEMORY_SECONDS:
        return 0.0
    return min(RESTART_DELAY_SECONDS * 2.0 ** min(restart - 2, 8), RESTART_DELAY_SECONDS_MAX)


def _exit_codes(text: str | None) -> tuple[int, ...]:
    try:
        return parse_exit_codes(text) if text is not None else (0,)
    except NodeAnnotationError:
        return (0,)


def _run_began(first: ContainerStatus, otherwise: Instant) -> Instant:
    running = first.state.running
    return _instant(running.started_at, otherwise) if running is not None else otherwise


def _instant(text: str, otherwise: Instant) -> Instant:
    return from_time(text) if text else otherwise
