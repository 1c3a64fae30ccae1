"""An explanation as text: for three nodes and for five thousand.

Nodes that refuse the pod for the same things are told together, the nearest misses first; missing tolerations come as
YAML, ready to paste.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from doorman.scheduler.explain.explanation import Explanation, Group, NodeVerdict, Objection

GROUPS_MAX: Final = 10
NODES_SCORED_MAX: Final = 10


def explanation_text(explanation: Explanation) -> str:
    """Lines for people, without colour."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(explanation: Explanation) -> Iterator[str]:
    yield f"pod {explanation.pod}: {_headline(explanation)}"
    if explanation.message:
        yield f"  {explanation.message}"
    if explanation.feasible_nodes:
        yield from _score_lines(explanation)
    if explanation.groups:
        refusing = sum(group.count for group in explanation.groups)
        yield f"{refusing} of {refusing + explanation.feasible_nodes} nodes refuse it:"
        for group in explanation.groups[:GROUPS_MAX]:
            yield from _group_lines(group)
        rest = explanation.groups[GROUPS_MAX:]
        if rest:
            yield f"  and {sum(group.count for group in rest)} more nodes for {len(rest)} other combinations of reasons"


def _headline(explanation: Explanation) -> str:
    match explanation.state:
        case "Unknown":
            return f"left to the scheduler {explanation.profile}"
        case "Bound":
            return f"bound to {explanation.bound_to}"
        case "Gated":
            return "not tried yet"
        case "Schedulable":
            return f"would go to {explanation.best}"
        case _:
            return "fits on no node"


def _score_lines(explanation: Explanation) -> Iterator[str]:
    fitting = sorted((node for node in explanation.nodes if node.fits), key=lambda node: -node.total)
    yield f"{len(fitting)} node{'' if len(fitting) == 1 else 's'} would take it, best first:"
    for node in fitting[:NODES_SCORED_MAX]:
        mark = " (it is here)" if node.node == explanation.bound_to else ""
        yield f"  {node.total:>5}  {node.node}{mark}  {_score_parts(node)}"
    if len(fitting) > NODES_SCORED_MAX:
        yield f"         and {len(fitting) - NODES_SCORED_MAX} more"
    if explanation.lead:
        parts = [f"{part.plugin} {part.weight * part.score:+d}" for part in explanation.lead]
        yield f"  {explanation.best} beats {explanation.runner_up} by {', '.join(parts)}"


def _score_parts(node: NodeVerdict) -> str:
    return "  ".join(f"{part.plugin} {part.score}x{part.weight}" for part in node.scores if part.score)


def _group_lines(group: Group) -> Iterator[str]:
    counted = f"  {group.count} {'node' if group.count == 1 else 'nodes'}"
    more = f" and {group.count - len(group.nodes)} more" if group.count > len(group.nodes) else ""
    yield f"{counted}: {', '.join(group.nodes)}{more}" if group.nodes else counted
    for objection in group.objections:
        yield f"    {_objection_text(objection)}"
    if group.tolerations:
        yield "    these tolerations would let it in:"
        yield from (f"      {line}" for line in _yaml(group.tolerations))


def _objection_text(objection: Objection) -> str:
    detail = f": {objection.what}" if objection.what else ""
    return f"{objection.plugin}: {objection.reason}{detail}"


def _yaml(tolerations: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "tolerations:"
    for toleration in tolerations:
        marks = ["- "] + ["  "] * (len(toleration) - 1)
        for mark, (key, value) in zip(marks, toleration.items(), strict=True):
            yield f'{mark}{key}: "{value}"' if key == "value" else f"{mark}{key}: {value}"
