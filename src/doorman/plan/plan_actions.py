"""What can be planned, as values: actions upon nodes or objects, each at an instant of a timeline."""

import difflib
from collections.abc import Sequence
from typing import Final

import msgspec

from doorman.api.machinery.label_selectors import parse_selector
from doorman.api.views.nodes import Node
from doorman.scheduler.cache.node_order import natural_order, zone_of
from doorman.semantics.taints.taint_spec import TaintChange

SHOWN_MAX: Final = 5


class PlanError(Exception):
    """Something that cannot be planned; in one line, with a hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class NodeChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes: by name, by label, of a zone, or all. Exactly one way is used."""

    names: tuple[str, ...] = ()
    selector: str = ""
    zone: str = ""
    everything: bool = False


class TaintNodes(msgspec.Struct, frozen=True, kw_only=True):
    """As `kubectl taint nodes` does it."""

    nodes: NodeChoice
    change: TaintChange
    overwrite: bool = False


class DrainNodes(msgspec.Struct, frozen=True, kw_only=True):
    """As `kubectl drain` does it, with every flag that lets it proceed."""

    nodes: NodeChoice


class LoseNodes(msgspec.Struct, frozen=True, kw_only=True):
    """They fall silent: the machines are dead, or the network to them is."""

    nodes: NodeChoice
    seconds: float | None = None
    """After so long they are back; None: never."""


class ApplyObjects(msgspec.Struct, frozen=True, kw_only=True):
    """Created, or changed by server-side apply, as `doorman apply -f` does it."""

    objects: tuple[bytes, ...]
    """As JSON, with apiVersion and kind."""


PlanAction = TaintNodes | DrainNodes | LoseNodes | ApplyObjects


class Step(msgspec.Struct, frozen=True, kw_only=True):
    action: PlanAction
    at_seconds: float = 0.0


def chosen_nodes(choice: NodeChoice, nodes: Sequence[Node]) -> list[Node]:
    """Those that are meant, in the order of their names. Raises `PlanError` when none is, or one is not there."""
    in_order = sorted(nodes, key=lambda node: natural_order(node.metadata.name))
    if choice.names:
        by_name = {node.metadata.name: node for node in in_order}
        for name in choice.names:
            if name not in by_name:
                raise PlanError(f'no node "{name}"', _near(name, list(by_name), "nodes"))
        return [by_name[name] for name in dict.fromkeys(choice.names)]
    if choice.zone:
        return _of_zone(choice.zone, in_order)
    if choice.selector:
        try:
            selector = parse_selector(choice.selector)
        except ValueError as error:
            raise PlanError(f"-l {choice.selector}: {error}", "selectors look like disk=ssd,tier!=web") from error
        found = [node for node in in_order if selector.matches(node.metadata.labels)]
        if not found:
            raise PlanError(f"no node has the labels {choice.selector}", "kubectl get nodes --show-labels shows them")
        return found
    if not choice.everything:
        raise PlanError("no node is named", "name nodes, or choose them by -l, --zone or --all")
    return in_order


def zone_name(node: Node) -> str:
    """`region/zone`, `zone`, or nothing."""
    return "/".join(part for part in zone_of(node.metadata.labels) if part)


def _of_zone(zone: str, nodes: Sequence[Node]) -> list[Node]:
    found = [node for node in nodes if zone in (zone_name(node), zone_of(node.metadata.labels)[1])]
    if not found:
        zones = sorted({zone_name(node) for node in nodes} - {""}, key=natural_order)
        raise PlanError(f'no node is in zone "{zone}"', _near(zone, zones, "zones"))
    return found


def _near(name: str, known: Sequence[str], what: str) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    shown = ", ".join(known[:SHOWN_MAX])
    return f"{what}: {shown}{', …' if len(known) > SHOWN_MAX else ''}" if known else f"there are no {what}"
