"""pod-garbage-collector-controller: removes pods that nobody else will.

It reads pods and nodes and sweeps every 20 seconds, in this order:

1. terminated: beyond a number of finished pods the oldest go, those a kubelet evicted first;
2. out of service: pods being deleted on a node that is not Ready and carries the out-of-service taint;
3. orphaned: pods of a node that is gone, once it has been gone for a quarantine of 40 seconds;
4. unscheduled: pods being deleted that never got a node.

A pod that has not finished is marked Failed before it is deleted without grace.

Keys: `sweep`; `pod/<namespace>/<name>` for each pod that must go, so that one failure stops no other; and
`gone/<namespace>/<name>` for a pod that went, to count it.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from prometheus_client import Counter
from prometheus_client.metrics import MetricWrapperBase

from doorman.api.taints import OUT_OF_SERVICE
from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import BY_END, BY_NODE
from doorman.api.views.pods import FINISHED, Pod
from doorman.api.well_known import DISRUPTION_TARGET
from doorman.base.clock import Instant
from doorman.base.instants import to_time
from doorman.client.actions import Action, Delete, Patch
from doorman.client.controller_contract import DONE, NO_RETRY, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf

NAME: Final = "pod-garbage-collector-controller"
SWEEP_SECONDS: Final = 20.0
QUARANTINE_SECONDS: Final = 40.0
WORKERS: Final = 16
"""The next sweep is the retry."""
ORPHAN_CONDITION: Final = ("DeletionByPodGC", "PodGC: node no longer exists")


class PodGcSettings(msgspec.Struct, frozen=True, kw_only=True):
    terminated_pod_gc_threshold: int = 12500
    """Zero or less: finished pods are kept."""


def pod_keys(change: ObjectChange) -> Iterable[str]:
    return (f"gone/{change.newest.metadata.key}",) if change.new is None else ()


SOURCES: Final = (Source("pods", pod_keys),)


def decide_terminated(finished: Sequence[Pod], threshold: int) -> Sequence[Pod]:
    excess = len(finished) - threshold
    if threshold <= 0 or excess <= 0:
        return ()
    return heapq.nsmallest(
        excess, finished, key=lambda p: (p.status.reason != "Evicted", p.metadata.creation_timestamp, p.metadata.name)
    )


def decide_out_of_service(deleting: Iterable[Pod], nodes: ListerOf[Node]) -> Iterator[Pod]:
    for pod in deleting:
        node = nodes.get(pod.spec.node_name) if pod.spec.node_name else None
        if node is not None and not _is_ready(node) and any(t.key == OUT_OF_SERVICE for t in node.spec.taints):
            yield pod


def decide_unscheduled(deleting: Iterable[Pod]) -> Iterator[Pod]:
    return (pod for pod in deleting if not pod.spec.node_name)


def decide_force_delete(pod: Pod, now: Instant, *, orphaned: bool) -> list[Action]:
    meta = pod.metadata
    actions: list[Action] = []
    if not pod.is_finished:
        status: dict[str, Any] = {"phase": "Failed", "observedGeneration": meta.generation}  # JSON
        if orphaned:
            reason, message = ORPHAN_CONDITION
            before = pod.status.condition(DISRUPTION_TARGET)
            is_so_since = before.last_transition_time if before is not None and before.status == "True" else ""
            condition = {
                "type": DISRUPTION_TARGET, "status": "True", "reason": reason, "message": message,
                "lastTransitionTime": is_so_since or to_time(now), "observedGeneration": meta.generation,
            }  # fmt: skip
            status["conditions"] = [condition]
        body = {"metadata": {"uid": meta.uid}, "status": status}
        actions.append(
            Patch(resource="pods", namespace=meta.namespace, name=meta.name, subresource="status", body=body)
        )
    actions.append(Delete(resource="pods", namespace=meta.namespace, name=meta.name, grace_seconds=0, uid=meta.uid))
    return actions


class PodGcController:
    """Remembers which nodes are in quarantine, and which pods the last sweep condemned."""

    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, pods: ListerOf[Pod], nodes: ListerOf[Node], settings: PodGcSettings | None = None) -> None:
        self._pods = pods
        self._nodes = nodes
        self._settings = settings if settings is not None else PodGcSettings()
        self._quarantine: dict[str, Instant] = {}
        self._condemned: dict[str, tuple[str, str]] = {}
        """By `namespace/name`: the uid of the pod that must go, and why."""
        self._deletions = Counter(
            "pod_gc_collector_force_delete_pods_total",
            "Pods deleted by force.",
            ["namespace", "reason"],
            registry=None,
        )
        self._errors = Counter(
            "pod_gc_collector_force_delete_pod_errors_total",
            "Pods that could not be deleted by force.",
            ["namespace", "reason"],
            registry=None,
        )

    @property
    def metrics(self) -> Sequence[MetricWrapperBase]:
        return (self._deletions, self._errors)

    def start(self, now: Instant) -> Result:
        return Result(wakes=(("sweep", now),))

    def reconcile(self, key: str, now: Instant) -> Result:
        kind, _, rest = key.partition("/")
        match kind:
            case "sweep":
                return self._sweep(now)
            case "pod":
                return self._remove(rest, now)
            case _:
                assert kind == "gone", f"unknown key {key}"
                self._count(self._deletions, rest)
                return DONE

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:  # noqa: ARG002 the contract gives them
        """The next sweep finds the pod again."""
        self._count(self._errors, key.partition("/")[2])

    def _sweep(self, now: Instant) -> Result:
        finished = self._pods.by(BY_END, FINISHED)
        orphaned = [pod for name in self._gone_nodes(now) for pod in self._pods.by(BY_NODE, name)]
        self._condemned.clear()
        wakes: list[tuple[str, Instant]] = []
        seen: set[str] = set()
        for reason, condemned in (
            ("terminated", decide_terminated(finished, self._settings.terminated_pod_gc_threshold)),
            ("out-of-service", decide_out_of_service(self._deleting(self._out_of_service()), self._nodes)),
            ("orphaned", sorted(orphaned, key=lambda pod: pod.metadata.key)),
            ("unscheduled", decide_unscheduled(self._deleting([""]))),
        ):
            for pod in condemned:
                if pod.metadata.uid not in seen:
                    seen.add(pod.metadata.uid)
                    self._condemned[pod.metadata.key] = (pod.metadata.uid, reason)
                    wakes.append((f"pod/{pod.metadata.key}", now))
        return Result(wakes=(*wakes, ("sweep", now + SWEEP_SECONDS)))

    def _out_of_service(self) -> Sequence[str]:
        """Nodes with the taint: pods that are being deleted on others, thousands on dead nodes, stay there."""
        nodes = self._nodes.list()
        return [node.metadata.name for node in nodes if any(t.key == OUT_OF_SERVICE for t in node.spec.taints)]

    def _deleting(self, node_names: Iterable[str]) -> Sequence[Pod]:
        found = [pod for name in node_names for pod in self._pods.by(BY_NODE, name) if pod.metadata.deletion_timestamp]
        return sorted(found, key=lambda pod: pod.metadata.key)

    def _gone_nodes(self, now: Instant) -> Sequence[str]:
        """Nodes whose quarantine is over and that are still missing. Others that are missing enter it."""
        for name in self._pods.places(BY_NODE):
            if name and self._nodes.get(name) is None:
                self._quarantine.setdefault(name, now + QUARANTINE_SECONDS)
        over = [name for name, until in self._quarantine.items() if until <= now]
        for name in over:
            del self._quarantine[name]
        return [name for name in over if self._nodes.get(name) is None]

    def _remove(self, pod_key: str, now: Instant) -> Result:
        pod = self._pods.get(pod_key)
        uid, reason = self._condemned.get(pod_key, ("", ""))
        if pod is None or pod.metadata.uid != uid:
            return DONE
        return Result(actions=decide_force_delete(pod, now, orphaned=reason == "orphaned"), retry=NO_RETRY)

    def _count(self, counter: Counter, pod_key: str) -> None:
        found = self._condemned.pop(pod_key, None)
        if found is not None:
            counter.labels(pod_key.partition("/")[0], found[1]).inc()


def _is_ready(node: Node) -> bool:
    ready = node.status.condition("Ready")
    return ready is not None and ready.status == "True"
