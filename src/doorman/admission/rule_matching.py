"""Which requests a webhook or a policy wants to see.

Rules
-----
1. A rule matches by operation, group, version and resource; `*` is any. `pods` is the resource alone, `pods/*` all its
   subresources too, `*` every resource without and `*/*` with subresources.
2. Scope `Namespaced` and `Cluster` tell objects in a namespace from others; `*` is both.
3. With matchPolicy Equivalent a rule may also name another version of the resource: the first one that a rule names
   is the version in which the objects are sent.
4. The namespace selector is held against the labels of the object's namespace, or of the object if it is a namespace;
   other objects of the cluster pass.
5. The object selector passes when the new or the old object has the labels.
6. Webhook configurations and admission policies themselves are never shown to anybody, so that whoever locked himself
   out can repair it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from doorman.admission.plugin_contract import ANY, Attributes, ClusterReader, VersionedResource
from doorman.api.machinery.label_selectors import matches
from doorman.api.views.admissionregistration import GROUP, MatchResources, Rule
from doorman.api.views.meta import LabelSelector


def is_hidden(attributes: Attributes) -> bool:
    """Rule 6."""
    return attributes.group == GROUP


def rule_matches(rule: Rule, attributes: Attributes, resource: VersionedResource) -> bool:
    """Rules 1 and 2, for the request in this version."""
    if rule.scope != ANY and (rule.scope == "Namespaced") is not bool(attributes.namespace):
        return False
    if rule.resource_names:
        attributes.is_cacheable = False
        if attributes.name not in rule.resource_names:
            return False
    return (
        _has(rule.operations, attributes.operation)
        and _has(rule.api_groups, resource.group)
        and _has(rule.api_versions, resource.version)
        and any(_names(text, resource.resource, attributes.subresource) for text in rule.resources)
    )


def selectors_match(
    namespaces: LabelSelector, objects: LabelSelector, attributes: Attributes, cluster: ClusterReader
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


def resources_match(found: MatchResources, attributes: Attributes, cluster: ClusterReader) -> VersionedResource | None:
    """All five, for a policy or its binding: the version that is meant. No rules at all: everything, as it was sent."""
    policy = found.match_policy
    if matched_resource(found.exclude_resource_rules, attributes, policy) is not None:
        return None
    resource = (
        matched_resource(found.resource_rules, attributes, policy)
        if found.resource_rules
        else attributes.versioned_resource
    )
    if resource is None or not selectors_match(found.namespace_selector, found.object_selector, attributes, cluster):
        return None
    return resource


def matched_resource(rules: Sequence[Rule], attributes: Attributes, match_policy: str) -> VersionedResource | None:
    """Rules 1 to 3."""
    own = attributes.versioned_resource
    others = (
        attributes.equivalents.others if attributes.equivalents is not None and match_policy == "Equivalent" else ()
    )
    for resource in (own, *others):
        if any(rule_matches(rule, attributes, resource) for rule in rules):
            return resource
    return None


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
