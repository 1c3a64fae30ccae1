"""Which nodes a node selector means: `nodeSelector`, required and preferred node affinity.

Rules
-----
1. `nodeSelector`: every label must be there with that value.
2. Terms are alternatives: one that matches is enough; no terms at all match nothing.
3. Inside a term every expression and every field must match; an empty term matches nothing.
4. `In` needs the label with one of the values.
5. `NotIn` is also true of an absent label.
6. `Exists` and `DoesNotExist` ask only for the label.
7. `Gt` and `Lt` compare label and value as 64-bit integers; what is no number never matches.
8. `matchFields` knows only `metadata.name`, with `In` or `NotIn` and exactly one value.
9. A term that cannot be read (unknown operator, wrong number of values, unknown field) does not match.
10. A pod's own rule is nodeSelector and required affinity together.
11. A preferred term counts its weight where it matches; weight 0 and empty terms are passed over.
12. Where every required term pins names by `In`, only those nodes can match: the names each term asks for,
    all its name fields together, of all terms.

A requirement is matched against one label's value at a time (`requirement_matches`), so that callers with many nodes
can ask once per distinct value.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from doorman.api.machinery.label_selectors import integer_or_none
from doorman.api.views.pods import Affinity, NodeSelectorRequirement, NodeSelectorTerm, PodSpec

NAME_FIELD: Final = "metadata.name"


def requirement_matches(requirement: NodeSelectorRequirement, value: str | None) -> bool:
    """Rules 4 to 7, for the label's value on a node (None: the node has no such label).

    >>> requirement_matches(NodeSelectorRequirement(key="cores", operator="Gt", values=("8",)), "16")
    True
    """
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(requirement, value)
        case _:
            return False


def field_matches(requirement: NodeSelectorRequirement, node_name: str) -> bool:
    """Rule 8."""
    return requirement.key == NAME_FIELD and requirement_matches(requirement, node_name)


def is_readable(term: NodeSelectorTerm) -> bool:
    """Rule 9, and rule 3 for the empty term."""
    if not term.match_expressions and not term.match_fields:
        return False
    return all(map(_expression_is_readable, term.match_expressions)) and all(
        field.key == NAME_FIELD and field.operator in ("In", "NotIn") and len(field.values) == 1
        for field in term.match_fields
    )


def term_matches(term: NodeSelectorTerm, labels: Mapping[str, str], node_name: str) -> bool:
    """Rule 3."""
    return (
        is_readable(term)
        and all(requirement_matches(expression, labels.get(expression.key)) for expression in term.match_expressions)
        and all(field_matches(field, node_name) for field in term.match_fields)
    )


def required_terms_or_none(affinity: Affinity | None) -> Sequence[NodeSelectorTerm] | None:
    """The terms of required node affinity; None when the pod has none, which is not the same as an empty list."""
    if affinity is None or affinity.node_affinity is None:
        return None
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    return None if required is None else required.node_selector_terms


def selects_node(spec: PodSpec, labels: Mapping[str, str], node_name: str) -> bool:
    """Rule 10: whether the pod's nodeSelector and required affinity accept a node."""
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    terms = required_terms_or_none(spec.affinity)
    return terms is None or any(term_matches(term, labels, node_name) for term in terms)


def preference_weight(spec: PodSpec, labels: Mapping[str, str], node_name: str) -> int:
    """Rule 11: the summed weight of the preferred terms that match."""
    if spec.affinity is None or spec.affinity.node_affinity is None:
        return 0
    preferred = spec.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    return sum(term.weight for term in preferred if term_matches(term.preference, labels, node_name))


def pinned_names_or_none(spec: PodSpec) -> frozenset[str] | None:
    """Rule 12: the only names that can match, or None when any node might. An empty set contradicts itself."""
    terms = required_terms_or_none(spec.affinity)
    if not terms:
        return None
    names: set[str] = set()
    for term in terms:
        pinned: set[str] | None = None
        for field in term.match_fields:
            if field.key == NAME_FIELD and field.operator == "In":
                pinned = set(field.values) if pinned is None else pinned & set(field.values)
        if pinned is None:
            return None
        names |= pinned
    return frozenset(names)


def _expression_is_readable(expression: NodeSelectorRequirement) -> bool:
    match expression.operator:
        case "In" | "NotIn":
            return bool(expression.values)
        case "Exists" | "DoesNotExist":
            return not expression.values
        case "Gt" | "Lt":
            return len(expression.values) == 1 and integer_or_none(expression.values[0]) is not None
        case _:
            return False


def _compares(requirement: NodeSelectorRequirement, value: str) -> bool:
    found = integer_or_none(value)
    bound = integer_or_none(requirement.values[0]) if len(requirement.values) == 1 else None
    if found is None or bound is None:
        return False
    return found > bound if requirement.operator == "Gt" else found < bound
