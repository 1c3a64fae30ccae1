"""`doorman describe`: pods and nodes as kubectl describes them, every other kind member by member."""

import sys
from typing import Any, Final

import click

from doorman.api.well_known import NODE_LEASE_NAMESPACE
from doorman.base.errors import ApiError
from doorman.cli.describe.described_events import describe_events
from doorman.cli.describe.described_node import describe_node
from doorman.cli.describe.described_object import describe_object
from doorman.cli.describe.described_pod import describe_pod
from doorman.cli.describe.described_workload import DESCRIBERS
from doorman.cli.describe.description import Description
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.object_arguments import ObjectArgument, find_objects
from doorman.cli.server_connection import ClusterChoice, connect, fail, kubeconfig_option, told
from doorman.client.command_line.http_client import HttpClient, Unreachable
from doorman.client.command_line.resource_lookup import NoSuchResource, ServedResource

_NOTHING_NAMED: Final = (
    'You must specify the type of resource to describe. Use "kubectl api-resources" for a complete list of supported '
    "resources."
)
_FINISHED: Final = "status.phase!=Failed,status.phase!=Succeeded"


@click.command("describe", cls=KubectlCommand)
@click.argument("words", nargs=-1, metavar="TYPE[,TYPE] [NAME ...] | TYPE/NAME ...")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@click.option("-l", "--selector", default="", help="Objects with these labels.")
@click.option("--show-events", type=bool, default=True, show_default=True, help="With the events about it.")
@kubeconfig_option
def command(
    words: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    selector: str,
    show_events: bool,
    cluster: ClusterChoice,
) -> None:
    """Show everything there is to know of objects. A name stands for all that begin with it, if it is nobody's.

    \b
    doorman describe node node-1
    doorman describe pod/web pod/api
    doorman describe nodes -l gpu=true
    """
    if not words:
        fail(f"error: {_NOTHING_NAMED}\nhint: doorman describe node node-1")
    client = connect(cluster)
    space = "" if all_namespaces else namespace or client.namespace
    describing = _Describing(client, space, selector, show_events=show_events)
    try:
        texts = [text for argument in find_objects(client, words) for text in describing.texts(argument)]
        sys.stdout.write("\n\n".join(texts))
    except NoSuchResource as error:
        fail(f"error: {error}")
    except (ApiError, Unreachable) as error:
        fail(told(error))
    if describing.errors:
        fail("\n".join(map(told, describing.errors)))
    if not texts and not describing.errors:
        click.echo(f"No resources found{f' in {space} namespace' if space else ''}.", err=True)


class _Describing:
    def __init__(self, client: HttpClient, space: str, selector: str, *, show_events: bool) -> None:
        self._client = client
        self._space = space
        self._query = {"labelSelector": selector} if selector else {}
        self._show_events = show_events
        self.errors: list[ApiError] = []

    def texts(self, argument: ObjectArgument) -> list[str]:
        """Of each that is found. Those that a name only begins with are one, with a line between."""
        resource = argument.resource
        if not argument.names:
            return [self._text(resource, doc) for doc in self._listed(resource)]
        texts: list[str] = []
        for name in argument.names:
            try:
                texts.append(self._text(resource, self._client.request("GET", resource.path(self._space, name))))
            except ApiError as error:
                alike = [doc for doc in self._listed(resource) if doc["metadata"]["name"].startswith(name)]
                if error.code != 404 or not alike:
                    self.errors.append(error)
                else:
                    texts.append("".join(self._text(resource, doc) + "\n" for doc in alike))
        return texts

    def _text(self, resource: ServedResource, doc: dict[str, Any]) -> str:
        out = Description()
        now = self._client.now()
        if resource.kind == "Pod" and not resource.group:
            describe_pod(out, doc, now)
        elif resource.kind == "Node" and not resource.group:
            name = doc["metadata"]["name"]
            query = {"fieldSelector": f"spec.nodeName={name},{_FINISHED}"}
            pods = self._client.request("GET", "/api/v1/pods", query=query)["items"]
            describe_node(out, doc, self._lease(name), pods, now)
        elif (resource.group, resource.kind) in DESCRIBERS:
            path, describe = DESCRIBERS[resource.group, resource.kind]
            describe(out, doc, self._owned(path, doc))
        else:
            describe_object(out, doc)
        if self._show_events:
            describe_events(out, self._events(resource, doc), now)
        return out.text()

    def _listed(self, resource: ServedResource) -> list[dict[str, Any]]:
        items = self._client.request("GET", resource.path(self._space), query=self._query)["items"]
        return [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in items]

    def _owned(self, path: str, doc: dict[str, Any]) -> list[dict[str, Any]]:
        """What it controls, of one kind."""
        if not path:
            return []
        metadata = doc["metadata"]
        return [
            item
            for item in self._client.request("GET", path.format(metadata["namespace"]))["items"]
            for owner in item["metadata"].get("ownerReferences") or ()
            if owner.get("controller") and owner["uid"] == metadata["uid"]
        ]

    def _lease(self, name: str) -> dict[str, Any] | None:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NODE_LEASE_NAMESPACE}/leases/{name}"
        try:
            found: dict[str, Any] = self._client.request("GET", path)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return found

    def _events(self, resource: ServedResource, doc: dict[str, Any]) -> list[dict[str, Any]]:
        """A node's are told under its uid by controllers, under its name by its kubelet."""
        metadata = doc["metadata"]
        space = metadata.get("namespace", "")
        path = f"/api/v1/namespaces/{space}/events" if space else "/api/v1/events"
        fields = f"involvedObject.name={metadata['name']},involvedObject.kind={resource.kind}"
        items = self._client.request("GET", path, query={"fieldSelector": fields})["items"]
        uids = (metadata.get("uid"), metadata["name"] if resource.kind == "Node" else None)
        return [event for event in items if (event.get("involvedObject") or {}).get("uid") in uids]
