"""Dedicated nodes: whose pods they are for, what those get, and what keeps everybody else out.

Rules
-----
1. The nodes are those that `nodeSelector` selects. Each carries the taint `doorman.dev/dedicated=NAME`, of the effect
   NoSchedule unless NoExecute is asked for.
2. They are for pods in one of `namespaces`, in a namespace that `namespaceSelector` selects, or created by a member of
   one of `groups`.
3. Such a pod gets a toleration of the taint, and must go to those nodes: the selector is added to every term of its
   required node affinity. A pod that several DedicatedNodes are for may go to the nodes of any.
4. Any other pod may not tolerate the taint in whatever words, nor name such a node outright; unless its namespace is
   one of `exemptNamespaces` (kube-system when the field is left out).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from doorman.api.machinery.label_selectors import matches
from doorman.api.taints import Taint, Toleration
from doorman.api.views.doorman_dev import TAINT_KEY, DedicatedNodes
from doorman.api.views.meta import LabelSelector
from doorman.api.well_known import REQUIRED_TERMS
from doorman.semantics.taints.matching import tolerates


def is_for(
    dedicated: DedicatedNodes, *, namespace: str, namespace_labels: Mapping[str, str], groups: Iterable[str]
) -> bool:
    """Rule 2."""
    spec = dedicated.spec
    return (
        namespace in spec.namespaces
        or (spec.namespace_selector is not None and matches(spec.namespace_selector, namespace_labels))
        or any(group in spec.groups for group in groups)
    )


def toleration_for(dedicated: DedicatedNodes) -> Toleration:
    return Toleration(key=TAINT_KEY, operator="Equal", value=dedicated.metadata.name, effect=dedicated.spec.effect)


def with_required_terms(affinity: Mapping[str, Any] | None, dedicated: Sequence[DedicatedNodes]) -> dict[str, Any]:
    """Rule 3: the pod's affinity, bound to the nodes of any of these. Terms are alternatives, so each meets each."""
    affinity = affinity or {}
    node = affinity.get("nodeAffinity") or {}
    own = (node.get(REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or [{}]
    terms = [_joined(term, requirements(one.spec.node_selector)) for term in own for one in dedicated]
    return {**affinity, "nodeAffinity": {**node, REQUIRED_TERMS: {"nodeSelectorTerms": terms}}}


def requirements(selector: LabelSelector) -> list[dict[str, Any]]:
    """A label selector in the words of node affinity."""
    found: list[dict[str, Any]] = [
        {"key": key, "operator": "In", "values": [value]} for key, value in sorted(selector.match_labels.items())
    ]
    for one in selector.match_expressions:
        requirement: dict[str, Any] = {"key": one.key, "operator": one.operator}
        found.append({**requirement, "values": list(one.values)} if one.values else requirement)
    return found


def trespass_or_none(
    dedicated: DedicatedNodes,
    tolerations: Iterable[Toleration],
    *,
    namespace: str,
    node_labels: Mapping[str, str] | None,
) -> Toleration | str | None:
    """Rule 4, for a pod these nodes are not for: the toleration or the word that is in the way."""
    if namespace in dedicated.spec.exempt_namespaces:
        return None
    if node_labels is not None and matches(dedicated.spec.node_selector, node_labels):
        return "nodeName"
    return next((one for one in tolerations if tolerates(one, dedicated.taint, comparison_operators=True)), None)


def wanted_taints(labels: Mapping[str, str], dedicated: Iterable[DedicatedNodes]) -> tuple[Taint, ...]:
    """Rule 1, for one node. One taint of a key and effect has room on a node: the first by name has it."""
    wanted: dict[str, Taint] = {}
    for one in sorted(dedicated, key=lambda found: found.metadata.name):
        if not one.metadata.deletion_timestamp and matches(one.spec.node_selector, labels):
            wanted.setdefault(one.spec.effect, one.taint)
    return tuple(wanted.values())


def _joined(term: Mapping[str, Any], more: list[dict[str, Any]]) -> dict[str, Any]:
    own = list(term.get("matchExpressions") or [])
    return {**term, "matchExpressions": [*own, *(one for one in more if one not in own)]}
