"""`doorman events`: what happened, as `kubectl events` lists it."""

import sys
from collections.abc import Iterator
from typing import Any, Final

import click

from doorman.base.clock import Instant
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail, told
from doorman.cli.flag_types import NameList
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.event_rows import HEADER, in_order, row
from doorman.cli.objects.object_output import OutputFormat, print_list
from doorman.cli.objects.output import CELL_WIDTH_MIN, print_columns
from doorman.cli.objects.whole_objects import without_managers
from doorman.cli.server_connection import ClusterChoice, chunk_size_option, connect, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.resource_lookup import NoSuchResource, find_resource
from doorman.client.command_line.unreachable import Unreachable

_TYPES: Final = ("Normal", "Warning")


@click.command("events", cls=KubectlCommand)
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@click.option("--for", "about", default="", metavar="TYPE/NAME", help="Only those about this object.")
@click.option("--types", type=NameList(), default=(), help="Only these: Normal, Warning.")
@click.option("-o", "--output", type=OutputFormat("json", "yaml"), default="", help="Print the objects.")
@click.option("--no-headers", is_flag=True, help="Without the names of the columns.")
@click.option("-w", "--watch", is_flag=True, help="Go on printing what happens.")
@chunk_size_option
@kubeconfig_option
def command(
    namespace: str,
    all_namespaces: bool,
    about: str,
    types: tuple[str, ...],
    output: str,
    no_headers: bool,
    watch: bool,
    cluster: ClusterChoice,
) -> None:
    """List events, the newest last.

    \b
    doorman events
    doorman events --for pod/web --watch
    doorman events -A --types=Warning
    """
    wanted = {kind.capitalize() for kind in types}
    if not wanted <= set(_TYPES):
        fail("error: valid --types are Normal or Warning")
    client = connect(cluster)
    space = "" if all_namespaces else namespace or client.namespace
    path = f"/api/v1/namespaces/{space}/events" if space else "/api/v1/events"
    try:
        query = _about(client, about)
        listed = client.request("GET", path, query=query)
        found = in_order(event for event in listed["items"] if _is_wanted(event, wanted))
        if not found and not watch:
            where = f" in {space} namespace" if space else ""
            click.echo(f"No events found{where}.", err=True)
            return
        if output:
            print_list([without_managers(event) for event in found], output)
            return
        rows = _rows(found, client.now(), with_namespace=not space)
        header = [] if no_headers else [["NAMESPACE", *HEADER] if not space else list(HEADER)]
        print_columns([*header, *rows], width_min=CELL_WIDTH_MIN)
        if watch:
            _print_more(client, path, {**query, "resourceVersion": listed["metadata"]["resourceVersion"]}, wanted)
    except (NoSuchResource, ApiError, Unreachable) as error:
        fail(told(error))
    except KeyboardInterrupt:
        sys.exit(130)


def _about(client: HttpClient, about: str) -> dict[str, str]:
    if not about:
        return {}
    typed, sign, name = about.partition("/")
    if not sign or not typed or not name:
        fail("error: --for must be in resource/name form")
    found = find_resource(client, typed)
    fields = {"kind": found.kind, "apiVersion": found.api_version, "name": name}
    selector = ",".join(f"involvedObject.{field}={value}" for field, value in fields.items())
    return {"fieldSelector": selector}


def _is_wanted(event: dict[str, Any], types: set[str]) -> bool:
    return not types or event.get("type") in types


def _rows(events: list[dict[str, Any]], now: Instant, *, with_namespace: bool) -> Iterator[list[str]]:
    for event in events:
        cells = row(event, now)
        yield [event["metadata"].get("namespace", ""), *cells] if with_namespace else cells


def _print_more(client: HttpClient, path: str, query: dict[str, str], types: set[str]) -> None:
    with_namespace = path == "/api/v1/events"
    for change in client.watch(path, query=query):
        if change["type"] == "ERROR":
            fail(f"error: {change['object'].get('message', 'the watch ended')}")
        event = change["object"]
        if change["type"] != "DELETED" and _is_wanted(event, types):
            print_columns(list(_rows([event], client.now(), with_namespace=with_namespace)), width_min=CELL_WIDTH_MIN)
