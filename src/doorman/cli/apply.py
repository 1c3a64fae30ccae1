"""`doorman apply -f`: create what is not there, change what is, say which."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import yaml

from doorman.base.errors import ApiError
from doorman.cli.resource_lookup import NoSuchResource, resource_of_kind
from doorman.cli.server_connection import ClusterChoice, connect, fail, kubeconfig_option, told
from doorman.client.http_client import HttpClient, Unreachable

FIELD_MANAGER: Final = "doorman"


@click.command("apply")
@click.option(
    "-f", "--filename", "files", multiple=True, required=True, help="A file, a folder, or - for standard input."
)
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("--force-conflicts", is_flag=True, help="Take fields over from other managers.")
@click.option("--dry-run", type=click.Choice(["none", "server"]), default="none", help="Only say what would be.")
@kubeconfig_option
def command(
    files: tuple[str, ...], namespace: str, force_conflicts: bool, dry_run: str, cluster: ClusterChoice
) -> None:
    """Create or update objects from files (server-side apply).

    \b
    doorman apply -f examples/pod-with-toleration.yaml
    """
    client = connect(cluster)
    problems = []
    for doc in documents(files):
        try:
            print(_apply(client, doc, namespace, force_conflicts, dry_run))
        except (ApiError, Unreachable, NoSuchResource) as error:
            problems.append(told(error))
    if problems:
        fail("\n".join(problems))


def documents(files: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Every object in the files; lists are taken apart."""
    for name in files:
        for text, source in _texts(name):
            try:
                loaded = list(yaml.safe_load_all(text))
            except yaml.YAMLError as error:
                fail(f"error: error parsing {source}: {' '.join(str(error).split())}\nhint: is it YAML or JSON?")
            for doc in loaded:
                if doc is None:
                    continue
                if not isinstance(doc, dict) or not doc.get("kind") or not doc.get("apiVersion"):
                    fail(f"error: {source} holds something without kind and apiVersion\nhint: is it a manifest?")
                yield from doc["items"] if doc["kind"].endswith("List") and "items" in doc else [doc]


def _texts(name: str) -> Iterator[tuple[str, str]]:
    if name == "-":
        yield sys.stdin.read(), "standard input"
        return
    path = Path(name)
    found = sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml", ".json")) if path.is_dir() else [path]
    for file in found:
        try:
            yield file.read_text(), str(file)
        except OSError as error:
            fail(f'error: the path "{file}" cannot be read: {error.strerror}')


def _apply(client: HttpClient, doc: dict[str, Any], namespace: str, force: bool, dry_run: str) -> str:
    resource = resource_of_kind(client, doc["apiVersion"], doc["kind"])
    metadata = doc.get("metadata") or {}
    name = metadata.get("name", "")
    if not name:
        raise NoSuchResource("error: resource name may not be empty")
    space = (namespace or metadata.get("namespace") or client.namespace) if resource.namespaced else ""
    path = resource.path(space, name)
    try:
        before = client.request("GET", path)
    except ApiError as error:
        if error.code != 404:
            raise
        before = None
    query = {"fieldManager": FIELD_MANAGER, "force": "true" if force else "false", "fieldValidation": "Strict"}
    if dry_run == "server":
        query["dryRun"] = "All"
    answer = client.request("PATCH", path, query=query, body=doc, content_type="application/apply-patch+yaml")
    if before is None:
        verb = "created"
    else:
        verb = "unchanged" if _wishes(answer) == _wishes(before) else "configured"
    suffix = " (server dry run)" if dry_run == "server" else ""
    return f"{resource.qualified}/{name} {verb}{suffix}"


def _wishes(doc: dict[str, Any]) -> dict[str, Any]:
    """What people ask for in an object; status and bookkeeping change without them."""
    kept = ("labels", "annotations", "finalizers", "ownerReferences")
    metadata = {name: value for name, value in doc["metadata"].items() if name in kept}
    return {**{name: value for name, value in doc.items() if name != "status"}, "metadata": metadata}
