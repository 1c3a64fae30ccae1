"""Custom kinds of a server, as rows: enough of each to follow, delete and count its objects."""

from doorman.api.kinds import Kind
from doorman.api.views.apiextensions import CustomResourceDefinition


def row_of(definition: CustomResourceDefinition) -> Kind | None:
    """None when it is not served."""
    spec, names = definition.spec, definition.status.accepted_names
    versions = sorted((one for one in spec.versions if one.served), key=lambda one: not one.storage)
    if not definition.is_established or not versions or not names.plural:
        return None
    return Kind(
        group=spec.group,
        version=versions[0].name,
        resource=names.plural,
        singular=names.singular,
        kind=names.kind,
        namespaced=spec.scope == "Namespaced",
        verbs=("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"),
        storage=f"{names.plural}.{spec.group}",
        is_custom=True,
    )
