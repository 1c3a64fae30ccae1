"""What an object is held against: the nodes, the workloads and the budgets that are known."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec

from doorman.api.taints import Taint
from doorman.lint.lint_documents import LintDocument, mapping, sequence
from doorman.lint.pod_templates import LintedTemplate, taint_of, template_or_none
from doorman.semantics.taints.matching import NO_ADMITTANCE

OWN_PREFIXES: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Taints that come and go with a node's state."""
_COME_AND_GO: Final = frozenset(
    (
        "ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "CriticalAddonsOnly",
        "karpenter.sh/disrupted", "karpenter.sh/unregistered", "karpenter.sh/disruption",
        "node.cluster.x-k8s.io/uninitialized", "aws-node-termination-handler/spot-itn",
    )
)  # fmt: skip


class LintedNode(msgspec.Struct, frozen=True, kw_only=True):
    document: LintDocument
    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]

    @property
    def standing(self) -> tuple[Taint, ...]:
        """Taints that somebody has put there to keep pods off, and that stay."""
        return tuple(one for one in self.taints if one.effect in NO_ADMITTANCE and not comes_and_goes(one.key))


def comes_and_goes(key: str) -> bool:
    """Whether such a taint is a state of the node rather than a decision of somebody's."""
    return key.startswith(OWN_PREFIXES) or key in _COME_AND_GO


class Surroundings:
    """All documents that are known, also those that are not linted themselves."""

    def __init__(self, documents: Iterable[LintDocument]) -> None:
        self.documents: Sequence[LintDocument] = tuple(documents)

    @cached_property
    def nodes(self) -> Sequence[LintedNode]:
        return [_node(one) for one in self.documents if one.kind == "Node" and not one.group]

    @cached_property
    def templates(self) -> Sequence[LintedTemplate]:
        found = (template_or_none(one) for one in self.documents)
        return [one for one in found if one is not None]

    @cached_property
    def keys_on_nodes(self) -> frozenset[str]:
        return frozenset(taint.key for node in self.nodes for taint in node.taints)

    @cached_property
    def standing_taints(self) -> Mapping[Taint, Sequence[LintedNode]]:
        """Each with its nodes."""
        found: dict[Taint, list[LintedNode]] = {}
        for node in self.nodes:
            for taint in node.standing:
                found.setdefault(taint, []).append(node)
        return found


def _node(document: LintDocument) -> LintedNode:
    taints = sequence(mapping(document.value.get("spec")).get("taints"))
    labels = {str(key): str(value) for key, value in mapping(document.metadata.get("labels")).items()}
    # kubelets give every node its name as a label; manifests that are written by hand leave it out
    labels.setdefault("kubernetes.io/hostname", document.name)
    return LintedNode(
        document=document,
        name=document.name,
        labels=labels,
        taints=tuple(taint_of(one) for one in taints if isinstance(one, Mapping)),
    )
