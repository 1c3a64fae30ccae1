"""device-taint-eviction-controller: deletes pods whose devices have NoExecute taints that their claims do not tolerate.

It reads pods, claims, slices and rules. It gives events, a status patch and a deletion for each pod that must leave,
now or later, and the status of rules. Unlike for nodes, the time counts from the taint's `timeAdded`, so a restart
changes nothing, and every change works the instant out anew.

Keys
----
    claim/<namespace>/<name>          the claim's allocation or reservations changed
    pod/<namespace>/<name>            the pod got a node or was told of its claims
    gone/<namespace>/<name>/<uid>     it is no more, or is being deleted
    pool/<driver>/<pool>              slices of the pool changed
    rule/<name>                       the rule's spec changed, or it came or went
    evict/<namespace>/<name>/<uid>    something is due
    status/<name>                     the rule's status may say something else
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import Counter, Histogram
from prometheus_client.metrics import MetricWrapperBase

from doorman.api.views.pods import Pod
from doorman.api.views.resource.devices import SLICES, TAINT_RULES, DeviceTaintRule, ResourceSlice
from doorman.api.views.resource.resource_claims import CLAIMS, ResourceClaim
from doorman.base.clock import Instant
from doorman.client.actions import Action, Delete
from doorman.client.controller_contract import DONE, ObjectChange, Result, Retry, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.devices.claim_evictions import (
    BY_POOL,
    TaintsByDevice,
    claim_eviction,
    claim_pools,
    evicting_taints,
    pod_eviction,
    pool_key,
    selects_any,
    slice_pools,
)
from doorman.controllers.devices.device_eviction_messages import (
    NAME,
    decide_condition_patch,
    detail_event,
    eviction_event,
    no_selector_event,
)
from doorman.controllers.devices.device_rule_counts import rule_counts
from doorman.controllers.devices.device_rule_status import STATUS_PERIOD_SECONDS, decide_report, next_report
from doorman.semantics.devices.device_taints import NO_EXECUTE, ClaimEviction

RETRY: Final = Retry(attempts_max=2**31, delay_seconds=0.005, factor=2.0, delay_seconds_max=1000.0)
"""Without end: a pod that must leave must leave."""
WORKERS: Final = 256
EVICTED_MAX: Final = 500
"""Pods remembered as evicted: a change that is seen late must not evict them again."""
DURATION_BUCKETS_SECONDS: Final = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240)


def claim_keys(change: ObjectChange) -> Iterable[str]:
    """Who has no devices, and had none, can lose none."""
    sides: tuple[ResourceClaim | None, ...] = (change.old, change.new)
    is_allocated = any(side is not None and side.status.allocation is not None for side in sides)
    return (f"claim/{change.newest.metadata.key}",) if is_allocated else ()


def pod_keys(change: ObjectChange) -> Iterable[str]:
    old: Pod | None = change.old
    new: Pod | None = change.new
    newest: Pod = change.newest
    if not newest.spec.resource_claims:
        return ()
    key = newest.metadata.key
    if new is None:
        return (f"gone/{key}/{newest.metadata.uid}",)
    keys = []
    if new.spec.node_name and (
        old is None
        or old.metadata.uid != new.metadata.uid
        or old.spec.node_name != new.spec.node_name
        or old.status.resource_claim_statuses != new.status.resource_claim_statuses
    ):
        keys.append(f"pod/{key}")
    if new.metadata.deletion_timestamp and (old is None or not old.metadata.deletion_timestamp):
        keys.append(f"gone/{key}/{new.metadata.uid}")
    return keys


def slice_keys(change: ObjectChange) -> Iterable[str]:
    old: ResourceSlice | None = change.old
    new: ResourceSlice | None = change.new
    both = [pool for side in (old, new) if side is not None for pool in slice_pools(side)]
    return [f"pool/{pool}" for pool in dict.fromkeys(both)]


def rule_keys(change: ObjectChange) -> Iterable[str]:
    old: DeviceTaintRule | None = change.old
    new: DeviceTaintRule | None = change.new
    if old is not None and new is not None and old.metadata.uid == new.metadata.uid and old.spec == new.spec:
        return ()
    return (f"rule/{change.newest.metadata.name}",)


SOURCES: Final = (
    Source(CLAIMS, claim_keys),
    Source("pods", pod_keys, only_with=CLAIMS),
    Source(SLICES, slice_keys),
    Source(TAINT_RULES, rule_keys),
)
SOURCES_WITHOUT_RULES: Final = SOURCES[:-1]


class DeviceTaintEvictionController:
    """Owns what is known of allocated claims, and the evictions that are planned."""

    name = NAME

    def __init__(
        self,
        pods: ListerOf[Pod],
        claims: ListerOf[ResourceClaim],
        slices: ListerOf[ResourceSlice],
        rules: ListerOf[DeviceTaintRule],
        *,
        taint_rules: bool = True,
        workers: int = WORKERS,
    ) -> None:
        """`taint_rules`: whether DeviceTaintRules are looked at. `workers`: how many keys at once."""
        self.workers = workers
        self.sources = SOURCES if taint_rules else SOURCES_WITHOUT_RULES
        self._pods = pods
        self._claims = claims
        self._slices = slices
        self._rules = rules
        self._allocated: dict[str, tuple[ResourceClaim, ClaimEviction | None]] = {}
        self._published: dict[str, TaintsByDevice] = {}
        self._evicting_rules: dict[str, DeviceTaintRule] = {}
        self._planned: dict[str, ClaimEviction] = {}
        """By the pod's `namespace/name/uid`."""
        self._under_way: dict[str, ClaimEviction] = {}
        self._evicted: OrderedDict[str, None] = OrderedDict()
        self._evicted_by_rule: dict[str, int] = {}
        """By the rule's uid."""
        self._status_due: dict[str, Instant] = {}
        self._deletions = Counter(
            "device_taint_eviction_controller_pod_deletions_total",
            "Pods deleted because of NoExecute taints of devices.",
            registry=None,
        )
        self._durations = Histogram(
            "device_taint_eviction_controller_pod_deletion_duration_seconds",
            "Seconds from the instant at which a pod had to leave until it was deleted.",
            buckets=DURATION_BUCKETS_SECONDS,
            registry=None,
        )

    @property
    def metrics(self) -> Sequence[MetricWrapperBase]:
        return (self._deletions, self._durations)

    def eviction_of(self, pod: Pod) -> ClaimEviction | None:
        """What is planned for a pod, for those who explain."""
        return self._planned.get(_id(pod))

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """Never: retries have no end."""

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        plan = _Plan(now)
        match kind:
            case "evict":
                return self._evict(rest, now)
            case "status":
                return self._report(rest, now)
            case "claim":
                self._claim_changed(rest, plan)
            case "pod":
                pod = self._pods.get(rest)
                if pod is not None:
                    self._handle_pod(pod, plan)
            case "gone":
                self._gone(rest, plan)
            case "pool":
                self._pool_changed(rest, plan)
            case _:
                assert kind == "rule", f"unknown key {key}"
                self._rule_changed(rest, plan)
        return plan.result()

    def _claim_changed(self, key: str, plan: "_Plan") -> None:
        before, _ = self._allocated.pop(key, (None, None))
        claim = self._claims.get(key)
        if claim is not None and claim.status.allocation is not None:
            self._evaluate(key, claim)
        users: dict[str, None] = {}
        for side in (before, claim):
            for consumer in side.status.reserved_for if side is not None else ():
                if not consumer.api_group and consumer.resource == "pods":
                    users[f"{consumer.name}/{consumer.uid}"] = None
        namespace = key.partition("/")[0]
        for user in users:
            name, _, uid = user.partition("/")
            pod = self._pods.get(f"{namespace}/{name}")
            if pod is not None and pod.metadata.uid == uid:
                self._handle_pod(pod, plan)

    def _evaluate(self, key: str, claim: ResourceClaim) -> bool:
        """Whether its pods must leave at another time, or for other reasons, than was thought."""
        for pool in claim_pools(claim):
            if pool not in self._published:
                self._published[pool] = evicting_taints(self._slices, pool)
        _, before = self._allocated.get(key, (None, None))
        eviction = claim_eviction(claim, self._published, self._evicting_rules)
        self._allocated[key] = (claim, eviction)
        return eviction != before

    def _pool_changed(self, pool: str, plan: "_Plan") -> None:
        before = self._published.get(pool, {})
        after = self._published[pool] = evicting_taints(self._slices, pool)
        changed = {name for name in (*before, *after) if before.get(name) != after.get(name)}
        if not self._slices.by(BY_POOL, pool):
            del self._published[pool]
        if not changed:
            return
        for claim in self._claims.by(BY_POOL, pool):
            allocation = claim.status.allocation
            key = claim.metadata.key
            if allocation is None or key not in self._allocated:
                continue
            held = [one.device for one in allocation.devices.results if pool_key(one.driver, one.pool) == pool]
            if not changed.isdisjoint(held):
                self._reevaluate(key, plan)

    def _rule_changed(self, name: str, plan: "_Plan") -> None:
        rule = self._rules.get(name)
        before = self._evicting_rules.pop(name, None)
        if rule is not None and rule.spec.taint.effect == NO_EXECUTE:
            self._evicting_rules[name] = rule
        if before is not None and (rule is None or rule.metadata.uid != before.metadata.uid):
            self._evicted_by_rule.pop(before.metadata.uid, None)
        # There may be very many, so each is a key of its own; the status tells what they came to.
        evicting = [one for one in (before, self._evicting_rules.get(name)) if one is not None]
        for key, (claim, _) in self._allocated.items() if evicting else ():
            if any(selects_any(one, claim) for one in evicting):
                plan.wake(f"claim/{key}", plan.now)
        if rule is not None:
            self._status_due.pop(name, None)
            plan.wake(f"status/{name}", plan.now)
            if rule.spec.device_selector is None and rule.spec.taint.effect in ("NoSchedule", NO_EXECUTE):
                plan.actions.append(no_selector_event(rule))

    def _reevaluate(self, key: str, plan: "_Plan") -> None:
        claim, _ = self._allocated[key]
        if self._evaluate(key, claim):
            for consumer in claim.status.reserved_for:
                pod = self._pods.get(f"{claim.metadata.namespace}/{consumer.name}")
                if pod is not None and pod.metadata.uid == consumer.uid:
                    self._handle_pod(pod, plan)

    def _handle_pod(self, pod: Pod, plan: "_Plan") -> None:
        eviction = pod_eviction(pod, self._allocated)
        own = _id(pod)
        if eviction is None:
            if self._planned.pop(own, None) is not None:
                plan.actions.append(eviction_event(pod, "Cancelling deletion"))
            return
        self._planned[own] = eviction
        plan.wake(f"evict/{own}", max(eviction.when, plan.now))
        self._refresh_status_later(eviction, plan)

    def _refresh_status_later(self, eviction: ClaimEviction, plan: "_Plan") -> None:
        for reason in eviction.reasons:
            if reason.rule:
                later = plan.now + STATUS_PERIOD_SECONDS
                due = self._status_due[reason.rule] = min(self._status_due.get(reason.rule, later), later)
                plan.wake(f"status/{reason.rule}", due)

    def _evict(self, own: str, now: Instant) -> Result:
        eviction = self._planned.get(own)
        pod_key, _, uid = own.rpartition("/")
        if eviction is None or uid in self._evicted:
            return DONE
        if eviction.when > now:
            return Result(wakes=((f"evict/{own}", eviction.when),))
        pod = self._pods.get(pod_key)
        if pod is None or pod.metadata.uid != uid:
            self._forget(own)
            return DONE
        self._under_way[own] = eviction
        if pod.metadata.deletion_timestamp:
            return Result(wakes=((f"gone/{own}", now),))
        actions: list[Action] = [eviction_event(pod, "Marking for deletion"), detail_event(pod, eviction)]
        meta, why = pod.metadata, decide_condition_patch(pod, now)
        actions.append(Delete(resource="pods", namespace=meta.namespace, name=meta.name, uid=uid, status_patch=why))
        return Result(actions=actions, retry=RETRY)

    def _gone(self, own: str, plan: "_Plan") -> None:
        """The pod is being deleted or is gone. If that was our doing, the eviction has succeeded."""
        eviction = self._under_way.pop(own, None)
        pod = self._pods.get(own.rpartition("/")[0])
        if eviction is None:
            if pod is None or _id(pod) != own:
                self._planned.pop(own, None)
            return
        self._forget(own)
        self._deletions.inc()
        self._durations.observe(max(0.0, plan.now - eviction.when))
        for reason in eviction.reasons:
            if reason.rule:
                self._evicted_by_rule[reason.rule_uid] = self._evicted_by_rule.get(reason.rule_uid, 0) + 1
        self._refresh_status_later(eviction, plan)

    def _forget(self, own: str) -> None:
        self._planned.pop(own, None)
        self._under_way.pop(own, None)
        self._evicted[own.rpartition("/")[2]] = None
        if len(self._evicted) > EVICTED_MAX:
            self._evicted.popitem(last=False)

    def _report(self, name: str, now: Instant) -> Result:
        """The rule's status, at most every ten seconds unless its spec has changed."""
        self._status_due.pop(name, None)
        rule = self._rules.get(name)
        if rule is None:
            return DONE
        due = next_report(rule, now)
        if due > now:
            self._status_due[name] = due
            return Result(wakes=((f"status/{name}", due),))
        counts = rule_counts(
            rule,
            self._allocated,
            self._planned,
            self._published,
            self._pods,
            self._slices,
            self._evicted_by_rule.get(rule.metadata.uid, 0),
        )
        patch = decide_report(rule, counts, now)
        return Result(actions=(patch,)) if patch is not None else DONE


class _Plan:
    """What a reconcile gathers."""

    def __init__(self, now: Instant) -> None:
        self.now = now
        self.actions: list[Action] = []
        self._wakes: dict[str, Instant] = {}

    def wake(self, key: str, due: Instant) -> None:
        self._wakes[key] = min(due, self._wakes.get(key, due))

    def result(self) -> Result:
        return Result(actions=self.actions, wakes=list(self._wakes.items()))


def _id(pod: Pod) -> str:
    return f"{pod.metadata.key}/{pod.metadata.uid}"
