"""Why a pod is where it is, is not placed, is about to leave, or is gone: made when asked for.

Verdicts come from the scheduler's own plugins, a coming eviction from the controller's own timer, and the past from
the events they recorded. Taints and scores are shown only to who may list nodes.
"""

from typing import Any, Final, Protocol, TypeGuard, runtime_checkable

import msgspec

from doorman.api.identity import User
from doorman.api.views.pods import Pod
from doorman.base.clock import Clock
from doorman.base.errors import ApiError, not_found
from doorman.base.instants import to_time
from doorman.base.json_types import Document
from doorman.controllers.taint_eviction.eviction_timers import Timer
from doorman.registry.cache.selection import Selection
from doorman.registry.registry import Registry
from doorman.scheduler.explain.explanation import without_names
from doorman.scheduler.scheduler import Scheduler
from doorman.semantics.devices.device_taints import ClaimEviction
from doorman.server.auth.authorization import Authorizer
from doorman.server.request import RequestInfo

EXPLANATIONS: Final = "podexplanations.doorman.dev"
TOLD: Final = (
    "TaintManagerEviction", "TaintEvictionDetail", "DeviceTaintManagerEviction", "FailedResourceClaimCreation",
    "Preempted", "FailedScheduling", "Scheduled", "Evicted", "FailedAttachVolume",
)  # fmt: skip
"""Reasons of events that say something about where a pod is."""
NOT_TOLD: Final = ("BackOff", "InvalidSimulation")
"""Reasons of a kubelet's warnings that say something else. All others are refusals, or ends that it made."""


@runtime_checkable
class EvictionForecast(Protocol):
    """A controller that knows when a pod is to leave."""

    def timer_of(self, key: str) -> Timer | None: ...


def forecasts_evictions(controller: object) -> TypeGuard[EvictionForecast]:
    return isinstance(controller, EvictionForecast)


@runtime_checkable
class DeviceEvictionForecast(Protocol):
    """A controller that knows when a pod is to leave because of its devices."""

    def eviction_of(self, pod: Pod) -> ClaimEviction | None: ...


def forecasts_device_evictions(controller: object) -> TypeGuard[DeviceEvictionForecast]:
    return isinstance(controller, DeviceEvictionForecast)


class PodExplainer:
    def __init__(
        self,
        registry: Registry,
        authorizer: Authorizer,
        scheduler: Scheduler | None,
        evictions: EvictionForecast | None,
        devices: DeviceEvictionForecast | None,
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._authorizer = authorizer
        self._scheduler = scheduler
        self._evictions = evictions
        self._devices = devices
        self._clock = clock

    def explain(self, namespace: str, name: str, user: User) -> Document:
        pods = self._registry.kinds.named("pods")
        stored = self._registry.collection(pods).get(f"{namespace}/{name}")
        history = self._history(namespace, name)
        out: Document = {
            "kind": "PodExplanation",
            "apiVersion": "doorman.dev/v1",
            "metadata": {"name": name, "namespace": namespace},
        }
        if stored is None:
            if not history:
                raise not_found(pods.named, name)
            return {**out, "exists": False, "history": history}
        out["exists"] = True
        if self._scheduler is not None:
            found = self._scheduler.explain(stored.view, self._clock.now())
            shown = found if self._may_see_nodes(user) else without_names(found)
            out["scheduling"] = msgspec.to_builtins(shown)
        coming = self._coming_eviction(f"{namespace}/{name}")
        if coming is not None and self._may_see_nodes(user):
            out["eviction"] = coming
        device_eviction = self._coming_device_eviction(stored.view)
        if device_eviction is not None and self._may_see_nodes(user):
            out["deviceEviction"] = device_eviction
        out["history"] = history
        return out

    def _coming_eviction(self, key: str) -> dict[str, Any] | None:  # part of the answer
        timer = self._evictions.timer_of(key) if self._evictions is not None else None
        if timer is None:
            return None
        return {
            "at": to_time(timer.fires),
            "inSeconds": round(timer.fires - self._clock.now(), 1),
            "node": timer.node,
            "taint": str(timer.taint),
            "tolerationSeconds": timer.toleration.toleration_seconds,
        }

    def _coming_device_eviction(self, pod: Pod) -> dict[str, Any] | None:  # part of the answer
        planned = self._devices.eviction_of(pod) if self._devices is not None else None
        if planned is None:
            return None
        return {
            "at": to_time(planned.when),
            "inSeconds": round(planned.when - self._clock.now(), 1),
            "node": pod.spec.node_name,
            "reasons": [str(reason) for reason in planned.reasons],
        }

    def _history(self, namespace: str, name: str) -> list[dict[str, str]]:
        events = self._registry.kinds.named("events")
        found = []
        for stored in self._registry.collection(events).select(Selection(storage="events", namespace=namespace)):
            if not stored.name.startswith(f"{name}."):
                continue
            doc = stored.document()
            if _is_told(doc) and doc.get("involvedObject", {}).get("name") == name:
                time = doc.get("lastTimestamp") or doc.get("eventTime") or doc["metadata"].get("creationTimestamp", "")
                found.append({"time": time, "reason": doc["reason"], "message": doc.get("message", "")})
        return sorted(found, key=lambda event: event["time"])

    def _may_see_nodes(self, user: User) -> bool:
        info = RequestInfo(is_resource=True, verb="list", path="", version="v1", resource="nodes")
        try:
            self._authorizer.check(user, info)
        except ApiError:
            return False
        return True


def _is_told(event: Document) -> bool:
    reason = event.get("reason", "")
    if reason in TOLD:
        return True
    by_kubelet = event.get("source", {}).get("component") == "kubelet" and event.get("type") == "Warning"
    return by_kubelet and reason not in NOT_TOLD
