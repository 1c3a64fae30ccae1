"""Tolerations, selectors and the nodes that are there: who matches whom, and who lands where."""

from collections.abc import Iterator, Sequence
from typing import Final

from doorman.api.taints import Taint, Toleration
from doorman.lint.lint_documents import LintDocument
from doorman.lint.lint_rule import LintRule, Problem
from doorman.lint.pod_templates import LintedTemplate, shown
from doorman.lint.surroundings import LintedNode, Surroundings, comes_and_goes
from doorman.semantics.taints.matching import tolerates, untolerated_taints

NAMES_SHOWN_MAX: Final = 3


def check_unmatched(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    template = around.template(document)
    if template is None or not around.nodes:
        return
    taints = around.taints
    for one in template.tolerations:
        meant = one.meant
        if not meant.key or comes_and_goes(meant.key) or any(tolerates(meant, taint) for taint in taints):
            continue
        yield Problem(
            one.path, f"{shown(meant)} matches no taint of the {_count(around.nodes, 'node')}{_near(meant, taints)}"
        )


def _near(toleration: Toleration, taints: Sequence[Taint]) -> str:
    same = next((taint for taint in taints if taint.key == toleration.key), None)
    if same is None:
        return ""
    if toleration.effect and toleration.effect != same.effect:
        return f"; there is {same}, of another effect"
    return f"; there is {same}, of another value"


def check_untolerated(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    """Once for each taint, at the first node that has it."""
    if document.kind != "Node" or not around.workloads:
        return
    for taint in around.untolerated_taints.get(document.name, ()):
        nodes = around.standing_taints[taint]
        if nodes[0].document is document:
            yield Problem(
                ("spec", "taints", nodes[0].taints.index(taint)),
                f"no workload tolerates {taint} of {_names(nodes)} ({_count(around.workloads, 'workload')} looked at)",
            )


def check_dedicated(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    template = around.template(document)
    if template is None or template.is_daemon:
        return
    for one in template.tolerations:
        if not one.meant.key or comes_and_goes(one.meant.key) or one.meant.key.startswith("node-role.kubernetes.io/"):
            continue
        if around.nodes:
            elsewhere = _other_nodes(template, one.meant, around)
            if elsewhere:
                yield Problem(
                    one.path, f"tolerates {shown(one.meant)} but may be placed on {_names(elsewhere)} as well"
                )
        elif "dedicated" in one.meant.key.lower() and not template.chooses_nodes:
            yield Problem(
                one.path,
                f"tolerates {shown(one.meant)} but selects no nodes, so it may be placed on any other node as well",
            )


def _other_nodes(template: LintedTemplate, toleration: Toleration, around: Surroundings) -> list[LintedNode]:
    """Where it may go that the taint does not dedicate to anybody, if there are nodes that it does."""
    if not any(tolerates(toleration, taint) for taint in around.standing_taints):
        return []
    meant = template.meant
    return [
        node
        for node in around.chosen_nodes(template)
        if not any(taint.key == toleration.key for taint in node.taints)
        and not untolerated_taints(node.standing, meant)
    ]


def check_unreachable_choice(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    template = around.template(document)
    if template is None or not template.chooses_nodes or template.spec.get("nodeName"):
        return
    chosen, meant = around.chosen_nodes(template), template.meant
    if chosen and all(untolerated_taints(node.standing, meant) for node in chosen):
        taint = untolerated_taints(chosen[0].standing, meant)[0]
        member = "nodeSelector" if template.spec.get("nodeSelector") else "affinity"
        yield Problem(
            (*template.path, member), f"selects only {_names(chosen)}, whose taint {taint} it does not tolerate"
        )


def check_returns(document: LintDocument, around: Surroundings) -> Iterator[Problem]:
    template = around.template(document)
    if template is None or template.kind == "Pod":
        return
    for one in template.tolerations:
        if one.meant.toleration_seconds is None or comes_and_goes(one.meant.key):
            continue
        nodes = [
            node
            for node in around.chosen_nodes(template)
            if any(tolerates(one.meant, taint) and taint.effect == "NoExecute" for taint in node.standing)
            and not untolerated_taints(node.taints, template.meant)
        ]
        if nodes:
            yield Problem(
                one.path,
                f"is evicted from {_names(nodes)} after {one.meant.toleration_seconds}s, and its replacement may be "
                "placed there again",
            )


def _count(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _names(nodes: Sequence[LintedNode]) -> str:
    names = ", ".join(node.name for node in nodes[:NAMES_SHOWN_MAX])
    return names if len(nodes) <= NAMES_SHOWN_MAX else f"{names} and {len(nodes) - NAMES_SHOWN_MAX} more"


RULES: Final = (
    LintRule(
        id="DM001",
        name="unmatched-toleration",
        summary="A toleration that matches no taint here.",
        why="It does nothing: the key, the value or the effect is another one than the nodes have, or the nodes are "
        "gone. "
        "Taints that come and go with a node's state (`node.kubernetes.io/…`, autoscalers') are not expected to be "
        "there.",
        fix="Compare it with `kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints`, then "
        "mend or "
        "remove it.",
        check=check_unmatched,
        needs_nodes=True,
    ),
    LintRule(
        id="DM002",
        name="untolerated-taint",
        summary="A taint that no workload tolerates.",
        why="Nodes with a NoSchedule or NoExecute taint that nobody tolerates stay empty, and cost money. DaemonSets "
        "do not "
        "count: they tolerate everything.",
        fix="Remove the taint, or give the workloads that the nodes are for a toleration.",
        check=check_untolerated,
        needs_nodes=True,
    ),
    LintRule(
        id="DM008",
        name="dedicated-without-affinity",
        summary="Tolerates a dedicated taint, but may be placed elsewhere, too.",
        why="A toleration lets pods onto dedicated nodes and does not lead them there. Without node affinity or a "
        "nodeSelector they end up on ordinary nodes as well. Without nodes to look at, only keys with `dedicated` in "
        "them are reported.",
        fix="Label the dedicated nodes and add a nodeSelector or required node affinity for the label.",
        check=check_dedicated,
    ),
    LintRule(
        id="DM009",
        name="selects-untolerated-nodes",
        summary="Selects only nodes whose taints it does not tolerate.",
        why="The pods stay pending: the nodeSelector or the affinity leaves no node that would take them.",
        fix="Add a toleration for the taint that the message names.",
        check=check_unreachable_choice,
        needs_nodes=True,
    ),
    LintRule(
        id="DM016",
        name="returns-after-eviction",
        summary="Tolerates a standing NoExecute taint for some seconds only.",
        why="tolerationSeconds lets the scheduler place the pod on the tainted node, from which it is evicted when "
        "they are "
        "over; its replacement is placed there again, and so on for ever.",
        fix="Tolerate the taint for good or not at all, or keep new pods off with a NoSchedule taint of another key.",
        check=check_returns,
        needs_nodes=True,
    ),
)  # fmt: skip
