"""`doorman delete`: by name, by label or by file, with kubectl's words."""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
import msgspec

from doorman.base.clock import spent
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail, told
from doorman.cli.flag_types import GoDuration, dry_run_option
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.object_arguments import NOTHING_NAMED, ObjectArgument, file_objects, find_objects
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.resource_lookup import NoSuchResource, ServedResource
from doorman.client.command_line.unreachable import Unreachable

_POLICIES: Final = {"background": "Background", "foreground": "Foreground", "orphan": "Orphan"}
_SUFFIXES: Final = {"none": "", "client": " (dry run)", "server": " (server dry run)"}
_AT_ONCE: Final = (
    "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The "
    "resource may continue to run on the cluster indefinitely."
)
_FOREVER: Final = 7 * 24 * 3600.0


class _Target(msgspec.Struct, frozen=True):
    resource: ServedResource
    space: str
    name: str


@click.command("delete", cls=KubectlCommand)
@click.argument("words", nargs=-1, metavar="TYPE[,TYPE] [NAME ...] | TYPE/NAME ...")
@click.option("-f", "--filename", "files", multiple=True, help="Delete what these files hold.")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@click.option("-l", "--selector", default="", help="Objects with these labels.")
@click.option("--field-selector", default="", help="Objects with these fields.")
@click.option("--all", "everything", is_flag=True, help="All objects of the resource.")
@click.option("--grace-period", type=int, default=-1, help="Seconds to stop in; -1: as the object says.")
@click.option("--now", is_flag=True, help="The same as --grace-period=1.")
@click.option("--force", is_flag=True, help="At once, whatever still runs: the same as --grace-period=0.")
@click.option(
    "--cascade", default="background", is_flag=False, flag_value="background", metavar="POLICY", show_default=True,
    help="What is to become of what they own: background, foreground or orphan.",
)  # fmt: skip
@click.option("--ignore-not-found", is_flag=True, help="What is not there is no error.")
@click.option("--wait", type=bool, default=True, is_flag=False, flag_value="true", help="Until they are gone.")
@click.option("--timeout", type=GoDuration(), default="0s", help="How long to wait; 0: a week.")
@click.option("-o", "--output", default="", help="name: print only names.")
@dry_run_option("Only say what would be.")
@kubeconfig_option
def command(
    words: tuple[str, ...],
    files: tuple[str, ...],
    ignore_not_found: bool,
    wait: bool,
    timeout: float,
    output: str,
    dry_run: str,
    cluster: ClusterChoice,
    **flags: Any,  # click hands flags over by name
) -> None:
    """Delete objects by name, by label or from files, and wait until they are gone.

    \b
    doorman delete pod tolerant
    doorman delete -f examples/pod-with-toleration.yaml
    doorman delete pods,services -l app=web --wait=false
    """
    if output not in ("", "name"):
        fail(f"error: unexpected -o output mode: {output}. We only support '-o name'")
    options = _options(dry_run, **_named(flags, "cascade", "grace_period", "now", "force"))
    chosen = _named(flags, "namespace", "all_namespaces", "selector", "field_selector", "everything")
    client = connect(cluster)
    try:
        targets = _targets(client, words, files, **chosen)
    except (ApiError, Unreachable, NoSuchResource) as error:
        fail(told(error))
    if not targets:
        click.echo("No resources found")
    if flags["force"] and targets:
        click.echo(_AT_ONCE, err=True)
    deleted: list[tuple[_Target, str]] = []
    problems: list[str] = []
    verb = ("force deleted" if flags["force"] else "deleted"), _SUFFIXES[dry_run]
    for target in targets:
        try:
            uid = "" if dry_run == "client" else _delete(client, target, options)
            click.echo(_told(target, verb, output))
            deleted.append((target, uid))
        except (ApiError, Unreachable) as error:
            if not (ignore_not_found and isinstance(error, ApiError) and error.code == 404):
                problems.append(told(error))
    if wait and dry_run == "none" and not flags["force"]:
        problems += _wait_until_gone(client, deleted, timeout or _FOREVER)
    if problems:
        fail("\n".join(problems))


def _named(flags: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: flags[name] for name in names}


def _options(dry_run: str, *, cascade: str, grace_period: int, now: bool, force: bool) -> dict[str, Any]:
    """DeleteOptions."""
    policy = _POLICIES.get(cascade)
    if policy is None:
        fail(f'error: invalid cascade value ({cascade}). Must be "background", "foreground", or "orphan"')
    if now and grace_period >= 0:
        fail("error: --now and --grace-period cannot be specified together")
    if force and grace_period > 0:
        fail("error: --force and --grace-period greater than 0 cannot be specified together")
    options: dict[str, Any] = {"propagationPolicy": policy}
    if force:
        options["gracePeriodSeconds"] = 0
    elif now or grace_period >= 0:
        options["gracePeriodSeconds"] = 1 if now else max(1, grace_period)
    if dry_run == "server":
        options["dryRun"] = ["All"]
    return options


def _targets(
    client: HttpClient,
    words: Sequence[str],
    files: Sequence[str],
    *,
    namespace: str,
    all_namespaces: bool,
    selector: str,
    field_selector: str,
    everything: bool,
) -> list[_Target]:
    if not words and not files:
        fail(f"error: {NOTHING_NAMED}\nhint: doorman delete pod NAME")
    if everything and selector:
        fail("error: setting 'all' parameter but found a non empty selector. ")
    arguments = file_objects(client, files, namespace)
    arguments += find_objects(client, words, across_namespaces=all_namespaces) if words else []
    query = {"labelSelector": selector, "fieldSelector": field_selector}
    query = {name: value for name, value in query.items() if value}
    space = "" if all_namespaces else namespace or client.namespace
    if not all(argument.names for argument in arguments) and not query and not everything:
        fail("error: resource(s) were provided, but no name was specified\nhint: give a name, -l or --all")
    return [target for argument in arguments for target in _objects(client, argument, space, query)]


def _objects(client: HttpClient, argument: ObjectArgument, space: str, query: dict[str, str]) -> list[_Target]:
    resource = argument.resource
    space = (argument.namespace or space) if resource.namespaced else ""
    if argument.names:
        return [_Target(resource, space, name) for name in argument.names]
    listed = client.request("GET", resource.path(space), query=query)["items"]
    return [_Target(resource, item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in listed]


def _delete(client: HttpClient, target: _Target, options: dict[str, Any]) -> str:
    """The uid of what was asked to go."""
    answer = client.request("DELETE", target.resource.path(target.space, target.name), body=options) or {}
    found = answer.get("metadata") or {}
    return str(found.get("uid") or (answer.get("details") or {}).get("uid") or "")


def _told(target: _Target, verb: tuple[str, str], output: str) -> str:
    if output == "name":
        return f"{target.resource.qualified}/{target.name}"
    where = f" from {target.space} namespace" if target.space else ""
    return f'{target.resource.qualified} "{target.name}" {verb[0]}{where}{verb[1]}'


def _wait_until_gone(client: HttpClient, deleted: Sequence[tuple[_Target, str]], seconds: float) -> list[str]:
    """What is wrong with those that did not go: all share the time."""
    ends = spent() + seconds
    problems: list[str] = []
    for target, uid in deleted:
        try:
            if not _is_gone(client, target, uid, ends):
                where = f"{target.resource.name}/{target.name}"
                problems.append(f"error: timed out waiting for the condition on {where}")
        except (ApiError, Unreachable) as error:
            problems.append(told(error))
        except KeyboardInterrupt:
            sys.exit(130)
    return problems


def _is_gone(client: HttpClient, target: _Target, uid: str, ends: float) -> bool:
    """Another object of its name is not it."""
    path = target.resource.path(target.space)
    query = {"fieldSelector": f"metadata.name={target.name}"}
    while True:
        listed = client.request("GET", path, query=query)
        found = [item for item in listed["items"] if uid in ("", item["metadata"].get("uid"))]
        left = ends - spent()
        if not found or left <= 0:
            return not found
        since = {"resourceVersion": listed["metadata"]["resourceVersion"], "timeoutSeconds": str(math.ceil(left))}
        for event in client.watch(path, query={**query, **since}):
            if event["type"] in ("DELETED", "ERROR") or spent() >= ends:
                break
