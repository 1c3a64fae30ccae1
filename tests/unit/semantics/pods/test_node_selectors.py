"""Node selectors against labels and names: one row a rule."""

import pytest

from doorman.api.views.pods import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
)
from doorman.semantics.pods.node_selectors import pinned_names_or_none, preference_weight, selects_node


def need(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def term(*expressions: NodeSelectorRequirement, fields: tuple[NodeSelectorRequirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=expressions, match_fields=fields)


def name(operator: str, *values: str) -> NodeSelectorTerm:
    return term(fields=(need("metadata.name", operator, *values),))


def required(*terms: NodeSelectorTerm, selector: dict[str, str] | None = None) -> PodSpec:
    affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=terms))
    return PodSpec(affinity=Affinity(node_affinity=affinity), node_selector=selector or {})


LABELS = {"zone": "a", "cores": "16", "empty": ""}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(PodSpec(), True, id="no-rule-accepts"),
        pytest.param(PodSpec(node_selector={"zone": "a"}), True, id="rule-1-label-equal"),
        pytest.param(PodSpec(node_selector={"zone": "a", "disk": "ssd"}), False, id="rule-1-one-missing"),
        pytest.param(PodSpec(node_selector={"disk": ""}), False, id="rule-1-absent-is-not-empty"),
        pytest.param(required(), False, id="rule-2-no-terms"),
        pytest.param(required(term(need("zone", "In", "b")), term(need("zone", "In", "a"))), True, id="rule-2-or"),
        pytest.param(required(term()), False, id="rule-3-empty-term"),
        pytest.param(required(term(need("zone", "In", "a"), need("cores", "Lt", "8"))), False, id="rule-3-and"),
        pytest.param(required(term(need("zone", "In", "b", "a"))), True, id="rule-4-in"),
        pytest.param(required(term(need("disk", "In", ""))), False, id="rule-4-absent"),
        pytest.param(required(term(need("disk", "NotIn", "ssd"))), True, id="rule-5-absent"),
        pytest.param(required(term(need("zone", "NotIn", "a"))), False, id="rule-5-present"),
        pytest.param(required(term(need("empty", "Exists"))), True, id="rule-6-exists"),
        pytest.param(required(term(need("empty", "DoesNotExist"))), False, id="rule-6-does-not-exist"),
        pytest.param(required(term(need("cores", "Gt", "15"))), True, id="rule-7-greater"),
        pytest.param(required(term(need("cores", "Gt", "16"))), False, id="rule-7-equal-is-not-greater"),
        pytest.param(required(term(need("zone", "Lt", "99"))), False, id="rule-7-no-number"),
        pytest.param(required(name("In", "n1")), True, id="rule-8-name"),
        pytest.param(required(name("NotIn", "n1")), False, id="rule-8-not-name"),
        pytest.param(required(term(need("zone", "Near", "a"))), False, id="rule-9-unknown-operator"),
        pytest.param(required(term(need("zone", "NotIn"))), False, id="rule-9-no-values"),
        pytest.param(required(term(need("zone", "Exists", "x"))), False, id="rule-9-values-for-exists"),
        pytest.param(required(name("In", "n1", "n2")), False, id="rule-9-two-names"),
        pytest.param(required(term(fields=(need("metadata.uid", "In", "n1"),))), False, id="rule-9-unknown-field"),
        pytest.param(required(term(need("zone", "In", "a")), selector={"zone": "b"}), False, id="rule-10-both"),
    ],
)
def test_selects_node_follows_the_rules(spec: PodSpec, expected: bool) -> None:
    assert selects_node(spec, LABELS, "n1") is expected


def test_preference_weight_sums_matching_terms_rule_11() -> None:
    preferred = tuple(
        PreferredSchedulingTerm(weight=weight, preference=preference)
        for weight, preference in (
            (10, term(need("zone", "In", "a"))),
            (7, term(need("zone", "In", "b"))),
            (5, term()),
            (3, term(need("cores", "Exists"))),
        )
    )
    spec = PodSpec(
        affinity=Affinity(node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=preferred))
    )
    assert preference_weight(spec, LABELS, "n1") == 13
    assert preference_weight(PodSpec(), LABELS, "n1") == 0


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(PodSpec(), None, id="rule-12-no-affinity"),
        pytest.param(required(), None, id="rule-12-no-terms"),
        pytest.param(required(name("In", "n1"), name("In", "n2")), {"n1", "n2"}, id="rule-12-names-of-all-terms"),
        pytest.param(required(name("In", "n1"), term(need("zone", "Exists"))), None, id="rule-12-one-term-open"),
        pytest.param(required(name("NotIn", "n1")), None, id="rule-12-not-in-pins-nothing"),
        pytest.param(
            required(term(fields=(need("metadata.name", "In", "n1"), need("metadata.name", "In", "n2")))),
            set(),
            id="rule-12-contradiction",
        ),
    ],
)
def test_pinned_names_are_found(spec: PodSpec, expected: set[str] | None) -> None:
    assert pinned_names_or_none(spec) == expected
