"""Runs the scheduler: feeds it what changes, carries its outcomes out."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from doorman.api.views.pods import Pod
from doorman.api.views.resource.devices import CLASSES, SLICES, TAINT_RULES
from doorman.api.views.resource.resource_claims import CLAIMS
from doorman.api.views.storage.csi import ATTACHMENTS, CSI_DRIVERS, CSI_NODES, STORAGE_CAPACITIES
from doorman.api.views.storage.persistent_volumes import CLAIMS as VOLUME_CLAIMS
from doorman.api.views.storage.persistent_volumes import VOLUMES
from doorman.api.views.storage.volume_classes import STORAGE_CLASSES
from doorman.api.well_known import DISRUPTION_TARGET
from doorman.base.clock import Alarm, Clock, SteadyClock
from doorman.base.errors import ApiError
from doorman.base.instants import to_time
from doorman.client.actions import Bind, Delete, ObjectReference, Patch, RecordEvent
from doorman.client.client import Client, Recorder
from doorman.client.controller_contract import ObjectChange
from doorman.runtime.scheduling.claim_binder import ClaimBinder
from doorman.runtime.scheduling.extender_client import ExtenderCaller, ExtenderError
from doorman.runtime.scheduling.volume_binder import VolumeBinder
from doorman.scheduler.claim_states import CLAIM_KINDS
from doorman.scheduler.extenders.extender import Extender
from doorman.scheduler.outcomes import AskExtenders, AskExtendersAboutVictims, Outcome, Placed, Rejected, Skipped
from doorman.scheduler.scheduler import Scheduler
from doorman.scheduler.scheduler_metrics import EVENTS_PER_SAMPLE

PODS_PER_TURN_MAX: Final = 64
"""After so many decisions the loop gets a turn."""

BINDS_IN_FLIGHT_MAX: Final = 512
WAKE_SECONDS_MIN: Final = 0.001

SCHEDULED_BY: Final = (
    "nodes", "namespaces", "poddisruptionbudgets.policy", "services", "replicationcontrollers", "replicasets.apps",
    "statefulsets.apps", *CLAIM_KINDS, "pods",
)  # fmt: skip
"""Kinds that the scheduler follows, in the order in which it is told of them."""

_EVENT_KINDS: Final = {
    "nodes": "Node",
    "namespaces": "Namespace",
    "poddisruptionbudgets.policy": "PodDisruptionBudget",
    "services": "Service",
    "replicationcontrollers": "ReplicationController",
    "replicasets.apps": "ReplicaSet",
    "statefulsets.apps": "StatefulSet",
    SLICES: "ResourceSlice",
    CLASSES: "DeviceClass",
    CLAIMS: "ResourceClaim",
    TAINT_RULES: "DeviceTaintRule",
    VOLUMES: "PersistentVolume",
    VOLUME_CLAIMS: "PersistentVolumeClaim",
    STORAGE_CLASSES: "storage.k8s.io/StorageClass",
    CSI_NODES: "storage.k8s.io/CSINode",
    CSI_DRIVERS: "storage.k8s.io/CSIDriver",
    STORAGE_CAPACITIES: "storage.k8s.io/CSIStorageCapacity",
    ATTACHMENTS: "storage.k8s.io/VolumeAttachment",
}

_GONE: Final = (404, 409)
"""What a deletion is answered when the pod is not there, or is another of that name."""

_log: Final = logging.getLogger("doorman.scheduler")


class SchedulerRunner:
    def __init__(
        self,
        scheduler: Scheduler,
        client: Client,
        recorder: Recorder,
        clock: Clock,
        stopwatch: Callable[[], float] = float,
        *,
        extenders: Sequence[Extender] = (),
        caller: ExtenderCaller | None = None,
    ) -> None:
        """`stopwatch` is the one the scheduler was given, as are the `extenders`; `caller` asks them."""
        assert caller is not None or not extenders, "somebody must ask the extenders"
        self._caller = caller
        self._binders = [extender for extender in extenders if extender.bind_verb]
        self.scheduler = scheduler
        self._client = client
        self._recorder = recorder
        self._clock, self._steady = clock, SteadyClock(clock)
        self._claims = ClaimBinder(client, clock)
        self._volumes = VolumeBinder(client, clock, scheduler.claims.volumes)
        self._loop = asyncio.get_running_loop()
        self._is_turn_due = False
        self._is_stopped = False
        self._timer: Alarm | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopwatch = stopwatch
        self._changes = 0
        self._reporting: dict[str, asyncio.Event] = {}
        """Pods whose status is being written. Over a network a later write might overtake it."""

    def changed(self, change: ObjectChange) -> None:
        self._changes += 1
        if self._changes % EVENTS_PER_SAMPLE == 1:
            began = self._stopwatch()
            self._tell(change)
            self.scheduler.metrics.event_seconds.observe((event_name(change),), self._stopwatch() - began)
        else:
            self._tell(change)
        self.soon()

    def _tell(self, change: ObjectChange) -> None:
        now = self._steady.now()
        if change.resource == "pods":
            self.scheduler.pod_changed(change.old, change.new, now)
        elif change.resource == "nodes":
            self.scheduler.node_changed(change.old, change.new, now)
        else:
            self.scheduler.object_changed(change.resource, change.old, change.new, now)

    @property
    def in_flight(self) -> int:
        """Bindings, reports and preemptions under way."""
        return len(self._tasks)

    def soon(self) -> None:
        if not self._is_turn_due and not self._is_stopped:
            self._is_turn_due = True
            self._loop.call_soon(self._turn)

    def stop(self) -> None:
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()

    def _turn(self) -> None:
        self._is_turn_due = False
        if self._is_stopped or len(self._tasks) >= BINDS_IN_FLIGHT_MAX:
            return
        outcomes = self.scheduler.schedule(self._steady.now(), pods_max=PODS_PER_TURN_MAX)
        for outcome in outcomes:
            self._carry_out(outcome)
        if len(outcomes) >= PODS_PER_TURN_MAX:
            self.soon()
        else:
            self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.scheduler.next_wake()
        if due is not None and not self._is_stopped:
            self._timer = self._steady.call_at(max(due, self._steady.now() + WAKE_SECONDS_MIN), self.soon)

    def _carry_out(self, outcome: Outcome) -> None:
        match outcome:
            case Placed():
                self._spawn(self._bind(outcome))
            case Rejected():
                self.scheduler.metrics.rejected(outcome, seconds=self._stopwatch() - outcome.began)
                self._spawn(self._report(outcome))
            case AskExtenders() | AskExtendersAboutVictims():
                self._spawn(self._ask_extenders(outcome))
            case Skipped():
                self._record(outcome.pod, outcome.profile, "Warning", "FailedScheduling", "Scheduling", outcome.message)

    def _spawn(self, work: Any) -> None:  # a coroutine
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("bug in the scheduler's runner: %s", task.exception(), exc_info=task.exception())
        if len(self._tasks) == BINDS_IN_FLIGHT_MAX - 1:
            self.soon()

    async def _ask_extenders(self, ask: AskExtenders | AskExtendersAboutVictims) -> None:
        """Ask extenders, and go on with what they say."""
        assert self._caller is not None, "who has extenders has somebody to ask them"
        decisions = self.scheduler.extender_decisions
        if isinstance(ask, AskExtenders):
            outcome = decisions.on_filter_result(await self._caller.extender_result(ask), self._steady.now())
        else:
            outcome = decisions.on_preemption_result(await self._caller.victims(ask), self._steady.now())
        if outcome is not None:
            self._carry_out(outcome)
        self.soon()

    async def _make_binding(self, placed: Placed) -> str:
        """By an extender that wants to, or as everybody does. What went wrong, if anything did."""
        for extender in self._binders:
            if self._caller is not None and extender.is_interested(placed.pod):
                try:
                    await self._caller.bind(extender, placed)
                except ExtenderError as error:
                    if extender.ignorable:
                        continue
                    return str(error)
                return ""
        meta = placed.pod.metadata
        try:
            await self._client.bind(Bind(namespace=meta.namespace, name=meta.name, uid=meta.uid, node=placed.node))
        except ApiError as error:
            return f'running Bind plugin "DefaultBinder": {error.message}'
        return ""

    async def _bind(self, placed: Placed) -> None:
        meta = placed.pod.metadata
        reporting = self._reporting.get(meta.key)
        if reporting is not None:
            await reporting.wait()  # that it found no place: the binding says that it did
        began = self._stopwatch()
        message = await self._volumes.bind(placed, placed.volumes) if placed.volumes is not None else ""
        message = message or (await self._bind_claims(placed) if placed.claims else "")
        message = message or await self._make_binding(placed)
        if message:
            await self._claims.give_back(placed)
            outcome = self.scheduler.bind_failed(meta.key, message, self._steady.now(), uid=meta.uid)
            if outcome is not None:
                self._carry_out(outcome)
            self.soon()
            return
        self.scheduler.bind_done(meta.key)
        self.scheduler.metrics.bound(
            placed,
            seconds=self._stopwatch() - placed.began,
            waited_seconds=self._steady.now() - placed.first_tried,
            binding_seconds=self._stopwatch() - began,
        )
        note = f"Successfully assigned {meta.namespace}/{meta.name} to {placed.node}"
        self._record(placed.pod, placed.profile, "Normal", "Scheduled", "Binding", note)

    async def _bind_claims(self, placed: Placed) -> str:
        """Write the pod's claims, and wait for devices that must be got ready first. What went wrong, if anything."""
        message = await self._claims.bind(placed)
        if message or not any(_has_conditions(binding.allocation) for binding in placed.claims):
            return message
        note = f"waiting for binding conditions for device on node {placed.node}"
        self._record(placed.pod, placed.profile, "Normal", "BindingConditionsPending", "Scheduling", note)
        return await self._claims.wait_for_devices(placed, self.scheduler.claims.devices.claim)

    async def _report(self, rejected: Rejected) -> None:
        pod = rejected.pod
        self._record(pod, rejected.profile, "Warning", "FailedScheduling", "Scheduling", rejected.message)
        body = status_patch(rejected, to_time(self._clock.now()))
        if body is not None:
            await self._write_report(pod, body)
        if rejected.given_up is not None:
            await self._claims.give_up(rejected.given_up)
        if rejected.victims:
            began = self._stopwatch()
            failed = not await self._preempt(rejected)
            result = "error" if failed else "success"
            self.scheduler.metrics.preempting_seconds.observe((result,), self._stopwatch() - began)
            self.scheduler.preempted(pod.metadata.key, self._steady.now(), failed=failed)
            self.soon()

    async def _write_report(self, pod: Pod, body: dict[str, Any]) -> None:  # a strategic patch
        """One after another for each pod."""
        key, before, written = pod.metadata.key, self._reporting.get(pod.metadata.key), asyncio.Event()
        self._reporting[key] = written
        try:
            if before is not None:
                await before.wait()
            await self._patch_status(pod, body)
        finally:
            written.set()
            if self._reporting.get(key) is written:
                del self._reporting[key]

    async def _preempt(self, rejected: Rejected) -> bool:
        """Whether all victims could be asked to leave."""
        for other in rejected.unnominated:
            await self._patch_status(other, {"status": {"nominatedNodeName": None}})
        victims = [victim.pod for victim in rejected.victims if not victim.terminating]
        if not victims:
            return True
        *others, last = victims
        errors = await asyncio.gather(*(self._evict(rejected, victim) for victim in others)) if others else ()
        if any(error is not None and error.code not in _GONE for error in errors):
            return False
        self.scheduler.preempting_last(rejected.pod.metadata.key, last.metadata.key, self._steady.now())
        # One that is gone already will not bring the preemptor back by leaving.
        return await self._evict(rejected, last) is None

    async def _evict(self, rejected: Rejected, pod: Pod) -> ApiError | None:
        """What went wrong, if anything did."""
        preemptor = rejected.pod
        condition = {
            "type": DISRUPTION_TARGET,
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{rejected.profile}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": to_time(self._clock.now()),
            "observedGeneration": pod.metadata.generation,
        }
        await self._patch_status(pod, {"status": {"conditions": [condition]}})
        meta = pod.metadata
        try:
            await self._client.delete(Delete(resource="pods", namespace=meta.namespace, name=meta.name, uid=meta.uid))
        except ApiError as error:
            _log.info("victim %s could not be deleted: %s", meta.key, error)
            return error
        note = f"Preempted by pod {preemptor.metadata.uid} on node {rejected.node}"
        self._record(pod, rejected.profile, "Normal", "Preempted", "Preempting", note, related=reference(preemptor))
        return None

    async def _patch_status(self, pod: Pod, body: dict[str, Any]) -> None:  # a strategic patch
        meta = pod.metadata
        try:
            await self._client.patch(
                Patch(
                    resource="pods", namespace=meta.namespace, name=meta.name, subresource="status",
                    body={"metadata": {"uid": meta.uid}, **body},
                )
            )  # fmt: skip
        except ApiError as error:
            _log.info("status of %s could not be patched: %s", meta.key, error)

    def _record(
        self,
        pod: Pod,
        profile: str,
        type_: str,
        reason: str,
        action: str,
        note: str,
        *,
        related: ObjectReference | None = None,
    ) -> None:
        self._recorder.record(
            RecordEvent(
                regarding=reference(pod),
                type=type_,
                reason=reason,
                message=note,
                component=profile,
                action=action,
                related=related,
            )
        )


def _has_conditions(allocation: Mapping[str, Any] | None) -> bool:  # status.allocation as JSON
    return allocation is not None and any(one.get("bindingConditions") for one in allocation["devices"]["results"])


def event_name(change: ObjectChange) -> str:
    """As kube-scheduler calls it in metrics, before it is looked at closer: `NodeUpdate`, `AssignedPodAdd`."""
    action = "Add" if change.old is None else "Delete" if change.new is None else "Update"
    if change.resource != "pods":
        return f"{_EVENT_KINDS.get(change.resource, change.resource)}{action}"
    if change.old is not None and change.new is not None and change.new.spec.node_name != change.old.spec.node_name:
        action = "Add"  # to the pods that have a node
    return f"{'AssignedPod' if change.newest.spec.node_name else 'TargetPod'}{action}"


def reference(pod: Pod) -> ObjectReference:
    meta = pod.metadata
    return ObjectReference(
        kind="Pod",
        api_version="v1",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )


def status_patch(rejected: Rejected, now: str) -> dict[str, Any] | None:  # a strategic patch
    """What the pod's status says after a failed attempt; None when it says so already."""
    pod = rejected.pod
    before = pod.status.condition("PodScheduled")
    is_same = (
        before is not None
        and before.status == "False"
        and before.reason == rejected.reason
        and before.message == rejected.message
    )
    nominates = rejected.nominated is not None and rejected.nominated != pod.status.nominated_node_name
    if is_same and not nominates:
        return None
    since = before.last_transition_time if before is not None and before.status == "False" else now
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": rejected.reason,
        "message": rejected.message,
        "lastTransitionTime": since,
        "observedGeneration": pod.metadata.generation,
    }
    status: dict[str, Any] = {"conditions": [condition]}
    if nominates:
        status["nominatedNodeName"] = rejected.nominated or None
    return {"status": status}
