"""`doorman apply -f`: create what is not there, change what is, say which."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from doorman.base.errors import ApiError
from doorman.base.json_types import Document
from doorman.cli.error_output import fail, told
from doorman.cli.flag_types import dry_run_option
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.object_output import OutputFormat
from doorman.cli.objects.output import print_object
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.manifests import FIELD_MANAGER, ManifestError, apply_manifest, parse_manifests
from doorman.client.command_line.resource_lookup import NoSuchResource
from doorman.client.command_line.unreachable import Unreachable


@click.command("apply", cls=KubectlCommand)
@click.option("-f", "--filename", "files", multiple=True, help="A file, a folder, or - for standard input.")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-R", "--recursive", is_flag=True, help="Folders with what is below them.")
@click.option("--force-conflicts", is_flag=True, help="Take fields over from other managers.")
@click.option("--field-manager", default=FIELD_MANAGER, show_default=True, help="Who is to own the fields.")
@click.option("-o", "--output", type=OutputFormat("name", "json", "yaml"), default="", help="How to print the objects.")
@click.option("--server-side", is_flag=True, expose_value=False, help="Taken for kubectl's sake: it always is.")
@dry_run_option("Only say what would be.")
@kubeconfig_option
def command(
    files: tuple[str, ...],
    namespace: str,
    recursive: bool,
    force_conflicts: bool,
    field_manager: str,
    output: str,
    dry_run: str,
    cluster: ClusterChoice,
) -> None:
    """Create or update objects from files (server-side apply).

    \b
    doorman apply -f examples/pod-with-toleration.yaml
    """
    if not files:
        fail("error: must specify one of -f and -k\nhint: doorman apply -f FILE")
    client = connect(cluster)
    problems = []
    is_dry = dry_run != "none"  # of the client's kind it differs in what is said: the server knows best
    suffix = {"client": " (dry run)", "server": " (server dry run)"}.get(dry_run, "")
    for doc in documents(files, recursive=recursive):
        try:
            applied = apply_manifest(
                client, doc, namespace=namespace, force=force_conflicts, dry_run=is_dry, manager=field_manager
            )
            print_object(applied.after, output, qualified=applied.resource.qualified, verb=f"{applied.verb}{suffix}")
        except (ApiError, Unreachable, NoSuchResource) as error:
            problems.append(_named(doc, error))
    if problems:
        fail("\n".join(problems))


def _named(doc: Document, error: Exception) -> str:
    """What went wrong, and with which object: a conflict names only fields."""
    text = told(error)
    if isinstance(error, ApiError) and error.reason == "Conflict":
        name = f"{doc['kind'].lower()}/{doc['metadata']['name']}"
        text += f"\nwhen applying {name}\nhint: --force-conflicts takes the fields over"
    return text


def documents(files: Sequence[str], *, recursive: bool = False) -> Iterator[Document]:
    """Every object in the files; ends with status 1 where they hold something else."""
    try:
        yield from manifests_in(files, recursive=recursive)
    except ManifestError as error:
        fail(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else ""))


def manifests_in(files: Sequence[str], *, recursive: bool = False) -> Iterator[Document]:
    """Every object in the files; lists are taken apart. Raises ManifestError."""
    for name in files:
        for text, source in _texts(name, recursive=recursive):
            yield from parse_manifests(text, source)


def _texts(name: str, *, recursive: bool) -> Iterator[tuple[str, str]]:
    if name == "-":
        yield sys.stdin.read(), "standard input"
        return
    if name.startswith(("http://", "https://")):
        raise ManifestError(f"{name} is not fetched here", f"curl -sL {name} | doorman apply -f -")
    path = Path(name)
    below = path.rglob("*") if recursive else path.iterdir() if path.is_dir() else ()
    found = sorted(one for one in below if one.suffix in (".yaml", ".yml", ".json")) if path.is_dir() else [path]
    for file in found:
        try:
            yield file.read_text(), str(file)
        except FileNotFoundError as error:
            raise ManifestError(f'the path "{file}" does not exist', "") from error
        except OSError as error:
            raise ManifestError(f'the path "{file}" cannot be accessed: {error.strerror}', "") from error
        except UnicodeDecodeError as error:
            raise ManifestError(f"error parsing {file}: {error}", "is it YAML or JSON?") from error
