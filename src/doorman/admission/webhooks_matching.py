"""Which requests a webhook or a policy wants to see.

Rules
-----
1. A rule matches by operation, group, version and resource; `*` is any. `pods` is the resource alone, `pods/*` all its
   subresources too, `*` every resource without and `*/*` with subresources.
2. Scope `Namespaced` and `Cluster` tell objects in a namespace from others; `*` is both.
3. With matchPolicy Equivalent the version is not compared: every version shows the same object.
4. The namespace selector is held against the labels of the object's namespace, or of the object if it is a namespace;
   other objects of the cluster pass.
5. The object selector passes when the new or the old object has the labels.
6. Webhook configurations and admission policies themselves are never shown to anybody, so that whoever locked himself
   out can repair it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from doorman.admission.contract import Attributes, Cluster
from doorman.api.labels import matches
from doorman.api.meta import LabelSelector
from doorman.api.webhooks import GROUP, MatchResources, Rule

ANY: Final = "*"


def is_hidden(attributes: Attributes) -> bool:
    """Rule 6."""
    return attributes.group == GROUP


def rule_matches(rule: Rule, attributes: Attributes, *, any_version: bool) -> bool:
    """Rules 1 to 3."""
    if rule.scope != ANY and (rule.scope == "Namespaced") is not bool(attributes.namespace):
        return False
    if rule.resource_names:
        attributes.is_particular = True
        if attributes.name not in rule.resource_names:
            return False
    return (
        _has(rule.operations, attributes.operation)
        and _has(rule.api_groups, attributes.group)
        and (any_version or _has(rule.api_versions, attributes.version))
        and any(_names(text, attributes.resource, attributes.subresource) for text in rule.resources)
    )


def selectors_match(
    namespaces: LabelSelector, objects: LabelSelector, attributes: Attributes, cluster: Cluster
) -> bool:
    """Rules 4 and 5."""
    if attributes.namespace:
        found = cluster.get("namespaces", "", attributes.namespace)
        if not matches(namespaces, _labels(found)):
            return False
    elif attributes.group_resource == "namespaces":
        own = attributes.obj or attributes.old
        if not matches(namespaces, _labels(own)):
            return False
    shown = [doc for doc in (attributes.obj, attributes.old) if doc is not None] or [{}]
    return any(matches(objects, _labels(doc)) for doc in shown)


def resources_match(found: MatchResources, attributes: Attributes, cluster: Cluster) -> bool:
    """All five, for a policy or its binding. No rules at all: everything."""
    any_version = found.match_policy == "Equivalent"
    return (
        not any_rule_matches(found.exclude_resource_rules, attributes, any_version=any_version)
        and (not found.resource_rules or any_rule_matches(found.resource_rules, attributes, any_version=any_version))
        and selectors_match(found.namespace_selector, found.object_selector, attributes, cluster)
    )


def any_rule_matches(rules: Iterable[Rule], attributes: Attributes, *, any_version: bool) -> bool:
    return any(rule_matches(rule, attributes, any_version=any_version) for rule in rules)


def _has(allowed: Sequence[str], found: str) -> bool:
    return ANY in allowed or found in allowed


def _names(text: str, resource: str, subresource: str) -> bool:
    """
    >>> [_names(text, "pods", "status") for text in ("pods", "pods/*", "*/status", "*", "*/*")]
    [False, True, True, False, True]
    """
    wanted, _, wanted_sub = text.partition("/")
    return wanted in (ANY, resource) and wanted_sub in (subresource, ANY)


def _labels(doc: Mapping[str, Any] | None) -> Mapping[str, str]:
    return ((doc or {}).get("metadata") or {}).get("labels") or {}
