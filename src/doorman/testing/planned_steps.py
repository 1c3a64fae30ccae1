"""What a test wants planned, in the words of `doorman plan`."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from doorman.base.durations import parse_duration
from doorman.plan.plan_actions import ApplyObjects, DrainNodes, LoseNodes, NodeChoice, PlanAction, Step, TaintNodes
from doorman.semantics.taints.taint_spec import check_conflicts, parse_taint_change, split_arguments


def planned_steps(
    verb: str, arguments: tuple[str, ...], manifests: Iterable[Mapping[str, Any]], options: Mapping[str, Any]
) -> list[Step]:
    """One step, now. Raises ValueError."""
    known = {"taint": {"overwrite"}, "drain": set(), "lose": {"span"}, "apply": set()}.get(verb)
    if known is None:
        raise ValueError(f'"{verb}" cannot be planned; hint: taint, drain, lose or apply')
    extra = {name for name, value in options.items() if value} - known - {"zone", "selector"}
    if extra:
        raise ValueError(f"{min(extra)} is nothing that {verb} takes")
    return [Step(action=_action(verb, arguments, manifests, options))]


def _action(
    verb: str, arguments: tuple[str, ...], manifests: Iterable[Mapping[str, Any]], options: Mapping[str, Any]
) -> PlanAction:
    if verb == "apply":
        return ApplyObjects(objects=tuple(msgspec.json.encode(one) for one in manifests))
    names, specs = split_arguments(arguments) if verb == "taint" else (list(arguments), [])
    nodes = NodeChoice(names=tuple(names), selector=options["selector"], zone=options["zone"])
    if sum(map(bool, (nodes.names, nodes.selector, nodes.zone))) != 1:
        raise ValueError("which nodes? hint: names, or selector=, or zone=")
    match verb:
        case "taint":
            change = parse_taint_change(specs)
            check_conflicts(change)
            return TaintNodes(nodes=nodes, change=change, overwrite=options["overwrite"])
        case "drain":
            return DrainNodes(nodes=nodes)
        case _:
            return LoseNodes(nodes=nodes, seconds=parse_duration(options["span"]) if options["span"] else None)
