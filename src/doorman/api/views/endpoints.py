"""The views of where a service leads: Endpoints, and the slices that took their place."""

from typing import Any

from doorman.api.views.meta import ObjectMeta, View


class Endpoints(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    subsets: list[dict[str, Any]] = []  # as JSON: it is only compared


class EndpointSlice(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    endpoints: list[dict[str, Any]] | None = None  # as JSON: they are only compared
    ports: list[dict[str, Any]] | None = None
