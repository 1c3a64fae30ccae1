"""`doorman get`: the server's tables, printed as kubectl prints them."""

import sys
from typing import Any, Final

import click

from doorman.base.errors import ApiError
from doorman.cli.error_output import fail, fail_with, told
from doorman.cli.flag_types import NameList
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.get_devices import print_devices
from doorman.cli.objects.get_taints import print_taints
from doorman.cli.objects.jsonpath_template import TemplateError
from doorman.cli.objects.object_arguments import ObjectArgument, file_objects, find_objects, typed_resources
from doorman.cli.objects.object_output import OutputFormat, PrintOptions, print_documents, sorted_by
from doorman.cli.objects.output import print_object, print_table
from doorman.cli.server_connection import ClusterChoice, chunk_size_option, connect, kubeconfig_option
from doorman.client.command_line.http_client import TABLE, HttpClient
from doorman.client.command_line.resource_lookup import NoSuchResource, ServedResource
from doorman.client.command_line.unreachable import Unreachable

_NOTHING_NAMED: Final = (
    'You must specify the type of resource to get. Use "kubectl api-resources" for a complete list of supported '
    "resources.\n\nerror: Required resource not specified.\n"
    'Use "kubectl explain <resource>" for a detailed description of that resource (e.g. kubectl explain pods).\n'
    "See 'doorman get -h' for help and examples"
)


@click.command("get", cls=KubectlCommand)
@click.argument("words", nargs=-1, metavar="TYPE[,TYPE] [NAME ...] | TYPE/NAME ...")
@click.option("-f", "--filename", "files", multiple=True, metavar="FILE", help="Objects that a file names; -: stdin.")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@click.option("-l", "--selector", default="", help="Objects with these labels.")
@click.option("--field-selector", default="", help="Objects with these fields.")
@click.option(
    "-o", "--output", type=OutputFormat(), default="", metavar="FORMAT",
    help="wide, name, json, yaml, jsonpath=TEMPLATE or custom-columns=NAME:PATH,… (of files: jsonpath-file=FILE, …)",
)  # fmt: skip
@click.option("--sort-by", default="", metavar="PATH", help="In order of what this leads to: .metadata.name")
@click.option("--no-headers", is_flag=True, help="Without the names of the columns.")
@click.option("--show-kind", is_flag=True, help="With the resource before each name.")
@click.option("--show-labels", is_flag=True, help="With the labels in the last column.")
@click.option(
    "-L", "--label-columns", type=NameList(), default="", metavar="LABEL,…", help="A column for each of these labels."
)
@click.option("--show-managed-fields", is_flag=True, help="With who manages which field, in JSON and YAML.")
@click.option("--ignore-not-found", is_flag=True, help="Say nothing of what is not there.")
@click.option("--subresource", default="", metavar="NAME", help="This part of objects that are named: status, scale.")
@click.option("--raw", default="", metavar="PATH", help="What the server answers to a GET of this path.")
@click.option("-w", "--watch", is_flag=True, help="Go on printing what changes.")
@click.option("--watch-only", is_flag=True, help="Print what changes, and not what is there.")
@click.option("--output-watch-events", is_flag=True, help="With what became of each: ADDED, MODIFIED, DELETED.")
@chunk_size_option
@kubeconfig_option
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    namespace: str,
    all_namespaces: bool,
    selector: str,
    field_selector: str,
    ignore_not_found: bool,
    subresource: str,
    raw: str,
    watch: bool,
    watch_only: bool,
    output_watch_events: bool,
    cluster: ClusterChoice,
    **shown: Any,  # click hands flags over by name
) -> None:
    """Show objects: nodes, pods, or any other resource of the server.

    \b
    doorman get nodes
    doorman get nodes,pods -A
    doorman get pod/web node/node-1 -o yaml
    doorman get pods -o jsonpath='{.items[*].metadata.name}' --sort-by .spec.nodeName
    doorman get taints [NODE ...]   who tainted what, when, why and until when
    doorman get devices [NODE ...]  which device is where, allocated to whom, and tainted by what
    """
    options = PrintOptions(**shown)
    _check(bool(words or files), raw, is_watch=watch or watch_only, with_events=output_watch_events)
    client = connect(cluster)
    if raw:
        _print_raw(client, raw)
        return
    if words and _print_own(client, words, selector, options.output):
        return
    query = {"labelSelector": selector, "fieldSelector": field_selector}
    query = {name: value for name, value in query.items() if value}
    try:
        arguments = find_objects(client, words, across_namespaces=all_namespaces) if words else []
        arguments += file_objects(client, files, namespace)
        if subresource and not all(argument.names for argument in arguments):
            fail("error: subresource cannot be used when bulk resources are specified")
        if (watch or watch_only) and len(arguments) > 1:
            raise click.UsageError("you may only watch one resource type at a time\nhint: leave the others out")
        space = "" if all_namespaces else namespace or client.namespace
        printing = _Printing(client, space, query, options, ignore_not_found=ignore_not_found, subresource=subresource)
        if watch or watch_only:
            printing.watch(arguments[0], only_changes=watch_only, with_events=output_watch_events)
        else:
            printing.print(arguments)
    except (NoSuchResource, TemplateError) as error:
        fail(f"error: {error}")
    except (ApiError, Unreachable) as error:
        fail_with([error])
    except KeyboardInterrupt:
        sys.exit(130)
    if printing.errors:
        sys.exit(1)


class _Printing:
    """One run of the command: what is found is printed, and what is not is told."""

    def __init__(
        self, client: HttpClient, space: str, query: dict[str, str], options: PrintOptions, *, ignore_not_found: bool,
        subresource: str,
    ) -> None:  # fmt: skip
        self._client = client
        self._space = space
        self._query = query
        self._options = options
        self._ignore_not_found = ignore_not_found
        self._part = f"/{subresource}" if subresource else ""
        self.errors: list[ApiError] = []

    def print(self, arguments: list[ObjectArgument]) -> None:
        if self._options.is_table:
            self._print_tables(arguments)
        else:
            docs = [(argument.resource, doc) for argument in arguments for doc in self._documents(argument)]
            is_one = sum(len(argument.names) for argument in arguments) == 1 and not self.errors
            print_documents(docs, self._options, is_one=is_one)
        for error in self.errors:
            click.echo(told(error), err=True)

    def watch(self, argument: ObjectArgument, *, only_changes: bool, with_events: bool) -> None:
        """What is there, and then what changes, until somebody has seen enough."""
        found, names, query = argument.resource, argument.names, self._query
        table = self._tables(argument)
        has_header = bool(table["rows"]) and not only_changes
        if has_header:
            self._print_changed(found, table, event="ADDED" if with_events else "", with_header=True)
        if len(names) == 1:
            query = {**query, "fieldSelector": f"metadata.name={names[0]}"}
        watched = {**query, "resourceVersion": table["metadata"]["resourceVersion"]}
        for event in self._client.watch(found.path(self._space), query=watched, accept=TABLE):
            if event["type"] == "ERROR":
                fail(f"error: {event['object'].get('message', 'the watch ended')}")
            shown = {**event["object"], "columnDefinitions": table["columnDefinitions"]}
            change = event["type"] if with_events else ""
            self._print_changed(found, shown, event=change, with_header=not has_header)
            has_header = True

    def _print_changed(self, found: ServedResource, table: dict[str, Any], *, event: str, with_header: bool) -> None:
        if self._options.output == "name":
            for row in table["rows"]:
                print_object(row["object"], "name", qualified=found.qualified)
            sys.stdout.flush()
        else:
            self._print_table(found, table, event=event, with_header=with_header)

    def _print_tables(self, arguments: list[ObjectArgument]) -> None:
        is_first = True
        for argument in arguments:
            table = self._tables(argument)
            if not table["rows"]:
                continue
            if not is_first and not self._options.no_headers:
                print()
            is_first = False
            self._print_table(argument.resource, table, with_kind=len(arguments) > 1)
        if is_first and not self.errors and not self._ignore_not_found:
            is_namespaced = self._space and any(one.resource.namespaced for one in arguments)
            click.echo(f"No resources found{f' in {self._space} namespace.' if is_namespaced else ''}", err=True)

    def _print_table(
        self,
        found: ServedResource,
        table: dict[str, Any],
        *,
        event: str = "",
        with_header: bool = True,
        with_kind: bool = False,
    ) -> None:
        options = self._options
        rows = table["rows"]
        if options.sort_by:
            docs = [self._client.request("GET", _path_of(found, row)) for row in rows]
            order = sorted_by(options.sort_by, list(zip(docs, rows, strict=True)))
            table = {**table, "rows": [row for _, row in order]}
        print_table(
            table,
            wide=options.output == "wide",
            with_namespace=found.namespaced and not self._space,
            with_header=with_header and not options.no_headers,
            with_labels=options.show_labels,
            label_columns=options.label_columns,
            kind=found.qualified if with_kind or options.show_kind else "",
            event=event,
        )

    def _tables(self, argument: ObjectArgument) -> dict[str, Any]:
        """One table of all that is wanted."""
        found = argument.resource
        if not argument.names:
            table: dict[str, Any] = self._list(found, accept=TABLE)
            return {**table, "rows": table.get("rows") or []}
        tables = self._each(argument, accept=TABLE)
        if not tables:
            return {"rows": [], "columnDefinitions": [], "metadata": {"resourceVersion": ""}}
        return {**tables[0], "rows": [row for one in tables for row in one["rows"]]}

    def _documents(self, argument: ObjectArgument) -> list[dict[str, Any]]:
        found = argument.resource
        if argument.names:
            return self._each(argument)
        listed = self._list(found)["items"]
        return [{"apiVersion": found.api_version, "kind": found.kind, **item} for item in listed]

    def _list(self, found: ServedResource, **how: Any) -> Any:  # of the request; a list or a table
        try:
            return self._client.request("GET", found.path(self._space), query=self._query, **how)
        except ApiError as error:
            if error.code not in (400, 404) or not self._query:
                raise
            labels, fields = self._query.get("labelSelector", ""), self._query.get("fieldSelector", "")
            text = f'Unable to find "{found.described}" that match label selector "{labels}", field selector "{fields}"'
            raise ApiError(error.code, error.reason, f"{text}: {error}") from None

    def _each(self, argument: ObjectArgument, **how: Any) -> list[dict[str, Any]]:  # of the request
        """Those that are there; the others are told at the end."""
        found: list[dict[str, Any]] = []
        for name in argument.names:
            try:
                path = argument.resource.path(argument.namespace or self._space, name) + self._part
                found.append(self._client.request("GET", path, **how))
            except ApiError as error:
                if error.code != 404 or not self._ignore_not_found:
                    self.errors.append(error)
        return found


def _check(is_named: bool, raw: str, *, is_watch: bool, with_events: bool) -> None:
    """What cannot be meant ends here."""
    if not is_named and not raw:
        fail(_NOTHING_NAMED)
    if raw and is_named:
        fail("error: arguments may not be passed when --raw is specified")
    if with_events and not is_watch:
        fail("error: --output-watch-events option can only be used with --watch or --watch-only")


def _print_own(client: HttpClient, words: tuple[str, ...], selector: str, output: str) -> bool:
    """Lists that only a Doorman has. Whether it was one."""
    ((first, names), *others) = typed_resources(words)
    if others or first not in ("taint", "taints", "device", "devices"):
        return False
    if first.startswith("taint"):
        print_taints(client, names, selector, output)
    else:
        print_devices(client, names, output)
    return True


def _print_raw(client: HttpClient, path: str) -> None:
    try:
        sys.stdout.write(client.text(path))
    except (ApiError, Unreachable) as error:
        fail_with([error])


def _path_of(found: ServedResource, row: dict[str, Any]) -> str:
    metadata = row["object"]["metadata"]
    return found.path(metadata.get("namespace", ""), metadata["name"])
