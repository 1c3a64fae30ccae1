"""`doorman taint`: kubectl taint's grammar, messages and exit status, for people without kubectl."""

from typing import Any, NoReturn

import click

from doorman.base.durations import parse_duration
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail, fail_with
from doorman.cli.flag_types import dry_run_option
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.object_output import OutputFormat
from doorman.cli.objects.output import print_object
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.resource_lookup import NoSuchResource, find_resource
from doorman.client.command_line.taint_patch import (
    FIELD_MANAGER,
    TaintsRefused,
    TaintWish,
    changed_taints,
    patch_taints,
    taint_documents,
)
from doorman.client.command_line.unreachable import Unreachable
from doorman.semantics.taints.taint_spec import (
    TaintChange,
    TaintCommandError,
    TaintSpecError,
    check_conflicts,
    parse_taint_change,
    split_arguments,
)


class _Problem(Exception):
    """Something wrong with one node; the others go on."""


@click.command("taint", cls=KubectlCommand)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--overwrite", is_flag=True, help="Replace a taint of the same key and effect.")
@click.option("--all", "everything", is_flag=True, help="All nodes.")
@click.option("-l", "--selector", default="", help="Nodes with these labels.")
@dry_run_option("Only say what would be.")
@click.option("-o", "--output", type=OutputFormat("name", "json", "yaml"), default="", help="How to print the nodes.")
@click.option("--validate", default="strict", help="Taken for kubectl's sake: the server checks.")
@click.option("--reason", default="", help="Why; `doorman get taints` shows it.")
@click.option("--for", "span", default="", metavar="DURATION", help="Take the taints off again after so long: 30m, 2h.")
@click.option("--field-manager", default=FIELD_MANAGER, show_default=True, help="Who is to own the taints.")
@kubeconfig_option
def command(
    arguments: tuple[str, ...],
    overwrite: bool,
    everything: bool,
    selector: str,
    dry_run: str,
    output: str,
    reason: str,
    span: str,
    validate: str,  # noqa: ARG001  kubectl's
    field_manager: str,
    cluster: ClusterChoice,
) -> None:
    """Update the taints on one or more nodes.

    \b
    doorman taint nodes node-1 key1=value1:NoSchedule    add a taint
    doorman taint nodes node-1 key1:NoSchedule-          take it away
    doorman taint nodes node-1 key1-                     take all taints of that key away
    doorman taint nodes --all key1=:NoExecute --overwrite
    doorman taint nodes node-1 maintenance:NoExecute --reason "new disks" --for 2h
    """
    names, change = _parsed(arguments)
    wish = _wish(change, reason, span)
    client = connect(cluster)
    _check_resource(client, names[0])
    try:
        check_conflicts(change)
    except TaintCommandError as error:
        fail(f"error: {error}")
    nodes, problems = _nodes(client, names[1:], everything, selector)
    for node in nodes:
        try:
            _taint(client, node, change, wish, overwrite, dry_run, output, field_manager)
        except (_Problem, ApiError, Unreachable) as error:
            problems += [_Problem(text) for text in error.args[0]] if isinstance(error, _Problem) else [error]
    if problems:
        fail_with(problems)


def _parsed(arguments: tuple[str, ...]) -> tuple[list[str], TaintChange]:
    try:
        resources, specs = split_arguments(arguments)
        if not resources:
            raise TaintCommandError("one or more resources must be specified as <resource> <name>")
        if not specs:
            raise TaintCommandError("at least one taint update is required")
        return resources, parse_taint_change(specs)
    except TaintSpecError as error:
        _usage(error)
    except TaintCommandError as error:
        fail(f"error: {error}")


def _wish(change: TaintChange, reason: str, span: str) -> TaintWish | None:
    if not reason and not span:
        return None
    if not change.additions:
        fail("error: --reason and --for need a taint to add")
    try:
        if span and parse_duration(span) <= 0:
            fail(f"error: --for must be more than nothing: {span}")
    except ValueError as error:
        fail(f"error: --for: {error}\nhint: write 90s, 30m or 2h")
    return TaintWish(reason, span)


def _usage(error: Exception) -> NoReturn:
    fail(f"error: {error}\nSee 'doorman taint -h' for help and examples")


def _check_resource(client: HttpClient, typed: str) -> None:
    try:
        found = find_resource(client, typed)
    except NoSuchResource as error:
        fail(str(error))
    except (ApiError, Unreachable) as error:
        fail_with([error])
    if found.kind != "Node":
        fail(f"error: invalid resource type {typed}, only node types are supported")


def _nodes(
    client: HttpClient, names: list[str], everything: bool, selector: str
) -> tuple[list[dict[str, Any]], list[Exception]]:
    if everything and selector:
        fail("error: setting 'all' parameter with a non empty selector is prohibited")
    if everything or selector:
        query = {"labelSelector": selector} if selector else None
        try:
            return client.request("GET", "/api/v1/nodes", query=query)["items"], []
        except (ApiError, Unreachable) as error:
            fail_with([error])
    if not names:
        fail("error: at least one resource name must be specified since 'all' parameter is not set")
    nodes: list[dict[str, Any]] = []
    problems: list[Exception] = []
    for name in names:
        try:
            nodes.append(client.request("GET", f"/api/v1/nodes/{name}"))
        except (ApiError, Unreachable) as error:
            problems.append(error)
    return nodes, problems


def _taint(
    client: HttpClient,
    node: dict[str, Any],
    change: TaintChange,
    wish: TaintWish | None,
    overwrite: bool,
    dry_run: str,
    output: str,
    field_manager: str,
) -> None:
    try:
        outcome = changed_taints(node, change, overwrite=overwrite)
    except TaintsRefused as error:
        raise _Problem(error.reasons) from None
    if dry_run != "client":
        query = {"fieldManager": field_manager, **({"dryRun": "All"} if dry_run == "server" else {})}
        node = patch_taints(client, node, change, outcome, wish=wish, query=query)
    else:
        node = {**node, "spec": {**node.get("spec", {}), "taints": taint_documents(outcome)}}
    print_object(node, output, qualified="node", verb=str(outcome.verb))
