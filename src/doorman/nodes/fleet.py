"""A configuration of nodes: named profiles, and how many of which.

    profiles:
      small: {capacity: {cpu: "2"}, zone: a}
      flaky: {script: "silent 30s-90s"}
    nodes:
      - {profile: small, count: 3}
      - {profile: flaky, name: odd-one}

Nodes without a name are called `node-1`, `node-2` and so on, through all entries.
"""

from typing import Any

import msgspec

from doorman.base.clock import Instant
from doorman.nodes.health import ScriptError, parse_script
from doorman.nodes.profile import NodeProfile, simulated_node

COUNT_MAX = 100_000


class FleetError(ValueError):
    """A configuration that makes no sense; the text says where and why."""


class FleetEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    profile: str = ""
    """Empty: the default profile."""
    count: int = 1
    name: str = ""
    """For a single node; otherwise `prefix` and a number."""
    prefix: str = "node-"


class Fleet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    profiles: dict[str, NodeProfile] = {}
    nodes: tuple[FleetEntry, ...] = ()


def parse_fleet(document: Any) -> Fleet:  # what a YAML file held
    """Raises FleetError.

    >>> parse_fleet({"nodes": [{"profile": "large"}]})
    Traceback (most recent call last):
    ...
    doorman.nodes.fleet.FleetError: nodes[0].profile: there is no profile "large"
    """
    try:
        fleet = msgspec.convert(document or {}, Fleet)
    except msgspec.ValidationError as error:
        raise FleetError(str(error)) from None
    for name, profile in fleet.profiles.items():
        try:
            parse_script(profile.script)
        except ScriptError as error:
            raise FleetError(f"profiles.{name}.script: {error}") from None
    for at, entry in enumerate(fleet.nodes):
        if entry.profile and entry.profile not in fleet.profiles:
            raise FleetError(f'nodes[{at}].profile: there is no profile "{entry.profile}"')
        if not 0 <= entry.count <= COUNT_MAX:
            raise FleetError(f"nodes[{at}].count: want 0 to {COUNT_MAX}")
        if entry.name and entry.count != 1:
            raise FleetError(f"nodes[{at}].name: only a single node can have a name of its own")
    names = [name for name, _ in fleet_nodes(fleet)]
    twice = next((name for name in names if names.count(name) > 1), None) if len(names) < 1000 else None
    if twice is not None:
        raise FleetError(f'nodes: "{twice}" is named twice')
    return fleet


def fleet_nodes(fleet: Fleet) -> list[tuple[str, NodeProfile]]:
    """Every node's name and profile."""
    found: list[tuple[str, NodeProfile]] = []
    numbers: dict[str, int] = {}
    for entry in fleet.nodes:
        profile = fleet.profiles.get(entry.profile, NodeProfile())
        for _ in range(entry.count):
            if entry.name:
                found.append((entry.name, profile))
                continue
            numbers[entry.prefix] = numbers.get(entry.prefix, 0) + 1
            found.append((f"{entry.prefix}{numbers[entry.prefix]}", profile))
    return found


def fleet_manifests(fleet: Fleet, *, now: Instant | None = None) -> list[dict[str, Any]]:
    return [simulated_node(name, profile, now=now) for name, profile in fleet_nodes(fleet)]
