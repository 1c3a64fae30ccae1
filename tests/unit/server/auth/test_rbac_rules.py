"""RBAC's rules, a row each."""

from typing import Any

import msgspec
import pytest

from doorman.api.views.access.rbac import PolicyRule
from doorman.server.auth.rbac_rules import missing_rights, rule_allows, said
from doorman.server.request import RequestInfo


def rule(verbs: str = "get", groups: str = "", resources: str = "pods", names: str = "", paths: str = "") -> PolicyRule:
    given = {"verbs": verbs, "resource_names": names, "non_resource_urls": paths}
    lists = {name: tuple(part for part in text.split(",") if part) for name, text in given.items()}
    if not paths:
        lists |= {"api_groups": tuple(groups.split(",")), "resources": tuple(resources.split(","))}
    return PolicyRule(**lists)


def ask(
    verb: str = "get", resource: str = "pods", subresource: str = "", name: str = "", group: str = ""
) -> RequestInfo:
    return RequestInfo(
        is_resource=True, verb=verb, path="", group=group, resource=resource, subresource=subresource, name=name
    )


def path(text: str, verb: str = "get") -> RequestInfo:
    return RequestInfo(is_resource=False, verb=verb, path=text)


@pytest.mark.parametrize(
    ("held", "asked", "is_allowed"),
    [
        pytest.param(rule(), ask(), True, id="rule-1-listed"),
        pytest.param(rule("list"), ask(), False, id="rule-1-other-verb"),
        pytest.param(rule("*"), ask("escalate"), True, id="rule-1-any-verb"),
        pytest.param(rule(groups="apps"), ask(), False, id="rule-1-other-group"),
        pytest.param(rule(groups="*"), ask(group="apps"), True, id="rule-1-any-group"),
        pytest.param(rule(resources="*"), ask(subresource="log"), True, id="rule-1-any-resource"),
        pytest.param(rule(), ask(subresource="log"), False, id="rule-2-resource-is-not-its-subresource"),
        pytest.param(rule(resources="pods/log"), ask(subresource="log"), True, id="rule-2-subresource"),
        pytest.param(rule(resources="pods/log"), ask(), False, id="rule-2-subresource-is-not-its-resource"),
        pytest.param(rule(resources="*/log"), ask(subresource="log"), True, id="rule-2-subresource-of-any"),
        pytest.param(rule(resources="*/log"), ask(subresource="exec"), False, id="rule-2-other-subresource"),
        pytest.param(rule(resources="*/"), ask(), False, id="rule-2-no-subresource-is-none"),
        pytest.param(rule(names="a,b"), ask(name="b"), True, id="rule-3-named"),
        pytest.param(rule(names="a"), ask(name="b"), False, id="rule-3-other-name"),
        pytest.param(rule("list", names="a"), ask("list"), False, id="rule-3-request-without-a-name"),
        pytest.param(
            rule("list", names="a"),
            msgspec.structs.replace(ask("list"), selected_name="a"),
            True,
            id="rule-3-name-by-field-selector",
        ),
        pytest.param(rule(paths="/metrics"), path("/metrics"), True, id="rule-4-path"),
        pytest.param(rule(paths="/metrics"), path("/metrics/slis"), False, id="rule-4-longer-path"),
        pytest.param(rule(paths="/api/*"), path("/api/v1"), True, id="rule-4-prefix"),
        pytest.param(rule(paths="/api/*"), path("/apis"), False, id="rule-4-not-the-prefix"),
        pytest.param(rule(paths="*"), path("/anything"), True, id="rule-4-any-path"),
        pytest.param(rule(paths="*"), ask(), False, id="rule-4-paths-are-no-resources"),
        pytest.param(rule(resources="*", groups="*", verbs="*"), path("/x"), False, id="rule-4-resources-are-no-paths"),
    ],
)
def test_rule_allows_what_it_lists_and_no_more(held: PolicyRule, asked: RequestInfo, is_allowed: bool) -> None:
    assert rule_allows(held, asked) is is_allowed


@pytest.mark.parametrize(
    ("held", "wanted", "missing"),
    [
        pytest.param([rule("get,list")], rule("get"), [], id="rule-5-part-of-a-rule"),
        pytest.param([rule("get"), rule("list")], rule("get,list"), [], id="rule-5-from-two-rules"),
        pytest.param([rule()], rule("get,list,top"), ['Resources:["pods"], Verbs:["list" "top"]'], id="rule-5-verb"),
        pytest.param([rule(names="a")], rule(), ['Resources:["pods"], Verbs:["get"]'], id="rule-5-named-is-less"),
        pytest.param([rule(names="a,b")], rule(names="a"), [], id="rule-5-named"),
        pytest.param([rule()], rule(names="a"), [], id="rule-5-all-is-more-than-named"),
        pytest.param(
            [rule(names="a")], rule(names="a,b"),
            ['Resources:["pods"], ResourceNames:["b"], Verbs:["get"]'], id="rule-5-other-name",
        ),
        pytest.param([rule("*", "*", "*")], rule("escalate", "x", "y/z"), [], id="rule-5-everything"),
        pytest.param(
            [rule("*", "*", "*")], rule(paths="/x"), ['NonResourceURLs:["/x"], Verbs:["get"]'], id="rule-5-url"
        ),
        pytest.param([rule(paths="/api/*")], rule(paths="/api/v1"), [], id="rule-5-path-prefix"),
        pytest.param([rule(resources="*/scale")], rule(resources="pods/scale"), [], id="rule-5-subresource-of-any"),
        pytest.param([rule()], rule("*"), ['Resources:["pods"], Verbs:["*"]'], id="rule-5-star-is-more-than-some"),
    ],
)  # fmt: skip
def test_missing_rights_are_those_nobody_holds(held: list[PolicyRule], wanted: PolicyRule, missing: list[str]) -> None:
    texts = said(missing_rights(held, [wanted]))
    assert [text.replace('APIGroups:[""], ', "") for text in texts] == [f"{{{text}}}" for text in missing]


def test_rights_are_said_as_kubernetes_says_them() -> None:
    rules: list[Any] = missing_rights([], [rule("get", "apps", "deployments,deployments/scale")])
    assert said(rules) == [
        '{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}',
        '{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["get"]}',
    ]
