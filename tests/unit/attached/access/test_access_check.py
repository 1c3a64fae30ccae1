"""Which rights a component needs."""

import pytest

from doorman.attached.access.access_check import Right, in_order, in_words, rights_of_election, rights_of_rules
from doorman.attached.component_settings import ElectionSettings
from doorman.runtime.defaults.role_table import parse_rule


@pytest.mark.parametrize(
    ("rule", "rights"),
    [
        ("read :pods", [Right("", "pods", verb) for verb in ("get", "list", "watch")]),
        ("update apps,extensions:daemonsets/status", [Right("apps", "daemonsets/status", "update")]),
        ("get coordination.k8s.io:leases#a,b", [Right("coordination.k8s.io", "leases", "get", n) for n in "ab"]),
        ("create coordination.k8s.io:leasecandidates", []),
        ("get /healthz", []),
    ],
)
def test_rights_of_a_rule(rule: str, rights: list[Right]) -> None:
    assert in_order(rights_of_rules([parse_rule(rule)])) == tuple(rights)


def test_attributes_name_the_subresource() -> None:
    assert Right("apps", "daemonsets/status", "update").attributes() == {
        "group": "apps",
        "resource": "daemonsets",
        "subresource": "status",
        "verb": "update",
    }


def test_who_elects_nobody_needs_no_lease() -> None:
    assert list(rights_of_election(ElectionSettings(is_on=False))) == []
    names = {(right.verb, right.name) for right in rights_of_election(ElectionSettings(name="l"))}
    assert names == {("create", ""), ("get", "l"), ("update", "l")}


def test_words_gather_verbs() -> None:
    missing = [Right("", "pods", "list"), Right("", "pods", "watch"), Right("", "leases", "get", "l", "kube-system")]
    assert list(in_words("u", missing)) == [
        'u: verbs ["list","watch"] on pods',
        'u: verbs ["get"] on leases "l" in kube-system',
    ]
