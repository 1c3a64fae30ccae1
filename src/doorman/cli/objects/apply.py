"""`doorman apply -f`: create what is not there, change what is, say which."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from doorman.base.errors import ApiError
from doorman.cli.flag_types import DryRun
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.server_connection import ClusterChoice, connect, fail, kubeconfig_option, told
from doorman.client.command_line.http_client import Unreachable
from doorman.client.command_line.manifests import Manifest, ManifestError, apply_manifest, parse_manifests
from doorman.client.command_line.resource_lookup import NoSuchResource


@click.command("apply", cls=KubectlCommand)
@click.option("-f", "--filename", "files", multiple=True, help="A file, a folder, or - for standard input.")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("--force-conflicts", is_flag=True, help="Take fields over from other managers.")
@click.option("--dry-run", type=DryRun(), default="none", help="Only say what would be.")
@kubeconfig_option
def command(
    files: tuple[str, ...], namespace: str, force_conflicts: bool, dry_run: str, cluster: ClusterChoice
) -> None:
    """Create or update objects from files (server-side apply).

    \b
    doorman apply -f examples/pod-with-toleration.yaml
    """
    if not files:
        fail("error: must specify one of -f and -k\nhint: doorman apply -f FILE")
    client = connect(cluster)
    problems = []
    for doc in documents(files):
        try:
            is_dry = dry_run != "none"  # of the client's kind it differs in what is said: the server knows best
            applied = apply_manifest(client, doc, namespace=namespace, force=force_conflicts, dry_run=is_dry)
            suffix = {"client": " (dry run)", "server": " (server dry run)"}.get(dry_run, "")
            print(f"{applied.resource.qualified}/{applied.after['metadata']['name']} {applied.verb}{suffix}")
        except (ApiError, Unreachable, NoSuchResource) as error:
            problems.append(_named(doc, error))
    if problems:
        fail("\n".join(problems))


def _named(doc: Manifest, error: Exception) -> str:
    """What went wrong, and with which object: a conflict names only fields."""
    text = told(error)
    if isinstance(error, ApiError) and error.reason == "Conflict":
        name = f"{doc['kind'].lower()}/{doc['metadata']['name']}"
        text += f"\nwhen applying {name}\nhint: --force-conflicts takes the fields over"
    return text


def documents(files: tuple[str, ...]) -> Iterator[Manifest]:
    """Every object in the files; lists are taken apart."""
    for name in files:
        for text, source in _texts(name):
            try:
                yield from parse_manifests(text, source)
            except ManifestError as error:
                fail(f"error: {error}\nhint: {error.hint}")


def _texts(name: str) -> Iterator[tuple[str, str]]:
    if name == "-":
        yield sys.stdin.read(), "standard input"
        return
    path = Path(name)
    found = sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml", ".json")) if path.is_dir() else [path]
    for file in found:
        try:
            yield file.read_text(), str(file)
        except FileNotFoundError:
            fail(f'error: the path "{file}" does not exist')
        except OSError as error:
            fail(f'error: the path "{file}" cannot be accessed: {error.strerror}')
