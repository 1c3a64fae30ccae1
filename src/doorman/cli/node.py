"""`doorman node`: what happens to the simulated nodes of a running cluster."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from doorman.api.well_known import MERGE_PATCH
from doorman.base.errors import ApiError
from doorman.cli.server_connection import ClusterChoice, connect, fail_with, kubeconfig_option
from doorman.client.http_client import HttpClient, Unreachable
from doorman.nodes.fleet import FleetError, check_profile
from doorman.nodes.node_commands import PRESSURES, cut_off, not_ready, pressure, recover, shut_down
from doorman.nodes.profile import NodeProfile, ProfileTaint, simulated_node
from doorman.nodes.status.node_annotations import SCRIPT, SIMULATED, is_simulated
from doorman.semantics.taints.taint_spec import TaintSpecError, parse_taint


class NotSimulated(Exception):
    """A node of somebody else's: nobody would obey."""


@click.group("node")
def command() -> None:
    """Add, fail, shut down, recover, press or remove simulated nodes of a running cluster."""


@command.command("add")
@click.argument("names", nargs=-1, required=True)
@click.option("--zone", default="", help="Its zone label.")
@click.option("--region", default="", help="Its region label.")
@click.option("--cpu", default="", help="Its processors, such as 8 or 500m.")
@click.option("--memory", default="", help="Its memory, such as 16Gi.")
@click.option("--pods", default="", help="How many pods it takes.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A further label; may be repeated.")
@click.option("--taint", "taints", multiple=True, metavar="KEY[=VALUE]:EFFECT", help="A taint; may be repeated.")
@click.option(
    "--cloud-provider",
    type=click.Choice(["external"]),
    default=None,
    help="Register uninitialized, as kubelets of a cloud do; the simulated cloud takes the taint off.",
)
@click.option("--startup-delay", default="", metavar="DURATION", help="How long it is not ready at first, such as 20s.")
@click.option("--script", default="", help='What happens to it, such as "silent 30s-90s"; counts from its creation.')
@click.option(
    "--devices", default="", metavar="KIND=NUMBER[,NAME=VALUE]", help='Its devices, such as "gpu=8,model=a100".'
)
@kubeconfig_option
def add(names: tuple[str, ...], cluster: ClusterChoice, **options: Any) -> None:  # texts, or tuples of them
    """Add simulated nodes."""
    capacity = {resource: options[resource] for resource in ("cpu", "memory", "pods") if options[resource]}
    profile = NodeProfile(
        zone=options["zone"],
        region=options["region"],
        capacity=capacity,
        labels=dict(_label(text) for text in options["labels"]),
        taints=tuple(_taint(text) for text in options["taints"]),
        startup_delay=options["startup_delay"],
        cloud_provider=options["cloud_provider"] or "",
        script=options["script"],
        devices=options["devices"],
    )
    try:
        check_profile(profile)
    except FleetError as error:
        raise click.UsageError(str(error)) from None

    def one(client: HttpClient, name: str) -> None:
        client.request("POST", "/api/v1/nodes", body=simulated_node(name, profile))

    _each(names, cluster, one, "added")


@command.command("remove")
@click.argument("names", nargs=-1, required=True)
@kubeconfig_option
def remove(names: tuple[str, ...], cluster: ClusterChoice) -> None:
    """Remove nodes."""
    _each(names, cluster, lambda client, name: client.request("DELETE", f"/api/v1/nodes/{name}"), "removed")


@command.command("fail")
@click.argument("names", nargs=-1, required=True)
@click.option("--not-ready", "is_not_ready", is_flag=True, help="Say Ready=False instead of falling silent.")
@kubeconfig_option
def fail(names: tuple[str, ...], is_not_ready: bool, cluster: ClusterChoice) -> None:
    """Cut nodes off: neither status nor lease nor pods are tended to. Their pods go on running."""
    _each(names, cluster, _order(not_ready if is_not_ready else lambda _: cut_off()), "failed")


@command.command("shutdown")
@click.argument("names", nargs=-1, required=True)
@click.option("--grace", default="30s", show_default=True, help="How long pods have to end.")
@click.option("--critical", default="10s", show_default=True, help="How much of that is kept for critical pods.")
@kubeconfig_option
def shut(names: tuple[str, ...], grace: str, critical: str, cluster: ClusterChoice) -> None:
    """Shut nodes down gracefully: ordinary pods end first, critical ones last, then the node is off."""
    try:
        body = shut_down(grace, critical)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    _each(names, cluster, _order(lambda _: body), "shutting down")


@command.command("recover")
@click.argument("names", nargs=-1, required=True)
@kubeconfig_option
def come_back(names: tuple[str, ...], cluster: ClusterChoice) -> None:
    """Let nodes come back: whatever was ordered is over. A script goes on."""

    def order(annotations: Mapping[str, str]) -> dict[str, Any]:  # a merge patch
        if SCRIPT in annotations:
            click.echo(f"note: its script goes on: {annotations[SCRIPT]}", err=True)
        return recover()

    _each(names, cluster, _order(order), "recovered")


@command.command("pressure")
@click.argument("name")
@click.argument("kinds", nargs=-1, type=click.Choice(sorted(PRESSURES)))
@kubeconfig_option
def press(name: str, kinds: tuple[str, ...], cluster: ClusterChoice) -> None:
    """Make a node short of memory, disk or pid; of nothing when none is named."""
    _each((name,), cluster, _order(lambda said: pressure(kinds, said)), "pressed" if kinds else "relieved")


def _order(order: Callable[[Mapping[str, str]], dict[str, Any]]) -> Callable[[HttpClient, str], None]:
    """`order` makes a merge patch of a node's annotations. Only simulated nodes obey."""

    def give(client: HttpClient, name: str) -> None:
        path = f"/api/v1/nodes/{name}"
        annotations = client.request("GET", path)["metadata"].get("annotations", {})
        if not is_simulated(annotations):
            raise NotSimulated(f'node "{name}" is not simulated: it has no annotation {SIMULATED}: "true"')
        client.request("PATCH", path, body=order(annotations), content_type=MERGE_PATCH)

    return give


def _label(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise click.UsageError(f'--label {text}: want KEY=VALUE, for example "disk=ssd"')
    return key, value


def _taint(text: str) -> ProfileTaint:
    try:
        taint = parse_taint(text)
    except TaintSpecError as error:
        raise click.UsageError(f"--taint {text}: {error}") from None
    if not taint.effect:
        raise click.UsageError(f'--taint {text}: want KEY[=VALUE]:EFFECT, for example "gpu=true:NoSchedule"')
    return ProfileTaint(key=taint.key, value=taint.value, effect=taint.effect)


def _each(names: tuple[str, ...], cluster: ClusterChoice, act: Callable[[HttpClient, str], Any], verb: str) -> None:
    client = connect(cluster)
    problems: list[Exception] = []
    for name in names:
        try:
            act(client, name)
            print(f"node/{name} {verb}")
        except (ApiError, Unreachable, NotSimulated) as error:
            problems.append(error)
    if problems:
        fail_with(problems)
