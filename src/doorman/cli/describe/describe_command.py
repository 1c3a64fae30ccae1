"""`doorman describe`: objects as kubectl describes them."""

import sys
from typing import Any, Final

import click

from doorman.base.errors import ApiError
from doorman.cli.describe.described_events import describe_events
from doorman.cli.describe.describers import describer_of
from doorman.cli.describe.description import Description
from doorman.cli.describe.related_objects import RelatedObjects
from doorman.cli.error_output import fail, told
from doorman.cli.flag_types import OptionalTruth
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.object_arguments import ObjectArgument, file_objects, find_objects
from doorman.cli.server_connection import ClusterChoice, chunk_size_option, connect, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.resource_lookup import NoSuchResource, ServedResource
from doorman.client.command_line.unreachable import Unreachable

_NOTHING_NAMED: Final = (
    'You must specify the type of resource to describe. Use "kubectl api-resources" for a complete list of supported '
    "resources."
)


@click.command("describe", cls=KubectlCommand)
@click.argument("words", nargs=-1, metavar="TYPE[,TYPE] [NAME ...] | TYPE/NAME ...")
@click.option("-f", "--filename", "files", multiple=True, metavar="FILE", help="Objects that a file names; -: stdin.")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@click.option("-l", "--selector", default="", help="Objects with these labels.")
@click.option(
    "--show-events", type=OptionalTruth(), is_flag=False, flag_value="true",
    help="With the events about it.  [default: of one object, not of several]",
)  # fmt: skip
@chunk_size_option
@kubeconfig_option
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    selector: str,
    show_events: bool | None,
    cluster: ClusterChoice,
) -> None:
    """Show everything there is to know of objects. A name stands for all that begin with it, if it is nobody's.

    \b
    doorman describe node node-1
    doorman describe pod/web pod/api
    doorman describe nodes -l gpu=true
    """
    if not words and not files:
        fail(f"error: {_NOTHING_NAMED}\nhint: doorman describe node node-1")
    client = connect(cluster)
    space = "" if all_namespaces else namespace or client.namespace
    describing = _Describing(client, space, selector)
    try:
        arguments = find_objects(client, words, across_namespaces=all_namespaces) if words else []
        found = [one for argument in arguments for one in describing.find(argument)]
        found += [one for argument in file_objects(client, files, namespace) for one in describing.find(argument)]
        has_events = show_events if show_events is not None else len(found) == 1 and not describing.errors
        texts = [describing.text(*one, with_events=has_events) for one in found]
        if not texts and len(words) == 2 and arguments[0].names:
            texts = describing.texts_of_prefix(arguments[0], with_events=has_events)
    except NoSuchResource as error:
        fail(f"error: {error}")
    except (ApiError, Unreachable) as error:
        fail(told(error))
    sys.stdout.write("\n\n".join(texts))
    if describing.errors:
        fail("\n".join(map(told, describing.errors)))
    if not texts:
        click.echo(f"No resources found{f' in {space} namespace.' if space else ''}", err=True)


class _Describing:
    """One run of the command."""

    def __init__(self, client: HttpClient, space: str, selector: str) -> None:
        self._client = client
        self._related = RelatedObjects(client)
        self._space = space
        self._query = {"labelSelector": selector} if selector else {}
        self.errors: list[ApiError] = []

    def find(self, argument: ObjectArgument) -> list[tuple[ServedResource, dict[str, Any]]]:
        """The objects that are there; what is not is told at the end."""
        resource = argument.resource
        if not argument.names:
            return [(resource, doc) for doc in self._listed(resource)]
        found = []
        for name in argument.names:
            try:
                found.append((resource, self._related.get(resource.path(argument.namespace or self._space, name))))
            except ApiError as error:
                self.errors.append(error)
        return found

    def texts_of_prefix(self, argument: ObjectArgument, *, with_events: bool) -> list[str]:
        """Of all whose name begins so, as one, with a line between, where a name is nobody's."""
        resource, (prefix,) = argument.resource, argument.names
        if [error.code for error in self.errors] != [404]:
            return []
        alike = [doc for doc in self._listed(resource) if doc["metadata"]["name"].startswith(prefix)]
        if not alike:
            return []
        self.errors = []
        return ["".join(self.text(resource, doc, with_events=with_events) + "\n" for doc in alike)]

    def text(self, resource: ServedResource, doc: dict[str, Any], *, with_events: bool) -> str:
        out = Description()
        describer = describer_of(resource.group, resource.kind)
        describer.describe(out, doc, self._related)
        if with_events and describer.has_events:
            describe_events(out, self._events(resource, doc), self._related.now())
        return out.text()

    def _listed(self, resource: ServedResource) -> list[dict[str, Any]]:
        items = self._client.request("GET", resource.path(self._space), query=self._query)["items"]
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in items]

    def _events(self, resource: ServedResource, doc: dict[str, Any]) -> list[dict[str, Any]]:
        """A node's are told under its uid by controllers, under its name by its kubelet."""
        metadata = doc["metadata"]
        space = metadata.get("namespace", "")
        path = f"/api/v1/namespaces/{space}/events" if space else "/api/v1/events"
        fields = f"involvedObject.name={metadata['name']},involvedObject.kind={resource.kind}"
        items = self._related.items(path, fieldSelector=fields)
        uids = (metadata.get("uid"), metadata["name"] if resource.kind == "Node" else None)
        return [event for event in items if (event.get("involvedObject") or {}).get("uid") in uids]
