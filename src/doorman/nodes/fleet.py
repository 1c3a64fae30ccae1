"""A configuration of nodes: named profiles, and how many of which.

    profiles:
      small: {capacity: {cpu: "2"}, zone: a}
      flaky: {script: "silent 30s-90s"}
    nodes:
      - {profile: small, count: 3}
      - {profile: flaky, name: odd-one}

Nodes without a name are called `node-1`, `node-2` and so on, through all entries.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import msgspec

from doorman.api.machinery.quantity import QuantityError, parse_quantity
from doorman.base.clock import Instant
from doorman.base.durations import parse_duration
from doorman.nodes.devices.simulated_devices import parse_devices
from doorman.nodes.node_annotations import SIMULATED, node_annotation_errors, parse_seconds
from doorman.nodes.profile import NodeProfile, profile_taint, simulated_node
from doorman.nodes.status.simulated_health import health_at, parse_conditions, parse_script
from doorman.semantics.name_syntax import subdomain_faults
from doorman.validation.context import Context
from doorman.validation.core.node_rules import validate_node_create

NODES_DEFAULT: Final = 3
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
            check_profile(profile)
        except FleetError as error:
            raise FleetError(f"profiles.{name}.{error}") from None
    for at, entry in enumerate(fleet.nodes):
        if entry.profile and entry.profile not in fleet.profiles:
            raise FleetError(f'nodes[{at}].profile: there is no profile "{entry.profile}"')
        if not 0 <= entry.count <= COUNT_MAX:
            raise FleetError(f"nodes[{at}].count: want 0 to {COUNT_MAX}")
        if entry.name and entry.count != 1:
            raise FleetError(f"nodes[{at}].name: only a single node can have a name of its own")
        spelt = ("name", entry.name) if entry.name else ("prefix", f"{entry.prefix}1")
        if faults := subdomain_faults(spelt[1]):
            raise FleetError(f'nodes[{at}].{spelt[0]}: "{spelt[1]}" is no name for a node: {faults[0]}')
    times = Counter(name for name, _ in fleet_nodes(fleet))
    twice = next((name for name, count in times.items() if count > 1), None)
    if twice is not None:
        raise FleetError(f'nodes: "{twice}" is named twice')
    return fleet


def check_profile(profile: NodeProfile) -> None:
    """Raises FleetError, whose text begins with the field that makes no sense.

    >>> check_profile(NodeProfile(capacity={"cpu": "lots"}))
    Traceback (most recent call last):
    ...
    doorman.nodes.fleet.FleetError: capacity.cpu: "lots" is no quantity: want 4, 500m or 16Gi
    """
    for resource, amount in profile.capacity.items():
        try:
            is_negative = parse_quantity(str(amount)) < 0
        except QuantityError:
            raise FleetError(f'capacity.{resource}: "{amount}" is no quantity: want 4, 500m or 16Gi') from None
        if is_negative:
            raise FleetError(f'capacity.{resource}: "{amount}" is negative')
    _check("taints", lambda: list(map(profile_taint, profile.taints)))
    if profile.startup_delay:
        _check("startupDelay", lambda: check_delay(profile.startup_delay))
    _check("script", lambda: parse_script(profile.script))
    _check("conditions", lambda: parse_conditions(profile.conditions))
    _check("devices", lambda: parse_devices(profile.devices))
    if profile.pod_termination:
        _check("podTermination", lambda: parse_seconds(profile.pod_termination))
    annotations = {SIMULATED: "true", **profile.annotations}
    if faults := [*filter(None, (health_at(annotations, 0.0, 0.0).error,)), *node_annotation_errors(annotations)]:
        raise FleetError(f"annotations: {faults[0]}")
    if errors := validate_node_create(simulated_node("node", profile), Context()):
        raise FleetError(f"{errors[0].field.partition('.')[2]}: {errors[0].body}")


def check_delay(text: str) -> None:
    if parse_duration(text) <= 0:
        raise ValueError(f'"{text}" is no time to wait for')


def _check(field: str, parse: Callable[[], object]) -> None:
    try:
        parse()
    except ValueError as error:
        raise FleetError(f"{field}: {error}") from None


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
