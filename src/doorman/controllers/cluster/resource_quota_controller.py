"""resourcequota-controller: says in the status of each quota what may be held, and what is.

It reads quotas; of everything else it is told that something came, went or changed its weight, and asks for sums.
Admission asks for the same sums and never for the status: this is a report.

Rules
-----
1. `status.hard` is `spec.hard`. `status.used` has every name of it that anything can count for, also at zero.
2. A quota is looked at when its spec has changed, when an object came or went in its namespace, when a pod has finished
   or changed what it asks for; and every five minutes.
3. Nothing is written when nothing has changed.

Keys: `namespace/<name>`: all quotas in it; `resync`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.api.machinery.quantity import parse_quantity
from doorman.api.views.core import ResourceQuota
from doorman.api.views.meta import Object
from doorman.api.views.object_indexes import BY_NAMESPACE
from doorman.api.views.pods import Pod
from doorman.api.well_known import PERSISTENT_VOLUME_CLAIMS, PODS, SERVICES
from doorman.base.clock import Instant
from doorman.client.actions import Patch
from doorman.client.controller_contract import ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.pods.status_reports import status_patch
from doorman.semantics.pods.pod_resources import Amounts
from doorman.semantics.pods.quota_usage import IGNORED, Requirements, amount_text, requirements_of, resource_counted_by

NAME: Final = "resourcequota-controller"
RESOURCE: Final = "resourcequotas"
WORKERS: Final = 5
RESYNC_SECONDS: Final = 300.0
RESYNC: Final = "resync"

TotalOf = Callable[[str, str, Requirements], Amounts]
"""What all objects of a resource in a namespace count for, those that are in scope."""


def quota_keys(change: ObjectChange) -> Iterable[str]:
    """Not when only the status has changed: that was us."""
    old: ResourceQuota | None = change.old
    new: ResourceQuota | None = change.new
    if old is not None and new is not None and old.spec == new.spec:
        return ()
    return (f"namespace/{change.newest.metadata.namespace}",)


def pod_keys(change: ObjectChange) -> Iterable[str]:
    old: Pod | None = change.old
    new: Pod | None = change.new
    if old is not None and new is not None and _weight(old) == _weight(new):
        return ()
    return (f"namespace/{change.newest.metadata.namespace}",)


def object_keys(change: ObjectChange) -> Iterable[str]:
    """Of most kinds only how many there are matters."""
    if (
        change.old is not None
        and change.new is not None
        and change.resource not in (SERVICES, PERSISTENT_VOLUME_CLAIMS)
    ):
        return ()
    return (f"namespace/{change.newest.metadata.namespace}",)


def source_of(resource: str) -> Source:
    if resource == RESOURCE:
        return Source(RESOURCE, quota_keys)
    return Source(resource, pod_keys if resource == PODS else object_keys, only_with=RESOURCE)


def decide_used(hard: Iterable[str], total_of: Callable[[str], Amounts | None]) -> dict[str, str]:
    """Rule 1. `total_of` gives None for what is not counted at all."""
    used: dict[str, str] = {}
    for name in sorted(hard):
        total = total_of(resource_counted_by(name))
        if total is not None:
            used[name] = amount_text(name, total)
    return used


def decide_status(quota: ResourceQuota, used: Mapping[str, str]) -> Patch | None:
    """Rule 3."""
    status = quota.status
    if status.hard == quota.spec.hard and status.used is not None and _is_same(status.used, used):
        return None
    body = {"hard": _replacing(status.hard, quota.spec.hard), "used": _replacing(status.used, used)}
    return status_patch(RESOURCE, quota.metadata, body)


class ResourceQuotaController:
    name = NAME
    workers = WORKERS

    def __init__(self, quotas: ListerOf[ResourceQuota], resources: Iterable[str], total_of: TotalOf) -> None:
        """`resources` are those that live in namespaces."""
        self._quotas = quotas
        self._resources = {resource: None for resource in resources if resource not in IGNORED}
        self._total_of = total_of
        self.sources = tuple(source_of(resource) for resource in self._resources)

    def add_kind(self, resource: str, lister: ListerOf[Object], *, namespaced: bool) -> Sequence[Source]:
        """One more kind whose objects may count."""
        del lister
        if not namespaced:
            return ()
        self._resources[resource] = None
        return (source_of(resource),)

    def start(self, now: Instant) -> Result:
        return Result(wakes=((RESYNC, now + RESYNC_SECONDS),))

    def reconcile(self, key: str, now: Instant) -> Result:
        if key == RESYNC:
            wakes = [(f"namespace/{namespace}", now) for namespace in sorted(self._quotas.places(BY_NAMESPACE))]
            return Result(wakes=[*wakes, (RESYNC, now + RESYNC_SECONDS)])
        kind, _, namespace = key.partition("/")
        assert kind == "namespace", f"unknown key {key}"
        patches = (self._report(quota) for quota in self._quotas.by(BY_NAMESPACE, namespace))
        return Result(actions=[patch for patch in patches if patch is not None])

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next resync tries again."""

    def _report(self, quota: ResourceQuota) -> Patch | None:
        requirements = requirements_of(quota.spec.scopes, quota.spec.scope_selector)
        namespace = quota.metadata.namespace

        def total_of(resource: str) -> Amounts | None:
            return self._total_of(resource, namespace, requirements) if resource in self._resources else None

        return decide_status(quota, decide_used(quota.spec.hard, total_of))


def _weight(pod: Pod) -> tuple[Any, ...]:
    """All that a pod's weight and its scopes come from and that can change."""
    spec = pod.spec
    asked = tuple(container.resources for container in (*spec.containers, *spec.init_containers))
    return pod.is_finished, spec.active_deadline_seconds, spec.resources, asked


def _is_same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """As amounts: somebody may have written one in another form."""
    return one.keys() == other.keys() and all(parse_quantity(one[name]) == parse_quantity(other[name]) for name in one)


def _replacing(old: Mapping[str, str] | None, new: Mapping[str, str]) -> dict[str, str | None]:
    """A merge patch that leaves nothing of the old one."""
    return {**dict.fromkeys(old or {}), **new}
