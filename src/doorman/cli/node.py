"""`doorman node`: what happens to the simulated nodes of a running cluster."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from doorman.base.errors import ApiError
from doorman.cli.connection import connect, fail_with, kubeconfig_option
from doorman.client.http import HttpClient, Unreachable
from doorman.nodes.orders import PRESSURES, cut_off, not_ready, pressure, recover, shut_down
from doorman.nodes.profile import NodeProfile, simulated_node

_MERGE = "application/merge-patch+json"


@click.group("node")
def command() -> None:
    """Add, fail, shut down, recover, press or remove simulated nodes of a running cluster."""


@command.command("add")
@click.argument("names", nargs=-1, required=True)
@click.option("--zone", default="", help="Its zone label.")
@click.option("--cpu", default="", help="Its processors, such as 8 or 500m.")
@click.option("--memory", default="", help="Its memory, such as 16Gi.")
@kubeconfig_option
def add(names: tuple[str, ...], zone: str, cpu: str, memory: str, kubeconfig: Path | None) -> None:
    """Add simulated nodes."""
    capacity = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value}
    profile = NodeProfile(zone=zone, capacity=capacity)

    def one(client: HttpClient, name: str) -> None:
        client.request("POST", "/api/v1/nodes", body=simulated_node(name, profile))

    _each(names, kubeconfig, one, "added")


@command.command("remove")
@click.argument("names", nargs=-1, required=True)
@kubeconfig_option
def remove(names: tuple[str, ...], kubeconfig: Path | None) -> None:
    """Remove nodes."""
    _each(names, kubeconfig, lambda client, name: client.request("DELETE", f"/api/v1/nodes/{name}"), "removed")


@command.command("fail")
@click.argument("names", nargs=-1, required=True)
@click.option("--not-ready", "is_not_ready", is_flag=True, help="Say Ready=False instead of falling silent.")
@kubeconfig_option
def fail(names: tuple[str, ...], is_not_ready: bool, kubeconfig: Path | None) -> None:
    """Cut nodes off: neither status nor lease nor pods are tended to. Their pods go on running."""
    body = not_ready() if is_not_ready else cut_off()
    _each(names, kubeconfig, _order(body), "failed")


@command.command("shutdown")
@click.argument("names", nargs=-1, required=True)
@click.option("--grace", default="30s", show_default=True, help="How long pods have to end.")
@click.option("--critical", default="10s", show_default=True, help="How much of that is kept for critical pods.")
@kubeconfig_option
def shut(names: tuple[str, ...], grace: str, critical: str, kubeconfig: Path | None) -> None:
    """Shut nodes down gracefully: ordinary pods end first, critical ones last, then the node is off."""
    try:
        body = shut_down(grace, critical)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    _each(names, kubeconfig, _order(body), "shutting down")


@command.command("recover")
@click.argument("names", nargs=-1, required=True)
@kubeconfig_option
def come_back(names: tuple[str, ...], kubeconfig: Path | None) -> None:
    """Let nodes come back: whatever was ordered is over."""
    _each(names, kubeconfig, _order(recover()), "recovered")


@command.command("pressure")
@click.argument("name")
@click.argument("kinds", nargs=-1, type=click.Choice(sorted(PRESSURES)))
@kubeconfig_option
def press(name: str, kinds: tuple[str, ...], kubeconfig: Path | None) -> None:
    """Make a node short of memory, disk or pid; of nothing when none is named."""
    _each((name,), kubeconfig, _order(pressure(list(kinds))), "pressed" if kinds else "relieved")


def _order(body: dict[str, Any]) -> Callable[[HttpClient, str], Any]:  # a merge patch; any answer
    return lambda client, name: client.request("PATCH", f"/api/v1/nodes/{name}", body=body, content_type=_MERGE)


def _each(names: tuple[str, ...], kubeconfig: Path | None, act: Callable[[HttpClient, str], Any], verb: str) -> None:
    client = connect(kubeconfig)
    problems: list[Exception] = []
    for name in names:
        try:
            act(client, name)
            print(f"node/{name} {verb}")
        except (ApiError, Unreachable) as error:
            problems.append(error)
    if problems:
        fail_with(problems)
