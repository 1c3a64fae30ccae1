"""The pods of simulated nodes: taken or refused, started, tended and stopped as a kubelet does.

The agent says which pod of which node is to be looked at, and when a node is cut off; what is to be written, and when
to look again, is decided here.
"""

from typing import Final

import msgspec

from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import UNFINISHED_BY_NODE
from doorman.api.views.pods import Pod
from doorman.base.clock import Instant
from doorman.client.actions import Action, Delete
from doorman.client.controller_contract import DONE, Result, Retry
from doorman.client.informer_cache import ListerOf
from doorman.nodes.agent_settings import AgentSettings
from doorman.nodes.annotation_warnings import AnnotationWarnings
from doorman.nodes.kubelet_writes import pod_event, status_patch, stop_events
from doorman.nodes.pods.admission_rejections import AdmissionRejections
from doorman.nodes.pods.critical_pod_preemption import MESSAGE, REASON, decide_preemption, preempted_body
from doorman.nodes.pods.graceful_shutdown import REFUSAL, Shutdowns, terminated_body
from doorman.nodes.pods.image_pulls import ImagePulls
from doorman.nodes.pods.kubelet_pod_status import refused_body, stopped_body
from doorman.nodes.pods.node_load import Loads
from doorman.nodes.pods.pod_admission import PodRejection, Shortfall, decide_admission
from doorman.nodes.pods.pod_lifecycle import (
    Life,
    Next,
    deadline_of,
    decide_next,
    decide_start,
    decide_stop,
    deleted_at,
    life_events,
    life_of,
    lives_on,
)
from doorman.nodes.pods.start_requirements import StartRequirements
from doorman.nodes.status.simulated_health import is_ready
from doorman.semantics.pods.pod_resources import pod_requests

RETRY: Final = Retry(attempts_max=5, delay_seconds=0.2, delay_seconds_max=7.0)


class SimulatedPods:
    """Remembers what a kubelet remembers: which pods it took, when their present stretch began, what it saw go."""

    def __init__(
        self,
        pods: ListerOf[Pod],
        settings: AgentSettings,
        shutdowns: Shutdowns,
        warnings: AnnotationWarnings,
        requirements: StartRequirements | None = None,
    ) -> None:
        self._pods = pods
        self._settings = settings
        self._shutdowns = shutdowns
        self._warnings = warnings
        self._requirements = requirements or StartRequirements()
        self._pulls = ImagePulls()
        self._loads = Loads()
        self._refusals = AdmissionRejections()
        self.metrics: Final = (self._refusals.count,)
        self._uids: dict[str, str] = {}
        """By pod key: the uid that the memories below are about."""
        self._since: dict[str, Instant] = {}
        self._seen_deleted: dict[str, Instant] = {}
        self._counted: set[str] = set()
        """The nodes whose running pods are in the loads."""

    def knows(self, key: str) -> bool:
        return key in self._uids

    def forget_former(self, key: str, pod: Pod | None) -> None:
        """What is remembered of a pod by this name that is no more."""
        known = self._uids.get(key)
        if known is not None and (pod is None or pod.metadata.uid != known):
            self._forget(key, known)

    def forget_node(self, name: str) -> None:
        self._counted.discard(name)
        self._refusals.forget_node(name)

    def clock_was_set(self, seconds: float) -> None:
        self._since = {uid: at + seconds for uid, at in self._since.items()}
        self._seen_deleted = {uid: at + seconds for uid, at in self._seen_deleted.items()}

    def running_on(self, node: str) -> list[Pod]:
        self._count_running(node)
        return [pod for pod in self._pods.by(UNFINISHED_BY_NODE, node) if self._loads.has(pod.metadata.uid)]

    def sync(self, key: str, pod: Pod, node: Node, now: Instant) -> Result:
        uid = pod.metadata.uid
        self._uids[key] = uid
        if pod.is_finished:
            self._loads.drop(uid)
            self._since.pop(uid, None)
        if pod.metadata.deletion_timestamp:
            return self._stop(key, pod, node, now)
        if pod.is_finished:
            return DONE
        result = self._tend(key, pod, node, now)
        warnings = self._warnings.about_pod(pod)
        return msgspec.structs.replace(result, actions=(*warnings, *result.actions)) if warnings else result

    def _tend(self, key: str, pod: Pod, node: Node, now: Instant) -> Result:
        """Of a pod that is to live."""
        uid = pod.metadata.uid
        life = self._life(pod, node)
        if self._loads.has(uid) or pod.status.start_time:
            if pod.status.observed_generation != pod.metadata.generation:
                self._loads.drop(uid)  # its requests may have changed
            self._loads.take(pod)
            ends_at = self._shutdowns.end_of(pod)
            if ends_at is not None:
                if now < ends_at:
                    return Result(wakes=((f"pod/{key}", ends_at),))
                return Result(actions=(status_patch(pod, terminated_body(pod, now)),), retry=RETRY)
            if pod.status.phase != "Running" and (waits := self._held_up(key, pod, node, now)) is not None:
                return waits
            since = self._since.get(uid)
            return self._post(key, pod, decide_next(pod, life, now, since=since, node_is_ready=is_ready(node)), now)
        return self._admit(key, pod, node, life, now)

    def _admit(self, key: str, pod: Pod, node: Node, life: Life, now: Instant) -> Result:
        name = node.metadata.name
        self._count_running(name)
        decision: PodRejection | Shortfall | None = decide_admission(
            pod,
            node,
            self._loads.of(name),
            pod_requests(pod.spec),
            best_effort=pod.status.qos_class == "BestEffort",
            comparison_operators=self._settings.comparison_operators,
        )
        if self._shutdowns.plan_of(name) is not None and not isinstance(decision, PodRejection):
            decision = REFUSAL
        displaced: list[Action] = []
        if isinstance(decision, Shortfall):
            victims = decide_preemption(pod, self.running_on(name), decision)
            if isinstance(victims, PodRejection):
                decision = victims
            else:
                decision = None
                for victim in victims:
                    displaced += (pod_event(victim, REASON, MESSAGE), status_patch(victim, preempted_body(victim, now)))
                    self._loads.drop(victim.metadata.uid)
        if decision is None:
            self._refusals.forget(pod.metadata.uid)
            self._loads.take(pod)
            waits = self._held_up(key, pod, node, now)
            started = waits or self._post(key, pod, decide_start(pod, life, now), now)
            return msgspec.structs.replace(started, actions=(*displaced, *started.actions)) if displaced else started
        due = self._refusals.due(pod.metadata.uid, name, now)
        if now < due:
            return Result(wakes=((f"pod/{key}", due),))
        self._refusals.note(pod.metadata.uid, decision.reason)
        event = pod_event(pod, decision.reason, decision.text)
        body = refused_body(pod, decision.reason, f"Pod was rejected: {decision.text}", now)
        return Result(actions=(event, status_patch(pod, body)), retry=RETRY)

    def _held_up(self, key: str, pod: Pod, node: Node, now: Instant) -> Result | None:
        """What is done about a pod that cannot start yet, until it is too late for it to start."""
        deadline = deadline_of(pod, now)
        if deadline is not None and now >= deadline:
            return None
        waits = (
            self._requirements.wait(key, pod, now)
            or self._pulls.wait(key, pod, node, now)
            or self._requirements.wait_for_variables(key, pod, now)
        )
        if waits is None or deadline is None:
            return waits
        due = min((due for _, due in waits.wakes), default=deadline)
        return msgspec.structs.replace(waits, wakes=((f"pod/{key}", min(due, deadline)),))

    def _count_running(self, name: str) -> None:
        """Once, before a node admits pods: what ran before this agent did takes up room, whoever is looked at first."""
        if name in self._counted:
            return
        self._counted.add(name)
        for pod in self._pods.by(UNFINISHED_BY_NODE, name):
            if pod.status.start_time:
                self._loads.take(pod)

    def _post(self, key: str, pod: Pod, following: Next, now: Instant) -> Result:
        wakes = [(f"pod/{key}", following.looks_again)] if following.looks_again is not None else []
        if following.body is None:
            return Result(wakes=wakes)
        if following.begins:
            self._since[pod.metadata.uid] = now
        return Result(
            actions=(*life_events(pod, following), status_patch(pod, following.body)), wakes=wakes, retry=RETRY
        )

    def _life(self, pod: Pod, node: Node) -> Life:
        return life_of(pod, lives_on(node.metadata.annotations, self._settings.pod_lives))

    def _stop(self, key: str, pod: Pod, node: Node, now: Instant) -> Result:
        meta = pod.metadata
        is_new = meta.uid not in self._seen_deleted
        seen = self._seen_deleted.setdefault(meta.uid, deleted_at(pod, now) if self._settings.is_resuming(now) else now)
        gone_at = decide_stop(pod, self._life(pod, node), seen=seen)
        if now < gone_at and not pod.is_finished:
            told = tuple(stop_events(pod)) if is_new else ()
            return Result(actions=told, wakes=((f"pod/{key}", gone_at),))
        actions: list[Action] = []
        if meta.finalizers and not pod.is_finished:
            actions.append(status_patch(pod, stopped_body(pod, now)))
        self._loads.drop(meta.uid)
        if meta.deletion_grace_period_seconds != 0:
            actions.append(
                Delete(resource="pods", namespace=meta.namespace, name=meta.name, grace_seconds=0, uid=meta.uid)
            )
        return Result(actions=actions, retry=RETRY)

    def _forget(self, key: str, uid: str) -> None:
        self._uids.pop(key, None)
        self._requirements.forget(uid)
        self._pulls.forget(uid)
        self._loads.drop(uid)
        self._refusals.forget(uid)
        self._since.pop(uid, None)
        self._seen_deleted.pop(uid, None)
        self._warnings.forget(uid)
