"""The view of a service: which pods it selects."""

from doorman.api.meta import ObjectMeta, View


class ServiceSpec(View, frozen=True, kw_only=True):
    selector: dict[str, str] = {}


class Service(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
