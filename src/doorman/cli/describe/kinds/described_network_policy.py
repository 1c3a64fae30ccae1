"""NetworkPolicies as kubectl describes them: which traffic they let pass."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from doorman.base.instants import from_time
from doorman.cli.describe.description import NOTHING, Description, Doc, selector_text
from doorman.cli.describe.related_objects import RelatedObjects

_EVERY_POD: Final = "<none> (Allowing the specific traffic to all pods in this namespace)"


class _Direction(msgspec.Struct, frozen=True):
    name: str
    rules: str
    peers: str
    word: str
    """Of a peer's side: `From`, `To`."""

    end: str


_DIRECTIONS: Final = (
    _Direction("Ingress", "ingress", "from", "From", "source"),
    _Direction("Egress", "egress", "to", "To", "destination"),
)


def describe_network_policy(out: Description, doc: Doc, _related: RelatedObjects) -> None:
    metadata, spec = doc["metadata"], doc.get("spec") or {}
    out.pair("Name", metadata["name"])
    out.pair("Namespace", metadata.get("namespace", ""))
    created = datetime.fromtimestamp(from_time(metadata["creationTimestamp"]), UTC).astimezone()
    out.pair("Created on", created.strftime("%Y-%m-%d %H:%M:%S %z %Z"))
    out.labels("Labels", metadata.get("labels"))
    out.annotations(metadata.get("annotations"))
    out.line("Spec:")
    selector = spec.get("podSelector") or {}
    is_narrow = selector.get("matchLabels") or selector.get("matchExpressions")
    out.line(f"PodSelector:     {selector_text(selector) if is_narrow else _EVERY_POD}", 1)
    types = spec.get("policyTypes") or ()
    for direction in _DIRECTIONS:
        word = direction.name.lower()
        if direction.name in types:
            out.line(f"Allowing {word} traffic:", 1)
            _describe_rules(out, direction, spec.get(direction.rules) or ())
        else:
            out.line(f"Not affecting {word} traffic", 1)
    out.line(f"Policy Types: {', '.join(types) or NOTHING}", 1)


def _describe_rules(out: Description, direction: _Direction, rules: Sequence[Doc]) -> None:
    if not rules:
        out.line(f"<none> (Selected pods are isolated for {direction.name.lower()} connectivity)", 2)
    for number, rule in enumerate(rules):
        if number:
            out.line("----------", 2)
        if not rule.get("ports"):
            out.line("To Port: <any> (traffic allowed to all ports)", 2)
        for port in rule.get("ports") or ():
            out.line(_port_text(port), 2)
        if not rule.get(direction.peers):
            out.line(f"{direction.word}: <any> (traffic not restricted by {direction.end})", 2)
        for peer in rule.get(direction.peers) or ():
            out.line(f"{direction.word}:", 2)
            _describe_peer(out, peer)


def _port_text(port: Doc) -> str:
    protocol, number = port.get("protocol", "TCP"), port.get("port", "<nil>")
    if port.get("endPort") is not None:
        return f"To Port Range: {number}-{port['endPort']}/{protocol}"
    return f"To Port: {number}/{protocol}"


def _describe_peer(out: Description, peer: Doc) -> None:
    for title, field in (("NamespaceSelector", "namespaceSelector"), ("PodSelector", "podSelector")):
        if peer.get(field) is not None:
            out.line(f"{title}: {selector_text(peer[field])}", 3)
    block = peer.get("ipBlock")
    if block is not None and peer.get("podSelector") is None and peer.get("namespaceSelector") is None:
        out.line("IPBlock:", 3)
        out.line(f"CIDR: {block.get('cidr', '')}", 4)
        out.line(f"Except: {', '.join(block.get('except') or ())}", 4)
