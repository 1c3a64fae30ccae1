"""The view of a namespace."""

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
