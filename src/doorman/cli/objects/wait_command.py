"""`doorman wait`: until objects are as somebody wants them, with kubectl's words and exit codes."""

import math
import sys
from collections.abc import Iterator

import click

from doorman.base.clock import spent
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail, told
from doorman.cli.flag_types import GoDuration
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.jsonpath_template import TemplateError
from doorman.cli.objects.object_arguments import NOTHING_NAMED, ObjectArgument, file_objects, find_objects
from doorman.cli.objects.object_output import OutputFormat, PrintOptions, print_documents
from doorman.cli.objects.wanted_states import Created, Gone, Unrecognized, WaitCondition, read_condition
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.resource_lookup import NoSuchResource, ServedResource
from doorman.client.command_line.unreachable import Unreachable

_FOREVER = 7 * 24 * 3600.0
"""What kubectl takes a timeout below zero for."""


@click.command("wait", cls=KubectlCommand)
@click.argument("words", nargs=-1, metavar="TYPE NAME ... | TYPE/NAME ... | TYPE")
@click.option(
    "--for", "wanted", default="", metavar="CONDITION",
    help="create, delete, condition=NAME[=VALUE] or jsonpath={PATH}[=VALUE].",
)  # fmt: skip
@click.option("-f", "--filename", "files", multiple=True, metavar="FILE", help="Objects that a file names; -: stdin.")
@click.option("--timeout", type=GoDuration(), default="30s", show_default=True, help="0: look once; -1s: a week.")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@click.option("-l", "--selector", default="", help="Objects with these labels.")
@click.option("--field-selector", default="", help="Objects with these fields.")
@click.option("--all", "everything", is_flag=True, help="All objects of the resource.")
@click.option(
    "-o", "--output", type=OutputFormat(), default="", metavar="FORMAT",
    help="name, json, yaml or jsonpath=TEMPLATE instead of `condition met`.",
)  # fmt: skip
@kubeconfig_option
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    wanted: str,
    timeout: float,
    namespace: str,
    all_namespaces: bool,
    selector: str,
    field_selector: str,
    everything: bool,
    output: str,
    cluster: ClusterChoice,
) -> None:
    """Wait until objects are as you want them.

    \b
    doorman wait pod/web --for=condition=Ready
    doorman wait nodes --all --for=condition=Ready --timeout=60s
    doorman wait pod/web --for=delete
    doorman wait deploy/api --for=jsonpath='{.status.readyReplicas}'=3
    """
    try:
        condition = read_condition(wanted)
    except Unrecognized as error:
        fail(f"error: {error}")
    if not words and not files:
        fail(f"error: {NOTHING_NAMED}\nhint: doorman wait pod/NAME --for=…")
    client = connect(cluster)
    space = "" if all_namespaces else namespace or client.namespace
    query = {"labelSelector": selector, "fieldSelector": field_selector}
    query = {name: value for name, value in query.items() if value}
    waiting = _Waiting(client, condition, timeout if timeout >= 0 else _FOREVER, output)
    try:
        arguments = find_objects(client, words, across_namespaces=all_namespaces) if words else []
        arguments += file_objects(client, files, namespace)
        if not everything and not query and not all(argument.names for argument in arguments):
            fail("error: resource(s) were provided, but no name was specified\nhint: give a name, -l or --all")
        for argument in arguments:
            waiting.wait_for_all(argument, argument.namespace or space, query)
    except (NoSuchResource, TemplateError) as error:
        fail(f"error: {error}")
    except (ApiError, Unreachable) as error:
        fail(told(error))
    except KeyboardInterrupt:
        sys.exit(130)
    if not waiting.count and not isinstance(condition, Gone):
        fail("error: no matching resources found")
    if waiting.missed:
        fail("\n".join(waiting.missed) if len(waiting.missed) > 1 else f"error: {waiting.missed[0]}")


class _Waiting:
    """One run of the command, over all objects it is about: they share the time."""

    def __init__(self, client: HttpClient, condition: WaitCondition, seconds: float, output: str) -> None:
        self._client = client
        self._condition = condition
        self._is_one_look = seconds == 0
        self._ends = spent() + seconds
        self._output = output
        self.count = 0
        self.missed: list[str] = []

    def wait_for_all(self, argument: ObjectArgument, space: str, query: dict[str, str]) -> None:
        resource = argument.resource
        for namespace, name in self._objects(argument, space, query):
            self.count += 1
            doc = self._wait_for(resource, namespace, name)
            if doc is not None and self._output:
                print_documents([(resource, doc)], PrintOptions(output=self._output), is_one=True)
            elif doc is not None:
                click.echo(f"{resource.qualified}/{name} condition met")

    def _objects(self, argument: ObjectArgument, space: str, query: dict[str, str]) -> Iterator[tuple[str, str]]:
        resource = argument.resource
        if argument.names:
            for name in argument.names:
                if isinstance(self._condition, Created) or self._find(resource, space, name) is not None:
                    yield space, name
            return
        for item in self._client.request("GET", resource.path(space), query=query)["items"]:
            yield item["metadata"].get("namespace", ""), item["metadata"]["name"]

    def _find(self, resource: ServedResource, space: str, name: str) -> dict[str, object] | None:
        try:
            found: dict[str, object] = self._client.request("GET", resource.path(space, name))
        except ApiError as error:
            if error.code == 404 and isinstance(self._condition, Gone):
                return None
            raise
        return found

    def _wait_for(self, resource: ServedResource, space: str, name: str) -> dict[str, object] | None:
        """The object, when it is as it should be. None: that did not come about in time."""
        last: dict[str, object] = {"metadata": {"name": name}}
        while True:
            query = {"fieldSelector": f"metadata.name={name}"}
            listed = self._client.request("GET", resource.path(space), query=query)
            found = listed["items"][0] if listed["items"] else None
            if found is not None:
                last = {"apiVersion": resource.api_version, "kind": resource.kind, **found}
            if self._is_met(found):
                return last
            left = self._ends - spent()
            if self._is_one_look or left <= 0:
                self._miss(resource, name)
                return None
            query["resourceVersion"] = listed["metadata"]["resourceVersion"]
            query["timeoutSeconds"] = str(max(1, math.ceil(left)))
            for event in self._client.watch(resource.path(space), query=query):
                if event["type"] == "ERROR":
                    break  # too far behind: what is there is read again
                found = None if event["type"] == "DELETED" else event["object"]
                last = event["object"]
                if self._is_met(found):
                    return last
                if spent() >= self._ends:
                    break

    def _is_met(self, doc: dict[str, object] | None) -> bool:
        condition = self._condition
        if isinstance(condition, Gone):
            return doc is None
        if doc is None or isinstance(condition, Created):
            return doc is not None
        return condition.is_met(doc)

    def _miss(self, resource: ServedResource, name: str) -> None:
        if isinstance(self._condition, Created):
            self.missed.append("timed out waiting for the condition")
        elif self._is_one_look:
            self.missed.append(f"condition not met for {resource.name}/{name}")
        else:
            self.missed.append(f"timed out waiting for the condition on {resource.name}/{name}")
