"""`doorman snapshot save`: a cluster as it is, into a file."""

from pathlib import Path

import click

from doorman.cli.planning.cluster_source import ProgressLine, bad_input, read
from doorman.cli.server_connection import ClusterChoice, kubeconfig_option
from doorman.snapshot.snapshot_file import save
from doorman.snapshot.snapshot_format import SnapshotError


@click.group("snapshot")
def command() -> None:
    """Save a cluster as it is, to ask `doorman plan` about it, or to take it up with `doorman up --from`.

    \b
    doorman snapshot save cluster.jsonl.gz
    doorman plan drain node-1 --from cluster.jsonl.gz
    doorman up --from cluster.jsonl.gz
    """


@command.command("save")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--redact/--no-redact",
    "redacts",
    default=True,
    show_default=True,
    help="Leave out what containers are told, and annotations that no rule reads.",
)
@kubeconfig_option
def save_command(file: Path, redacts: bool, cluster: ClusterChoice) -> None:
    """Read what decides where pods are, and write it to FILE: JSON lines, with gzip if its name ends in .gz.

    Nothing is changed. Secrets and ConfigMaps are never read.

    \b
    doorman snapshot save cluster.jsonl.gz
    doorman snapshot save cluster.jsonl --kubeconfig ~/.kube/config --context production
    """
    progress = ProgressLine()
    snapshot = read(cluster, progress, redacts=redacts)
    try:
        save(snapshot, file)
    except SnapshotError as error:
        bad_input(str(error), error.hint)
    size = file.stat().st_size
    click.echo(f"{file}: {len(snapshot.objects)} objects, {size // 1024 or 1} KiB")
