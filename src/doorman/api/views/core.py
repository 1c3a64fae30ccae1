"""Views of small kinds of the core group: namespaces, config maps, secrets, accounts, quotas, events."""

from typing import Any

from doorman.api.views.meta import Condition, ObjectMeta, View


class NamespaceSpec(View, frozen=True, kw_only=True):
    finalizers: tuple[str, ...] = ()


class NamespaceStatus(View, frozen=True, kw_only=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()

    def condition(self, type_: str) -> Condition | None:
        return next((c for c in self.conditions if c.type == type_), None)


class Namespace(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()

    @property
    def is_active(self) -> bool:
        return self.status.phase in ("", "Active") and not self.metadata.deletion_timestamp


class ConfigMap(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = {}
    binary_data: dict[str, str] = {}


class ServiceAccount(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()


class Secret(View, frozen=True, kw_only=True):
    """`data` is base64, as on the wire."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    data: dict[str, str] = {}


class ResourceQuotaSpec(View, frozen=True, kw_only=True):
    hard: dict[str, str] = {}
    scopes: tuple[str, ...] = ()
    scope_selector: dict[str, Any] | None = None  # as JSON: the rules about scopes read it so


class ResourceQuotaStatus(View, frozen=True, kw_only=True):
    hard: dict[str, str] | None = None
    used: dict[str, str] | None = None


class ResourceQuota(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class EventSeries(View, frozen=True, kw_only=True):
    last_observed_time: str = ""


class Event(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    event_time: str | None = ""
    last_timestamp: str | None = ""
    series: EventSeries | None = None

    @property
    def written(self) -> str:
        """When it was last written, to the second and without a zone: such texts are in order of time."""
        series = self.series.last_observed_time if self.series is not None else ""
        newest = max(self.metadata.creation_timestamp, self.last_timestamp or "", self.event_time or "", series)
        return newest[:19]
