"""`doorman node`: what happens to the simulated nodes of a running cluster."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from doorman.base.errors import ApiError
from doorman.cli.error_output import fail_with
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.unreachable import Unreachable
from doorman.nodes.fleet import COUNT_MAX, FleetError, check_profile
from doorman.nodes.node_annotations import SCRIPT
from doorman.nodes.node_commands import PRESSURES, cut_off, not_ready, pressure, recover, shut_down
from doorman.nodes.node_orders import NoSuchNodes, NotSimulated, Order, chosen_nodes, give_order
from doorman.nodes.profile import NodeProfile, ProfileTaint, simulated_node
from doorman.semantics.taints.taint_spec import TaintSpecError, parse_taint

F = TypeVar("F", bound=Callable[..., Any])  # click's decorators take any function


@click.group("node")
def command() -> None:
    """Add, fail, shut down, recover, press or remove simulated nodes of a running cluster.

    \b
    doorman node add extra-1 --zone b --cpu 8
    doorman node fail extra-1
    doorman node recover extra-1
    doorman node remove extra-1
    """


def chosen_options(function: F) -> F:
    """`-l` and `--zone`, for orders to many."""
    selector = click.option("-l", "--selector", default="", help="Nodes with these labels, instead of names.")
    zone = click.option("--zone", default="", help="Nodes of this zone, instead of names.")
    return selector(zone(function))


@command.command("add")
@click.argument("names", nargs=-1)
@click.option("--count", type=click.IntRange(1, COUNT_MAX), help="So many, with the next free numbers as names.")
@click.option("--prefix", default="node-", show_default=True, help="What their names begin with, with --count.")
@click.option(
    "--capacity", "amounts", multiple=True, metavar="RESOURCE=QUANTITY", help="Any resource; may be repeated."
)
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
@click.option(
    "--pod-termination", default="", metavar="DURATION", help="How long its pods take to stop that do not say."
)
@click.option(
    "--failing-image",
    "failing_images",
    multiple=True,
    metavar="PATTERN",
    help='Images it cannot pull, such as "*:old"; may be repeated.',
)
@click.option("--script", default="", help='What happens to it, such as "silent 30s-90s"; counts from its creation.')
@click.option(
    "--devices", default="", metavar="KIND=NUMBER[,NAME=VALUE]", help='Its devices, such as "gpu=8,model=a100".'
)
@click.option("--attach-limit", type=click.IntRange(min=0), help="How many simulated volumes it takes.  [default: any]")
@kubeconfig_option
def add(names: tuple[str, ...], cluster: ClusterChoice, **options: Any) -> None:  # texts, or tuples of them
    """Add simulated nodes.

    \b
    doorman node add extra-1 --zone z1 --cpu 8
    doorman node add --count 50 --zone b --capacity nvidia.com/gpu=8
    """
    capacity: dict[str, str | int | float] = dict(
        _pair("--capacity", text, "nvidia.com/gpu=8") for text in options["amounts"]
    )
    capacity |= {resource: options[resource] for resource in ("cpu", "memory", "pods") if options[resource]}
    profile = NodeProfile(
        zone=options["zone"],
        region=options["region"],
        capacity=capacity,
        labels=dict(_pair("--label", text, "disk=ssd") for text in options["labels"]),
        taints=tuple(_taint(text) for text in options["taints"]),
        startup_delay=options["startup_delay"],
        pod_termination=options["pod_termination"],
        failing_images=options["failing_images"],
        cloud_provider=options["cloud_provider"] or "",
        script=options["script"],
        devices=options["devices"],
        attach_limit=options["attach_limit"],
    )
    try:
        check_profile(profile)
    except FleetError as error:
        raise click.UsageError(str(error)) from None

    def one(client: HttpClient, name: str) -> None:
        client.request("POST", "/api/v1/nodes", body=simulated_node(name, profile))

    if bool(names) == bool(options["count"]):
        raise click.UsageError("want names, or --count\nhint: doorman node add --count 3 --zone b")
    client = connect(cluster)
    _each(client, names or _new_names(client, options["prefix"], options["count"]), one, "added")


@command.command("remove")
@click.argument("names", nargs=-1, required=True)
@kubeconfig_option
def remove(names: tuple[str, ...], cluster: ClusterChoice) -> None:
    """Remove nodes.

    \b
    doorman node remove extra-1
    """
    _each(connect(cluster), names, lambda client, name: client.request("DELETE", f"/api/v1/nodes/{name}"), "removed")


@command.command("fail")
@click.argument("names", nargs=-1)
@chosen_options
@click.option("--not-ready", "is_not_ready", is_flag=True, help="Say Ready=False instead of falling silent.")
@kubeconfig_option
def fail(names: tuple[str, ...], selector: str, zone: str, is_not_ready: bool, cluster: ClusterChoice) -> None:
    """Cut nodes off: neither status nor lease nor pods are tended to. Their pods go on running.

    \b
    doorman node fail node-1 node-2
    doorman node fail --zone b
    doorman node fail -l disk=ssd --not-ready
    """
    client = connect(cluster)
    order = _order(not_ready if is_not_ready else lambda _: cut_off())
    _each(client, _chosen(client, names, selector, zone), order, "failed")


@command.command("shutdown")
@click.argument("names", nargs=-1, required=True)
@click.option("--grace", default="30s", show_default=True, help="How long pods have to end.")
@click.option("--critical", default="10s", show_default=True, help="How much of that is kept for critical pods.")
@kubeconfig_option
def shut(names: tuple[str, ...], grace: str, critical: str, cluster: ClusterChoice) -> None:
    """Shut nodes down gracefully: ordinary pods end first, critical ones last, then the node is off.

    \b
    doorman node shutdown node-1 --grace 30s --critical 10s
    """
    try:
        body = shut_down(grace, critical)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    _each(connect(cluster), names, _order(lambda _: body), "shutting down")


@command.command("recover")
@click.argument("names", nargs=-1)
@chosen_options
@kubeconfig_option
def come_back(names: tuple[str, ...], selector: str, zone: str, cluster: ClusterChoice) -> None:
    """Let nodes come back: whatever was ordered is over. A script goes on.

    \b
    doorman node recover node-1
    doorman node recover --zone b
    """

    def order(annotations: Mapping[str, str]) -> dict[str, Any]:  # a merge patch
        if SCRIPT in annotations:
            click.echo(f"note: its script goes on: {annotations[SCRIPT]}", err=True)
        return recover()

    client = connect(cluster)
    _each(client, _chosen(client, names, selector, zone), _order(order), "recovered")


@command.command("pressure")
@click.argument("name")
@click.argument("kinds", nargs=-1, type=click.Choice(sorted(PRESSURES)))
@kubeconfig_option
def press(name: str, kinds: tuple[str, ...], cluster: ClusterChoice) -> None:
    """Make a node short of memory, disk or pid; of nothing when none is named.

    \b
    doorman node pressure node-1 memory      pods that use most are evicted
    doorman node pressure node-1             all is well again
    """
    _each(connect(cluster), (name,), _order(lambda said: pressure(kinds, said)), "pressed" if kinds else "relieved")


def _order(order: Order) -> Callable[[HttpClient, str], None]:
    return lambda client, name: give_order(client, name, order)


def _chosen(client: HttpClient, names: tuple[str, ...], selector: str, zone: str) -> Sequence[str]:
    try:
        return chosen_nodes(client, names, selector=selector, zone=zone)
    except NoSuchNodes as error:
        raise click.UsageError(f"{error}\nhint: `kubectl get nodes --show-labels` shows what they have") from None
    except (ApiError, Unreachable) as error:
        fail_with([error])


def _new_names(client: HttpClient, prefix: str, count: int) -> list[str]:
    """The next numbers after the highest that is taken."""
    try:
        names = [node["metadata"]["name"] for node in client.request("GET", "/api/v1/nodes")["items"]]
    except (ApiError, Unreachable) as error:
        fail_with([error])
    numbers = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    last = max((int(number) for number in numbers if number.isascii() and number.isdigit()), default=0)
    return [f"{prefix}{number}" for number in range(last + 1, last + count + 1)]


def _pair(flag: str, text: str, example: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise click.UsageError(f'{flag} {text}: want KEY=VALUE, for example "{example}"')
    return key, value


def _taint(text: str) -> ProfileTaint:
    try:
        taint = parse_taint(text)
    except TaintSpecError as error:
        raise click.UsageError(f"--taint {text}: {error}") from None
    if not taint.effect:
        raise click.UsageError(f'--taint {text}: want KEY[=VALUE]:EFFECT, for example "gpu=true:NoSchedule"')
    return ProfileTaint(key=taint.key, value=taint.value, effect=taint.effect)


def _each(client: HttpClient, names: Sequence[str], act: Callable[[HttpClient, str], Any], verb: str) -> None:
    problems: list[Exception] = []
    for name in names:
        try:
            act(client, name)
            print(f"node/{name} {verb}")
        except (ApiError, Unreachable, NotSimulated) as error:
            problems.append(error)
    if problems:
        fail_with(problems)
