"""`doorman delete`: by name or by file."""

from typing import Any

import click

from doorman.base.errors import ApiError
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.apply import documents
from doorman.cli.objects.object_arguments import NOTHING_NAMED
from doorman.cli.server_connection import ClusterChoice, connect, fail, kubeconfig_option, told
from doorman.client.command_line.http_client import HttpClient, Unreachable
from doorman.client.command_line.resource_lookup import NoSuchResource, ServedResource, find_resource, resource_of_kind


@click.command("delete", cls=KubectlCommand)
@click.argument("resource", required=False)
@click.argument("names", nargs=-1)
@click.option("-f", "--filename", "files", multiple=True, help="Delete what these files hold.")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-l", "--selector", default="", help="Objects with these labels.")
@click.option("--all", "everything", is_flag=True, help="All objects of the resource.")
@click.option("--grace-period", type=int, default=-1, help="Seconds to stop in; -1: as the object says.")
@click.option("--now", is_flag=True, help="The same as --grace-period=1.")
@click.option("--ignore-not-found", is_flag=True, help="What is not there is no error.")
@kubeconfig_option
def command(
    resource: str | None,
    names: tuple[str, ...],
    files: tuple[str, ...],
    namespace: str,
    selector: str,
    everything: bool,
    grace_period: int,
    now: bool,
    ignore_not_found: bool,
    cluster: ClusterChoice,
) -> None:
    """Delete objects by name, by label or from files.

    \b
    doorman delete pod tolerant
    doorman delete -f examples/pod-with-toleration.yaml
    """
    client = connect(cluster)
    problems: list[str] = []
    options: dict[str, Any] = {"propagationPolicy": "Background"}
    if now or grace_period >= 0:
        options["gracePeriodSeconds"] = 1 if now else grace_period
    try:
        targets = _targets(client, resource, names, files, namespace, selector, everything)
    except (ApiError, Unreachable, NoSuchResource) as error:
        fail(told(error))
    if not targets:
        click.echo("No resources found")
    for found, space, name in targets:
        try:
            client.request("DELETE", found.path(space, name), body=options)
            where = f" from {space} namespace" if space else ""
            print(f'{found.qualified} "{name}" deleted{where}')
        except (ApiError, Unreachable) as error:
            if not (ignore_not_found and isinstance(error, ApiError) and error.code == 404):
                problems.append(told(error))
    if problems:
        fail("\n".join(problems))


def _targets(
    client: HttpClient,
    resource: str | None,
    names: tuple[str, ...],
    files: tuple[str, ...],
    namespace: str,
    selector: str,
    everything: bool,
) -> list[tuple[ServedResource, str, str]]:
    found: list[tuple[ServedResource, str, str]] = []
    for doc in documents(files):
        kind = resource_of_kind(client, doc["apiVersion"], doc["kind"])
        space = namespace or doc["metadata"].get("namespace") or client.namespace
        found.append((kind, space if kind.namespaced else "", doc["metadata"]["name"]))
    if resource is None:
        if not files:
            fail(f"error: {NOTHING_NAMED}\nhint: doorman delete pod NAME")
        return found
    typed, _, single = resource.partition("/")
    kind = find_resource(client, typed)
    space = (namespace or client.namespace) if kind.namespaced else ""
    if single:
        names = (single, *names)
    if not names:
        if not (selector or everything):
            fail("error: resource(s) were provided, but no name was specified\nhint: give a name, -l or --all")
        query = {"labelSelector": selector} if selector else None
        listed = client.request("GET", kind.path(space), query=query)["items"]
        names = tuple(item["metadata"]["name"] for item in listed)
    return [*found, *((kind, space, name) for name in names)]
