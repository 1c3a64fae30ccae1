"""`doorman cordon`, `uncordon` and `drain`, in kubectl's words."""

import sys
import time
from collections.abc import Sequence
from typing import Final

import click

from doorman.api.well_known import STRATEGIC_MERGE_PATCH
from doorman.base.clock import spent
from doorman.base.errors import ApiError
from doorman.cli.flag_types import GoDuration
from doorman.cli.nodes.drain_decisions import DrainOptions, decide_departure
from doorman.cli.server_connection import ClusterChoice, connect, fail, fail_with, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient, Unreachable
from doorman.nodes.node_orders import NoSuchNodes, chosen_nodes

REFUSED_RETRY_SECONDS: Final = 5.0
GONE_RETRY_SECONDS: Final = 1.0

_names = click.argument("names", nargs=-1, metavar="NODE...")
_selector = click.option("-l", "--selector", default="", help="Nodes with these labels.")


@click.command("cordon")
@_names
@_selector
@kubeconfig_option
def cordon_command(names: tuple[str, ...], selector: str, cluster: ClusterChoice) -> None:
    """Let no new pods onto nodes.

    \b
    doorman cordon node-1
    """
    _mark(connect(cluster), names, selector, is_cordoned=True)


@click.command("uncordon")
@_names
@_selector
@kubeconfig_option
def uncordon_command(names: tuple[str, ...], selector: str, cluster: ClusterChoice) -> None:
    """Let new pods onto nodes again.

    \b
    doorman uncordon node-1
    """
    _mark(connect(cluster), names, selector, is_cordoned=False)


@click.command("drain", context_settings={"show_default": True})
@_names
@_selector
@click.option("--ignore-daemonsets", is_flag=True, help="Leave pods of DaemonSets where they are.")
@click.option("--delete-emptydir-data", is_flag=True, help="Also pods whose data in an emptyDir is lost.")
@click.option("--force", is_flag=True, help="Also pods that nobody replaces.")
@click.option("--grace-period", type=int, default=-1, help="Seconds for each pod to end; -1: its own.")
@click.option("--timeout", type=GoDuration(), default="0s", help="Give up after that long; 0: never.")
@kubeconfig_option
def drain_command(
    names: tuple[str, ...],
    selector: str,
    ignore_daemonsets: bool,
    delete_emptydir_data: bool,
    force: bool,
    grace_period: int,
    timeout: float,
    cluster: ClusterChoice,
) -> None:
    """Cordon nodes and evict their pods, as disruption budgets allow. See `doorman plan drain` before.

    \b
    doorman drain node-1 --ignore-daemonsets
    doorman drain node-1 --timeout 5m
    """
    client = connect(cluster)
    options = DrainOptions(ignores_daemon_sets=ignore_daemonsets, deletes_empty_dirs=delete_emptydir_data, forces=force)
    found = _mark(client, names, selector, is_cordoned=True)
    failed: list[str] = []
    try:
        for node in found:
            query = {"fieldSelector": f"spec.nodeName={node}"}
            pods = client.request("GET", "/api/v1/pods", query=query)["items"]
            departure = decide_departure(pods, options)
            for obstacle in departure.obstacles:
                click.echo(
                    f'error: unable to drain node "{node}" due to error: {obstacle}, continuing command...', err=True
                )
            if departure.obstacles:
                failed.append(node)
                continue
            for warning in departure.warnings:
                click.echo(f"Warning: {warning}", err=True)
            _evict_all(client, departure.pods, grace_period, timeout)
            click.echo(f"node/{node} drained")
    except (ApiError, Unreachable) as error:
        fail_with([error])
    if failed:
        click.echo("There are pending nodes to be drained:\n" + "\n".join(f" {node}" for node in failed), err=True)
        sys.exit(1)


def _mark(client: HttpClient, names: Sequence[str], selector: str, *, is_cordoned: bool) -> list[str]:
    try:
        found = chosen_nodes(client, names, selector=selector)
        verb = "cordoned" if is_cordoned else "uncordoned"
        for name in found:
            node = client.request("GET", f"/api/v1/nodes/{name}")
            if bool(node["spec"].get("unschedulable")) is is_cordoned:
                click.echo(f"node/{name} already {verb}")
                continue
            body = {"spec": {"unschedulable": True if is_cordoned else None}}
            client.request("PATCH", f"/api/v1/nodes/{name}", body=body, content_type=STRATEGIC_MERGE_PATCH)
            click.echo(f"node/{name} {verb}")
    except NoSuchNodes as error:
        raise click.UsageError(f"{error}\nhint: doorman get nodes") from error
    except (ApiError, Unreachable) as error:
        fail_with([error])
    return found


def _evict_all(client: HttpClient, pods: Sequence[tuple[str, str]], grace_period: int, timeout: float) -> None:
    """Ask for each until it is granted, then wait until all are gone."""
    ends = spent() + timeout if timeout else float("inf")
    waiting = list(pods)
    leaving: list[tuple[str, str]] = []
    for namespace, name in waiting:
        click.echo(f"evicting pod {namespace}/{name}")
    while waiting or leaving:
        refused = [pod for pod in waiting if not _evict(client, *pod, grace_period)]
        leaving += [pod for pod in waiting if pod not in refused]
        waiting = refused
        gone = [pod for pod in leaving if not _is_there(client, *pod)]
        for _, name in gone:
            click.echo(f"pod/{name} evicted")
        leaving = [pod for pod in leaving if pod not in gone]
        if (waiting or leaving) and spent() >= ends:
            where = ", ".join(f"{namespace}/{name}" for namespace, name in (*waiting, *leaving))
            told = f"error: drain did not complete within {timeout:g}s: {where}"
            fail(f"{told}\nhint: a budget may hold them: doorman get pdb -A")
        if waiting or leaving:
            time.sleep(REFUSED_RETRY_SECONDS if waiting and not leaving else GONE_RETRY_SECONDS)


def _evict(client: HttpClient, namespace: str, name: str, grace_period: int) -> bool:
    """False: a budget does not allow it now."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"gracePeriodSeconds": grace_period} if grace_period >= 0 else {},
    }
    try:
        client.request("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", body=body)
    except ApiError as error:
        if error.code == 429:
            text = f"error when evicting pods/{name!r} -n {namespace!r} (will retry after 5s): {error}"
            click.echo(text.replace("'", '"'), err=True)
            return False
        if error.code != 404:
            raise
    return True


def _is_there(client: HttpClient, namespace: str, name: str) -> bool:
    try:
        client.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
    except ApiError as error:
        if error.code != 404:
            raise
        return False
    return True
