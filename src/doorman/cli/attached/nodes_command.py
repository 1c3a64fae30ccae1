"""`doorman nodes`: simulated nodes of an API server."""

from pathlib import Path
from typing import Any, Final

import click

from doorman.base.clock import SystemClock
from doorman.base.process_memory import loading
from doorman.cli.attached.component_flags import component_flags, component_settings, run_or_check, set_up_logging
from doorman.cli.flag_types import Gates, GoDuration
from doorman.cli.up import read_fleet
from doorman.nodes.agent_settings import PodLives, agent_settings_for
from doorman.nodes.fleet import NODES_DEFAULT, fleet_manifests
from doorman.nodes.profile import simulated_node

NAME: Final = "nodes"


@click.command(NAME, context_settings={"show_default": True, "max_content_width": 100})
@click.option(
    "--nodes",
    type=click.IntRange(min=0),
    help="Simulated nodes node-1 … node-N; 0: those that are there.  [default: 3]",
)
@click.option("--nodes-config", type=click.Path(path_type=Path), help="Simulated nodes by profile, instead of --nodes.")
@click.option(
    "--node-identity",
    type=click.Choice(["impersonate", "self"]),
    default="impersonate",
    help="As whom nodes speak: each as itself, which the kubeconfig's user must be allowed; or as that user.",
)
@click.option(
    "--node-monitor-grace-period", type=GoDuration(), default="50s", help="The controllers': nodes speak more often."
)
@click.option("--feature-gates", type=Gates(), default="", show_default=False, help="Feature gates to set.")
@component_flags(qps=0.0, burst=100, port=0, lease="doorman-nodes")
def command(**flags: Any) -> None:  # click hands flags over by name
    """Run simulated nodes of an API server: they are created, kept alive, and run what is placed on them in name.

    Nodes that are there already with the annotation doorman.dev/simulated=true are taken up as well.

    \b
    doorman nodes --kubeconfig admin.conf --nodes 3
    doorman nodes --kubeconfig admin.conf --nodes-config examples/nodes.yaml
    """
    set_up_logging(flags["verbosity"])
    settings = component_settings(NAME, flags)
    if flags["nodes_config"] is not None and flags["nodes"] is not None:
        raise click.UsageError("--nodes and --nodes-config exclude each other\nhint: leave one of them out")
    fleet = read_fleet(flags["nodes_config"])
    now = SystemClock().now()
    count = NODES_DEFAULT if flags["nodes"] is None else flags["nodes"]
    if fleet is not None:
        manifests = fleet_manifests(fleet, now=now)
    else:
        manifests = [simulated_node(f"node-{number}", now=now) for number in range(1, count + 1)]
    agent = agent_settings_for(
        flags["node_monitor_grace_period"],
        comparison_operators=flags["feature_gates"].comparison_operators,
        pod_lives=PodLives(),
        resumed_at=None,
    )
    with loading():
        from doorman.attached.nodes_component import NodeIdentity, NodesComponent, nodes_client

    identity = NodeIdentity(flags["node_identity"])
    run_or_check(
        settings,
        nodes_client,
        lambda around: NodesComponent(around, manifests, agent, identity),
        checks_access=flags["check_access"],
    )
