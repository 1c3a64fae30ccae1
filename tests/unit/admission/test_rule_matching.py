"""Which requests a webhook wants to see: a row for each rule."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from doorman.admission.plugin_contract import Operation
from doorman.admission.rule_matching import is_hidden, matched_resource, rule_matches, selectors_match
from doorman.api.views.admissionregistration import Rule
from doorman.api.views.meta import LabelSelector

POD = {"metadata": {"name": "p", "labels": {"a": "b"}}}
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


@pytest.mark.parametrize(
    ("more", "subresource", "expected"),
    [
        pytest.param({}, "", True, id="rule-1-by-name"),
        pytest.param({}, "status", False, id="rule-1-no-subresource"),
        pytest.param({"resources": ["pods/*"]}, "status", True, id="rule-1-its-subresources"),
        pytest.param({"resources": ["*"]}, "status", False, id="rule-1-star-is-without"),
        pytest.param({"resources": ["*/*"]}, "status", True, id="rule-1-all"),
        pytest.param({"operations": ["DELETE"]}, "", False, id="rule-1-operation"),
        pytest.param({"apiGroups": ["apps"]}, "", False, id="rule-1-group"),
        pytest.param({"resourceNames": ["q"]}, "", False, id="rule-1-name-of-the-object"),
        pytest.param({"scope": "Namespaced"}, "", True, id="rule-2-namespaced"),
        pytest.param({"scope": "Cluster"}, "", False, id="rule-2-cluster"),
        pytest.param({"apiVersions": ["v2"]}, "", False, id="rule-1-version"),
    ],
)
def test_rule(more: Any, subresource: str, expected: bool, asked: Any) -> None:
    rule = msgspec.convert({**RULE, **more}, Rule)
    attributes = asked(POD, subresource=subresource)
    assert rule_matches(rule, attributes, attributes.versioned_resource) is expected


@pytest.mark.parametrize(
    ("versions", "policy", "seen"),
    [
        pytest.param(["v1", "v2"], "Equivalent", "v1", id="rule-3-its-own-first"),
        pytest.param(["v2"], "Equivalent", "v2", id="rule-3-another-one"),
        pytest.param(["v2"], "Exact", None, id="rule-3-exact"),
        pytest.param(["v4"], "Equivalent", None, id="rule-3-one-that-is-not-served"),
    ],
)
def test_version(versions: list[str], policy: str, seen: str | None, asked: Any) -> None:
    attributes = asked(POD)
    others = [msgspec.structs.replace(attributes.versioned_resource, version=version) for version in ("v2", "v3")]
    attributes.equivalents = SimpleNamespace(others=others)
    rule = msgspec.convert({**RULE, "apiVersions": versions}, Rule)
    found = matched_resource([rule], attributes, policy)
    assert (found and found.version) == seen


def label(**labels: str) -> LabelSelector:
    return LabelSelector(match_labels=labels)


def test_rule_4_labels_of_the_namespace_or_of_the_namespace_itself(world: Any, asked: Any) -> None:
    cluster = world(namespaces=[{"metadata": {"name": "ns", "labels": {"x": "y"}}}])
    assert selectors_match(label(x="y"), LabelSelector(), asked(POD), cluster)
    assert not selectors_match(label(x="z"), LabelSelector(), asked(POD), cluster)
    assert selectors_match(label(a="b"), LabelSelector(), asked(POD, "namespaces", namespace=""), cluster)
    assert not selectors_match(label(a="c"), LabelSelector(), asked(POD, "namespaces", namespace=""), cluster)
    assert selectors_match(label(a="c"), LabelSelector(), asked(POD, "nodes", namespace=""), cluster)


def test_rule_5_new_or_old_object(world: Any, asked: Any) -> None:
    request = asked({"metadata": {"name": "p"}}, operation=Operation.UPDATE, old=POD)
    assert selectors_match(LabelSelector(), label(a="b"), request, world())
    assert not selectors_match(LabelSelector(), label(a="c"), request, world())


def test_rule_6_configurations_are_hidden(asked: Any) -> None:
    assert is_hidden(asked(POD, "validatingadmissionpolicies.admissionregistration.k8s.io"))
    assert not is_hidden(asked(POD))
