"""What an object is held against: the nodes, the workloads and the budgets that are known."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec

from doorman.api.taints import Taint
from doorman.lint.lint_documents import LintDocument, mapping, sequence
from doorman.lint.pod_templates import REPLICATED, LintedTemplate, taint_of, template_or_none
from doorman.semantics.pods.node_selectors import selects_node
from doorman.semantics.taints.matching import NO_ADMITTANCE, is_tolerated

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
        self._templates: dict[int, LintedTemplate | None] = {}
        """By the document's identity: every rule asks for it."""
        self._chosen: dict[bytes, Sequence[LintedNode]] = {}

    def template(self, document: LintDocument) -> LintedTemplate | None:
        """The pods that one of the documents describes."""
        if id(document) not in self._templates:
            self._templates[id(document)] = template_or_none(document)
        return self._templates[id(document)]

    def chosen_nodes(self, template: LintedTemplate) -> Sequence[LintedNode]:
        """Those that its nodeSelector and its required affinity accept. Many templates choose alike."""
        key = msgspec.json.encode(template.placement)
        if key not in self._chosen:
            placement = template.placement
            self._chosen[key] = [node for node in self.nodes if selects_node(placement, node.labels, node.name)]
        return self._chosen[key]

    @cached_property
    def nodes(self) -> Sequence[LintedNode]:
        return [_node(one) for one in self.documents if one.kind == "Node" and not one.group]

    @cached_property
    def templates(self) -> Sequence[LintedTemplate]:
        found = (self.template(one) for one in self.documents)
        return [one for one in found if one is not None]

    @cached_property
    def taints(self) -> Sequence[Taint]:
        """Of all nodes, each once."""
        return list(dict.fromkeys(taint for node in self.nodes for taint in node.taints))

    @cached_property
    def untolerated_taints(self) -> Mapping[str, Sequence[Taint]]:
        """Standing taints that no workload but DaemonSets tolerates, by the name of the first node that has them."""
        found: dict[str, list[Taint]] = {}
        for taint, nodes in self.standing_taints.items():
            if not any(is_tolerated(taint, one.meant) for one in self.workloads):
                found.setdefault(nodes[0].name, []).append(taint)
        return found

    @cached_property
    def workloads(self) -> Sequence[LintedTemplate]:
        """Without DaemonSets."""
        return [one for one in self.templates if not one.is_daemon]

    @cached_property
    def replicated(self) -> Mapping[str, Sequence[LintedTemplate]]:
        """Workloads with replicas, by namespace."""
        found: dict[str, list[LintedTemplate]] = {}
        for one in self.templates:
            if one.kind in REPLICATED:
                found.setdefault(one.document.namespace, []).append(one)
        return found

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
