"""Where a plan's cluster comes from: a file, or the cluster that a kubeconfig reaches, which is only read."""

import sys
from pathlib import Path
from typing import NoReturn

import click

from doorman.base.clock import spent
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail_with
from doorman.cli.paths import default_data_dir
from doorman.cli.server_connection import ClusterChoice
from doorman.client.command_line.http_client import HttpClient, find_kubeconfig
from doorman.client.command_line.unreachable import Unreachable
from doorman.snapshot.cluster_reader import read_cluster
from doorman.snapshot.snapshot_file import load
from doorman.snapshot.snapshot_format import Snapshot, SnapshotError

PROGRESS_SECONDS = 5.0
"""How often people who do not watch a terminal are told how far it has come."""
BAD_INPUT = 2


def bad_input(message: str, hint: str) -> NoReturn:
    """One line, a hint, and status 2."""
    click.echo(f"error: {message}\nhint: {hint}", err=True)
    sys.exit(BAD_INPUT)


def snapshot_from(source: Path | None, cluster: ClusterChoice, progress: "ProgressLine") -> Snapshot:
    """The snapshot of a file; without one, of the cluster, as it is now."""
    if source is not None:
        if cluster.is_named:
            bad_input("--from and a cluster exclude each other", "leave --kubeconfig and --context out")
        try:
            return load(source)
        except SnapshotError as error:
            bad_input(str(error), error.hint)
    return read(cluster, progress, redacts=False)


def read(cluster: ClusterChoice, progress: "ProgressLine", *, redacts: bool) -> Snapshot:
    """Lists only: nothing of the cluster is changed, so that it need not be a Doorman."""
    file = find_kubeconfig(cluster.kubeconfig, default_data_dir() / "kubeconfig")
    try:
        client = HttpClient(file, cluster.context, cluster.options)
        counts: dict[str, int] = {}

        def told(resource: str, count: int) -> None:
            counts[resource] = count
            progress.say(f"reading {resource}: {sum(counts.values())} objects")

        return read_cluster(client, client.now(), redacts=redacts, told=told)
    except (ApiError, Unreachable) as error:
        fail_with([error])
    finally:
        progress.clear()


class ProgressLine:
    """How far it has come, on standard error: one line that changes on a terminal, now and then a line elsewhere."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._said_at = spent()
        self._width = 0

    def share(self, what: str, share: float) -> None:
        """Of a plan."""
        self.say(f"{what}: {share:.0%}" if share else what)

    def say(self, text: str) -> None:
        if self._is_terminal:
            click.echo(f"\r{text.ljust(self._width)}", nl=False, err=True)
            self._width = len(text)
        elif spent() - self._said_at >= PROGRESS_SECONDS:
            self._said_at = spent()
            click.echo(text, err=True)

    def clear(self) -> None:
        if self._is_terminal and self._width:
            click.echo(f"\r{' ' * self._width}\r", nl=False, err=True)
            self._width = 0
