"""`doorman get`: the server's tables, printed as kubectl prints them."""

import sys
from typing import Any

import click
import msgspec
import yaml

from doorman.base.errors import ApiError
from doorman.cli.get_devices import print_devices
from doorman.cli.get_taints import print_taints
from doorman.cli.output import print_object, print_table
from doorman.cli.server_connection import ClusterChoice, connect, fail, fail_with, kubeconfig_option
from doorman.client.http_client import TABLE, HttpClient, Unreachable
from doorman.client.resource_lookup import NoSuchResource, ServedResource, find_resource


@click.command("get")
@click.argument("resource")
@click.argument("names", nargs=-1)
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@click.option("-l", "--selector", default="", help="Objects with these labels.")
@click.option("--field-selector", default="", help="Objects with these fields.")
@click.option(
    "-o", "--output", type=click.Choice(["", "wide", "name", "json", "yaml"]), default="", help="How to print."
)
@click.option("-w", "--watch", is_flag=True, help="Go on printing what changes.")
@kubeconfig_option
def command(
    resource: str,
    names: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    selector: str,
    field_selector: str,
    output: str,
    watch: bool,
    cluster: ClusterChoice,
) -> None:
    """Show objects: nodes, pods, or any other resource of the server.

    \b
    doorman get nodes
    doorman get pods -o wide -w
    doorman get deployments -A
    doorman get taints [NODE ...]   who tainted what, when, why and until when
    doorman get devices [NODE ...]  which device is where, allocated to whom, and tainted by what
    """
    client = connect(cluster)
    if resource in ("taint", "taints"):
        print_taints(client, names, selector, output)
        return
    if resource in ("device", "devices"):
        print_devices(client, names, output)
        return
    query = {"labelSelector": selector, "fieldSelector": field_selector}
    query = {name: value for name, value in query.items() if value}
    try:
        found = find_resource(client, resource)
        space = "" if all_namespaces else namespace or client.namespace
        if output in ("json", "yaml", "name"):
            _print_documents(client, found, space, names, query, output)
            return
        _print_tables(client, found, space, names, query, wide=output == "wide", watch=watch)
    except NoSuchResource as error:
        fail(f"error: {error}")
    except (ApiError, Unreachable) as error:
        fail_with([error])
    except KeyboardInterrupt:
        sys.exit(130)


def _print_documents(
    client: HttpClient, found: ServedResource, space: str, names: tuple[str, ...], query: dict[str, str], output: str
) -> None:
    if names:
        docs = [client.request("GET", found.path(space, name)) for name in names]
    else:
        listed = client.request("GET", found.path(space), query=query)["items"]
        docs = [{"apiVersion": found.api_version, "kind": found.kind, **item} for item in listed]
    if output == "name" or (len(docs) == 1 and names):
        for doc in docs:
            print_object(doc, output, qualified=found.qualified)
        return
    everything = {"apiVersion": "v1", "items": docs, "kind": "List", "metadata": {"resourceVersion": ""}}
    if output == "json":
        print(msgspec.json.format(msgspec.json.encode(everything), indent=4).decode())
    else:
        print(yaml.safe_dump(everything, sort_keys=True, allow_unicode=True), end="")


def _print_tables(
    client: HttpClient,
    found: ServedResource,
    space: str,
    names: tuple[str, ...],
    query: dict[str, str],
    *,
    wide: bool,
    watch: bool,
) -> None:
    with_namespace = found.namespaced and not space
    if names:
        tables = [client.request("GET", found.path(space, name), accept=TABLE) for name in names]
        table: dict[str, Any] = {**tables[0], "rows": [row for one in tables for row in one["rows"]]}
    else:
        table = client.request("GET", found.path(space), query=query, accept=TABLE)
    if not table["rows"] and not watch:
        where = f" in {space} namespace" if found.namespaced and space else ""
        click.echo(f"No resources found{where}.", err=True)
        return
    if table["rows"]:
        print_table(table, wide=wide, with_namespace=with_namespace)
    if watch:
        if len(names) == 1:
            query = {**query, "fieldSelector": f"metadata.name={names[0]}"}
        _follow(client, found, space, query, table, wide=wide, with_namespace=with_namespace)


def _follow(
    client: HttpClient,
    found: ServedResource,
    space: str,
    query: dict[str, str],
    table: dict[str, Any],
    *,
    wide: bool,
    with_namespace: bool,
) -> None:
    has_header = bool(table["rows"])
    watched = {**query, "resourceVersion": table["metadata"]["resourceVersion"]}
    for event in client.watch(found.path(space), query=watched, accept=TABLE):
        if event["type"] == "ERROR":
            fail(f"error: {event['object'].get('message', 'the watch ended')}")
        shown = {**event["object"], "columnDefinitions": table["columnDefinitions"]}
        print_table(shown, wide=wide, with_namespace=with_namespace, with_header=not has_header)
        has_header = True
