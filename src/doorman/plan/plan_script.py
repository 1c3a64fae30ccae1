"""A timeline in YAML: steps, each with its time and one action.

apiVersion: doorman.dev/v1alpha1
kind: Script
steps:
- at: 0s
  taint: {nodes: [node-1], taints: ["maintenance:NoExecute"]}
- at: 5m
  lose: {zone: b, for: 10m}
- at: 20m
  drain: {selector: "disk=old"}
- at: 30m
  apply: more-replicas.yaml
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import yaml

from doorman.api.well_known import FILES_API_VERSION
from doorman.base.durations import parse_duration
from doorman.base.json_types import Document
from doorman.plan.plan_actions import (
    ApplyObjects,
    DrainNodes,
    LoseNodes,
    NodeChoice,
    PlanAction,
    PlanError,
    Step,
    TaintNodes,
)
from doorman.semantics.taints.taint_spec import (
    TaintCommandError,
    TaintSpecError,
    check_conflicts,
    parse_taint_change,
)

KIND: Final = "Script"
HINT: Final = "docs/plan.md shows a script"

ReadManifests = Callable[[str], list[Document]]
"""From a file's name, as the script has it, to the objects in it."""


def parse_script(text: str, source: str, manifests: ReadManifests) -> list[Step]:
    """Raises `PlanError`."""
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PlanError(f"{source} is no YAML: {' '.join(str(error).split())}", HINT) from error
    if not isinstance(found, dict) or (found.get("apiVersion"), found.get("kind")) != (FILES_API_VERSION, KIND):
        raise PlanError(f"{source} is no script: want kind {KIND} of {FILES_API_VERSION}", HINT)
    steps = found.get("steps")
    if not isinstance(steps, list) or not steps:
        raise PlanError(f"{source} has no steps", HINT)
    return [_step(step, f"{source}: step {number}", manifests) for number, step in enumerate(steps, start=1)]


def taint_action(choice: NodeChoice, specs: list[str], *, overwrite: bool) -> TaintNodes:
    """From arguments as kubectl taint takes them. Raises `PlanError`."""
    try:
        change = parse_taint_change(specs)
        check_conflicts(change)
    except (TaintSpecError, TaintCommandError) as error:
        raise PlanError(str(error), "taints look like KEY=VALUE:EFFECT, and KEY:EFFECT- takes one away") from error
    return TaintNodes(nodes=choice, change=change, overwrite=overwrite)


def seconds_of(text: Any, what: str) -> float:  # a member of the script, or a flag
    """A duration that is not negative. Raises `PlanError`."""
    try:
        seconds = parse_duration(str(text))
    except ValueError as error:
        raise PlanError(f"{what}: {error}", 'durations look like "50s", "1m30s" or "2h"') from error
    if seconds < 0:
        raise PlanError(f"{what}: {text} lies in the past", "times count from the beginning of the plan")
    return seconds


def _step(step: Any, where: str, manifests: ReadManifests) -> Step:  # a member of the list
    if not isinstance(step, dict):
        raise PlanError(f"{where} is no step", HINT)
    verbs = [verb for verb in step if verb != "at"]
    if len(verbs) != 1 or verbs[0] not in _VERBS:
        raise PlanError(f"{where} wants one of {', '.join(_VERBS)}", HINT)
    at_seconds = seconds_of(step.get("at", "0s"), where)
    return Step(action=_VERBS[verbs[0]](step[verbs[0]], where, manifests), at_seconds=at_seconds)


def _taint(given: Any, where: str, _: ReadManifests) -> PlanAction:  # the value of the verb
    members = _members(given, where, ("taints", "overwrite"))
    specs = members.get("taints") or []
    if not isinstance(specs, list) or not specs:
        raise PlanError(f"{where} names no taints", HINT)
    return taint_action(
        _choice(members, where), [str(spec) for spec in specs], overwrite=bool(members.get("overwrite"))
    )


def _drain(given: Any, where: str, _: ReadManifests) -> PlanAction:  # the value of the verb
    return DrainNodes(nodes=_choice(_members(given, where), where))


def _lose(given: Any, where: str, _: ReadManifests) -> PlanAction:  # the value of the verb
    members = _members(given, where, ("for",))
    seconds = seconds_of(members["for"], where) if "for" in members else None
    return LoseNodes(nodes=_choice(members, where), seconds=seconds)


def _apply(given: Any, where: str, manifests: ReadManifests) -> PlanAction:  # the value of the verb
    if not isinstance(given, str):
        raise PlanError(f"{where} wants the name of a file to apply", HINT)
    return ApplyObjects(objects=tuple(msgspec.json.encode(doc) for doc in manifests(given)))


_VERBS: Final[Mapping[str, Callable[[Any, str, ReadManifests], PlanAction]]] = {
    "taint": _taint,
    "drain": _drain,
    "lose": _lose,
    "apply": _apply,
}


def _members(given: Any, where: str, more: tuple[str, ...] = ()) -> Mapping[str, Any]:  # the value of a verb
    known = ("nodes", "selector", "zone", "all", *more)
    if not isinstance(given, dict) or any(member not in known for member in given):
        raise PlanError(f"{where} wants members among {', '.join(known)}", HINT)
    return given


def _choice(members: Mapping[str, Any], where: str) -> NodeChoice:
    names = members.get("nodes") or []
    if not isinstance(names, list):
        raise PlanError(f"{where} wants a list of nodes", HINT)
    return one_choice(
        names=tuple(map(str, names)),
        selector=str(members.get("selector", "")),
        zone=str(members.get("zone", "")),
        everything=members.get("all") is True,
        where=f"{where}: ",
    )


def one_choice(
    *, names: tuple[str, ...] = (), selector: str = "", zone: str = "", everything: bool = False, where: str = ""
) -> NodeChoice:
    """Nodes are chosen in one way. Raises `PlanError`."""
    ways = sum(map(bool, (names, selector, zone, everything)))
    if ways != 1:
        told = "no nodes are chosen" if ways == 0 else "nodes are chosen in more than one way"
        raise PlanError(where + told, "by name, by a selector, by a zone, or all of them")
    return NodeChoice(names=names, selector=selector, zone=zone, everything=everything)
