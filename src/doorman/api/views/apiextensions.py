"""CustomResourceDefinitions, as far as the server that serves what they define looks at them."""

from typing import Any, Final

from doorman.api.views.meta import Condition, ObjectMeta, View

RESOURCE: Final = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"


class CustomResourceNames(View, frozen=True, kw_only=True):
    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class Version(View, frozen=True, kw_only=True):
    name: str = ""
    served: bool = False
    storage: bool = False
    schema: dict[str, Any] = {}
    """`openAPIV3Schema` in it, as it was written."""


class DefinitionSpec(View, frozen=True, kw_only=True):
    group: str = ""
    scope: str = ""
    names: CustomResourceNames = CustomResourceNames()
    versions: tuple[Version, ...] = ()


class DefinitionStatus(View, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    accepted_names: CustomResourceNames = CustomResourceNames()
    stored_versions: tuple[str, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        return next((one for one in self.conditions if one.type == kind), None)


class CustomResourceDefinition(View, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()

    @property
    def is_established(self) -> bool:
        found = self.status.condition("Established")
        return found is not None and found.status == "True"
