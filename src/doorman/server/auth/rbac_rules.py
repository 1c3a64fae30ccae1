"""RBAC's rules, as pure functions: does a rule allow a request, does a set of rules cover another, how is a rule said.

1. A verb, group or resource matches by being listed, or by `*`.
2. A rule on `pods` does not reach `pods/log`; `pods/log`, `*/log` and `*` do.
3. Resource names, where given, must contain the request's name; a request without a name never matches them.
4. A path matches by being listed, by `*`, or by a listed prefix that ends in `*`.
5. A right is covered by another that allows the same and is not narrowed by resource names the first does not have.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from doorman.api.views.access.rbac import PolicyRule
from doorman.base.go_format import quote
from doorman.server.request import RequestInfo

ALL: Final = "*"


def rule_allows(rule: PolicyRule, info: RequestInfo) -> bool:
    if info.verb not in rule.verbs and ALL not in rule.verbs:
        return False
    if not info.is_resource:
        return any(_path_matches(listed, info.path) for listed in rule.non_resource_urls)
    if info.group not in rule.api_groups and ALL not in rule.api_groups:
        return False
    if not _resource_matches(rule.resources, info.resource, info.subresource):
        return False
    return not rule.resource_names or info.named in rule.resource_names


def _resource_matches(listed: Sequence[str], resource: str, subresource: str) -> bool:
    whole = f"{resource}/{subresource}" if subresource else resource
    return whole in listed or ALL in listed or (subresource != "" and f"*/{subresource}" in listed)


def _path_matches(listed: str, path: str) -> bool:
    return listed in (ALL, path) or (listed.endswith(ALL) and path.startswith(listed.rstrip(ALL)))


def missing_rights(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The single rights in `wanted` that nobody who has `held` has."""
    return [single for rule in wanted for single in singles(rule) if not any(_covers(h, single) for h in held)]


def singles(rule: PolicyRule) -> Iterable[PolicyRule]:
    """A rule taken apart: one verb, one group, one resource, one name at a time."""
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                if not rule.resource_names:
                    yield PolicyRule(api_groups=(group,), resources=(resource,), verbs=(verb,))
                for name in rule.resource_names:
                    yield PolicyRule(api_groups=(group,), resources=(resource,), verbs=(verb,), resource_names=(name,))
    for path in rule.non_resource_urls:
        for verb in rule.verbs:
            yield PolicyRule(non_resource_urls=(path,), verbs=(verb,))


def _covers(held: PolicyRule, single: PolicyRule) -> bool:
    if not _has_all(held.verbs, single.verbs):
        return False
    if single.non_resource_urls:
        return all(any(_path_matches(h, path) for h in held.non_resource_urls) for path in single.non_resource_urls)
    if not held.resources or not _has_all(held.api_groups, single.api_groups):
        return False
    resource, _, subresource = single.resources[0].partition("/")
    if not _resource_matches(held.resources, resource, subresource):
        return False
    return not held.resource_names or (
        bool(single.resource_names) and all(name in held.resource_names for name in single.resource_names)
    )


def _has_all(held: Sequence[str], wanted: Sequence[str]) -> bool:
    return ALL in held or all(item in held for item in wanted)


def said(rights: Sequence[PolicyRule]) -> list[str]:
    """Single rights in words, those that differ only in their verb joined, sorted."""
    joined: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    key: tuple[tuple[str, ...], ...]
    for rule in rights:
        key = (rule.api_groups, rule.resources, rule.non_resource_urls, rule.resource_names)
        verbs = joined.setdefault(key if rule.resources else (*key, rule.verbs), [])
        verbs.extend(verb for verb in rule.verbs if verb not in verbs)
    texts = []
    for key, verbs in joined.items():
        parts = zip(("APIGroups", "Resources", "NonResourceURLs", "ResourceNames"), key, strict=False)
        words = [f"{name}:[{quoted(values)}]" for name, values in parts if values]
        texts.append("{" + ", ".join([*words, f"Verbs:[{quoted(verbs)}]"]) + "}")
    return sorted(dict.fromkeys(texts))


def quoted(values: Iterable[str]) -> str:
    """As Go prints a list of strings with %q, without its brackets."""
    return " ".join(quote(value) for value in values)
