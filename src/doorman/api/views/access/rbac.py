"""Views of roles and their bindings, of all four kinds."""

import msgspec

from doorman.api.views.meta import LabelSelector, ObjectMeta, View


class PolicyRule(View, frozen=True, kw_only=True):
    """Verbs on resources of groups, or on paths that are no resources."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")


class AggregationRule(View, frozen=True, kw_only=True):
    cluster_role_selectors: tuple[LabelSelector, ...] = ()


class Role(View, frozen=True, kw_only=True):
    """A Role or a ClusterRole; only the latter is ever aggregated."""

    metadata: ObjectMeta = ObjectMeta()
    rules: tuple[PolicyRule, ...] = ()
    aggregation_rule: AggregationRule | None = None


class RoleRef(View, frozen=True, kw_only=True):
    kind: str = ""
    name: str = ""
    api_group: str = ""


class Subject(View, frozen=True, kw_only=True):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    api_group: str = ""


class RoleBinding(View, frozen=True, kw_only=True):
    """A RoleBinding or a ClusterRoleBinding."""

    metadata: ObjectMeta = ObjectMeta()
    role_ref: RoleRef = RoleRef()
    subjects: tuple[Subject, ...] = ()
