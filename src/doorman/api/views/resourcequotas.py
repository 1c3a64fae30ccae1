"""The view of a quota: how much of what a namespace may hold, and how much it does."""

from typing import Any

from doorman.api.views.meta import ObjectMeta, View


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
