"""`doorman cordon`, `uncordon` and `drain`, in kubectl's words."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from doorman.api.machinery.label_selectors import parse_selector
from doorman.api.well_known import STRATEGIC_MERGE_PATCH
from doorman.base.durations import format_duration
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail, fail_with
from doorman.cli.flag_types import GoDuration, dry_run_option
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.nodes.drain_decisions import DrainOptions
from doorman.cli.nodes.node_drain import DRY_RUNS, DrainFailed, DrainManner, NodeDrain
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.resource_lookup import NoSuchResource, find_resource
from doorman.client.command_line.unreachable import Unreachable

F = TypeVar("F", bound=Callable[..., Any])  # click's decorators take any function


def _node_options(function: F) -> F:
    """Which nodes, and whether it is meant."""
    names = click.argument("names", nargs=-1, metavar="NODE...")
    selector = click.option("-l", "--selector", default="", help="Nodes with these labels.")
    dry_run = dry_run_option("none, client or server: only say it.")
    return names(selector(dry_run(kubeconfig_option(function))))


@click.command("cordon", cls=KubectlCommand)
@_node_options
def cordon_command(names: tuple[str, ...], selector: str, dry_run: str, cluster: ClusterChoice) -> None:
    """Let no new pods onto nodes.

    \b
    doorman cordon node-1
    """
    _mark(cluster, names, selector, dry_run, is_cordoned=True)


@click.command("uncordon", cls=KubectlCommand)
@_node_options
def uncordon_command(names: tuple[str, ...], selector: str, dry_run: str, cluster: ClusterChoice) -> None:
    """Let new pods onto nodes again.

    \b
    doorman uncordon node-1
    """
    _mark(cluster, names, selector, dry_run, is_cordoned=False)


@click.command("drain", cls=KubectlCommand, context_settings={"show_default": True})
@click.option("--ignore-daemonsets", is_flag=True, help="Leave pods of DaemonSets where they are.")
@click.option("--delete-emptydir-data", is_flag=True, help="Also pods whose data in an emptyDir is lost.")
@click.option("--force", is_flag=True, help="Also pods that nobody replaces.")
@click.option("--grace-period", type=int, default=-1, help="Seconds for each pod to end; -1: its own.")
@click.option("--timeout", type=GoDuration(), default="0s", help="Give up after that long; 0: never.")
@click.option("--pod-selector", default="", help="Only pods with these labels.")
@click.option("--disable-eviction", is_flag=True, help="Delete pods without asking their budgets.")
@click.option(
    "--skip-wait-for-delete-timeout", "skip_after", type=int, default=0, metavar="SECONDS",
    help="Do not wait for pods that were deleted longer ago; 0: do.",
)  # fmt: skip
@click.option("--chunk-size", type=int, default=500, help="Taken for kubectl's sake: lists come whole.")
@_node_options
def drain_command(
    names: tuple[str, ...],
    selector: str,
    dry_run: str,
    cluster: ClusterChoice,
    **flags: Any,  # click hands flags over by name
) -> None:
    """Cordon nodes and evict their pods, as disruption budgets allow. See `doorman plan drain` before.

    \b
    doorman drain node-1 --ignore-daemonsets
    doorman drain node-1 --timeout 5m
    """
    manner = _manner(dry_run, **flags)
    client, found = _mark(cluster, names, selector, dry_run, is_cordoned=True)
    drain = NodeDrain(client, manner)
    failed: dict[str, DrainFailed] = {}
    try:
        for node in found:
            try:
                drain.drain(node)
                click.echo(f"node/{node} drained{DRY_RUNS[dry_run]}")
            except DrainFailed as error:
                failed[node] = error
                _tell_failure(node, error)
    except (ApiError, Unreachable) as error:
        fail_with([error])
    if failed:
        click.echo("There are pending nodes to be drained:", err=True)
        for node, reason in failed.items():
            click.echo(f" {node}\n{reason}", err=True)
        sys.exit(1)


def _manner(dry_run: str, *, timeout: float, pod_selector: str, **flags: Any) -> DrainManner:  # click's
    try:
        parse_selector(pod_selector)
    except ValueError:
        fail("error: --pod-selector=<pod_selector> must be a valid label selector")
    options = DrainOptions(
        ignores_daemon_sets=flags["ignore_daemonsets"],
        deletes_empty_dirs=flags["delete_emptydir_data"],
        forces=flags["force"],
    )
    return DrainManner(
        options=options,
        pod_selector=pod_selector,
        grace_period=flags["grace_period"],
        timeout_seconds=timeout,
        timeout_text=format_duration(timeout),
        deletes=flags["disable_eviction"],
        skip_after_seconds=flags["skip_after"],
        dry_run=dry_run,
    )


def _tell_failure(node: str, error: DrainFailed) -> None:
    if error.pods:
        pods = "".join(f"\npod/{name}" for _, name in error.pods)
        click.echo(f'There are pending pods in node "{node}" when an error occurred: {error}{pods}', err=True)
    click.echo(f'error: unable to drain node "{node}" due to error: {error}, continuing command...', err=True)


def _mark(
    cluster: ClusterChoice, names: Sequence[str], selector: str, dry_run: str, *, is_cordoned: bool
) -> tuple[HttpClient, list[str]]:
    """Nodes that are not there are told before anything is done."""
    ctx = click.get_current_context()
    if names and selector:
        raise click.UsageError("cannot specify both a node name and a --selector option")
    if not names and not selector:
        raise click.UsageError(f"USAGE: {ctx.info_name} NODE [flags]")
    client = connect(cluster)
    verb = "cordoned" if is_cordoned else "uncordoned"
    try:
        nodes = _nodes(client, names, selector)
        for node in nodes:
            name = node["metadata"]["name"]
            if bool(node["spec"].get("unschedulable")) is is_cordoned:
                verb_now = f"already {verb}"
            else:
                verb_now = verb
                _patch(client, name, dry_run, is_cordoned=is_cordoned)
            click.echo(f"node/{name} {verb_now}{DRY_RUNS[dry_run]}")
    except NoSuchResource as error:
        fail(f"error: {error}")
    except (ApiError, Unreachable) as error:
        fail_with([error])
    return client, [node["metadata"]["name"] for node in nodes]


def _nodes(client: HttpClient, names: Sequence[str], selector: str) -> list[dict[str, Any]]:
    if selector:
        listed = client.request("GET", "/api/v1/nodes", query={"labelSelector": selector})
        return list(listed["items"])
    found = []
    for word in names:
        typed, sign, name = word.rpartition("/")
        if sign and (resource := find_resource(client, typed)).kind != "Node":
            fail(f'error: expected resource of type node, got "{resource.described}"')
        found.append(client.request("GET", f"/api/v1/nodes/{name}"))
    return found


def _patch(client: HttpClient, name: str, dry_run: str, *, is_cordoned: bool) -> None:
    if dry_run != "client":
        body = {"spec": {"unschedulable": True if is_cordoned else None}}
        query = {"dryRun": "All"} if dry_run == "server" else None
        client.request("PATCH", f"/api/v1/nodes/{name}", body=body, query=query, content_type=STRATEGIC_MERGE_PATCH)
