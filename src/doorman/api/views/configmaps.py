"""The view of a config map."""

from doorman.api.views.meta import ObjectMeta, View


class ConfigMap(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = {}
