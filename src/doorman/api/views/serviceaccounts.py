"""Views of service accounts and of secrets that carry credentials."""

from doorman.api.views.meta import ObjectMeta, View


class ServiceAccount(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()


class Secret(View, frozen=True, kw_only=True):
    """`data` is base64, as on the wire."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    data: dict[str, str] = {}


class ConfigMap(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = {}
