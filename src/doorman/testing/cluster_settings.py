"""What a cluster for tests is made of: its nodes, and the flags of `doorman up` by their names."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
import msgspec

from doorman.cli.control_plane_flags import check_names
from doorman.cli.up import command as up
from doorman.cli.up import settings_of
from doorman.nodes.fleet import Fleet, FleetEntry, parse_fleet
from doorman.nodes.profile import NodeProfile
from doorman.runtime.settings import Settings

Nodes = int | Sequence[str] | Mapping[str, Any]
"""How many, their names, or what `--nodes-config` reads."""

OWN: Final = frozenset(
    (
        "nodes",
        "nodes_config",
        "bind_address",
        "secure_port",
        "data_dir",
        "in_memory",
        "kubeconfig_out",
        "verbose",
        "clock",
    )
)
"""Flags that say where a server runs, which is the cluster's own business."""


def cluster_settings(nodes: Nodes, zones: Sequence[str], seed: int | None, flags: Mapping[str, object]) -> Settings:
    """Raises ValueError for flags that `doorman up` would not take."""
    known = {name for parameter in up.params if (name := parameter.name or "") not in OWN and "etcd" not in name}
    if unknown := sorted(flags.keys() - known):
        raise ValueError(f"{unknown[0]} is no setting of a cluster; hint: one of {', '.join(sorted(known))}")
    arguments = ["--in-memory", "--secure-port=0"]
    for name, value in flags.items():
        arguments += _argument(f"--{name.replace('_', '-')}", value)
    try:
        settings = settings_of(up.make_context("up", arguments).params)
        check_names(settings)
    except click.UsageError as error:
        raise ValueError(error.format_message()) from None
    return msgspec.structs.replace(settings, fleet=_fleet(nodes, zones), seed=seed)


def _argument(flag: str, value: object) -> list[str]:
    match value:
        case True:
            return [flag]
        case False | None:
            return []
        case list() | tuple():
            return [f"{flag}={','.join(map(str, value))}"]
        case dict():
            return [f"{flag}={','.join(f'{name}={str(one).lower()}' for name, one in value.items())}"]
        case _:
            return [f"{flag}={value}"]


def _fleet(nodes: Nodes, zones: Sequence[str]) -> Fleet:
    """`node-1` and so on, the zones given to them in turn."""
    if isinstance(nodes, Mapping):
        if zones:
            raise ValueError("zones are for nodes that are counted or named; hint: give profiles a zone")
        return parse_fleet(dict(nodes))
    names = [f"node-{number}" for number in range(1, nodes + 1)] if isinstance(nodes, int) else list(nodes)
    if isinstance(zones, str):
        raise ValueError('zones are a list; hint: zones=["a", "b"]')
    entries = [FleetEntry(name=name, profile=zones[at % len(zones)] if zones else "") for at, name in enumerate(names)]
    fleet = Fleet(profiles={zone: NodeProfile(zone=zone) for zone in zones}, nodes=tuple(entries))
    return parse_fleet(msgspec.to_builtins(fleet))
