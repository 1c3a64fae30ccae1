"""`doorman status`, `down`, `logs` and `kubeconfig`: clusters that were started with `up --detach`."""

import shutil
import subprocess  # nosec B404
import sys
from pathlib import Path
from typing import NoReturn

import click

from doorman.cli.objects.output import print_columns
from doorman.cli.servers.background_server import (
    DEFAULT_CLUSTER,
    LOG,
    BackgroundServer,
    directory_of,
    find_server,
    server_names,
    stop,
)

_name = click.option("--name", default=DEFAULT_CLUSTER, help="Which cluster.", show_default=True)


@click.command("status")
@click.option("--name", default="", help="Only this cluster.")
def status_command(name: str) -> None:
    """Show which clusters run in the background, and where. Exit status 1: none does.

    \b
    doorman status
    """
    names = [name] if name else server_names()
    rows = []
    for one in names:
        server = find_server(one)
        is_running = server is not None and server.is_running
        if server is not None:
            state = "Running" if is_running else "Stopped"
            rows.append([one, state, str(server.pid) if is_running else "<none>", server.address, server.kubeconfig])
    if not rows:
        _fail(f'no cluster "{name}" was started' if name else "no cluster was started", "doorman up --detach")
    print_columns([["NAME", "STATUS", "PID", "ADDRESS", "KUBECONFIG"], *rows])
    sys.exit(0 if any(row[1] == "Running" for row in rows) else 1)


@click.command("down")
@_name
def down_command(name: str) -> None:
    """Stop a cluster. What it keeps stays; `doorman up --detach` goes on with it.

    \b
    doorman down
    doorman down --name ci
    """
    server = _known(name)
    if not server.is_running:
        stop(server)
        click.echo(f'cluster "{name}" was not running')
        return
    if not stop(server):
        _fail(f"process {server.pid} does not end", f"kill -9 {server.pid}")
    click.echo(f'cluster "{name}" stopped')


@click.command("logs")
@_name
@click.option("-f", "--follow", is_flag=True, help="Go on printing.")
@click.option("--tail", type=click.IntRange(min=0), default=None, help="Only so many lines.")
def logs_command(name: str, follow: bool, tail: int | None) -> None:
    """Print what a cluster's server said.

    \b
    doorman logs
    doorman logs --name ci -f
    """
    file = directory_of(name) / LOG
    if not file.exists():
        _fail(f'cluster "{name}" has no log', "only clusters of `doorman up --detach` have one")
    if follow:
        lines = "+1" if tail is None else str(tail)
        command = [shutil.which("tail") or "/usr/bin/tail", "-n", lines, "-F", str(file)]
        done = subprocess.run(command, check=False)  # nosec B603
        sys.exit(done.returncode)
    text = file.read_text(errors="replace").splitlines()
    for line in text if tail is None else text[len(text) - min(tail, len(text)) :]:
        click.echo(line)


@click.command("kubeconfig")
@_name
@click.option("--path", "only_path", is_flag=True, help="Only say where it is.")
def kubeconfig_command(name: str, only_path: bool) -> None:
    """Print a cluster's kubeconfig: `doorman kubeconfig > ~/.kube/doorman`.

    \b
    doorman kubeconfig > ~/.kube/doorman
    doorman kubeconfig --path          only where it is
    """
    server = find_server(name)
    file = Path(server.kubeconfig) if server is not None else directory_of(name) / "kubeconfig"
    if not file.exists():
        _fail(f'cluster "{name}" has no kubeconfig', f"doorman up --detach --name {name}")
    click.echo(str(file) if only_path else file.read_text(), nl=only_path)


def _known(name: str) -> BackgroundServer:
    server = find_server(name)
    if server is None:
        _fail(f'no cluster "{name}" runs in the background', "doorman status shows those that do")
    return server


def _fail(fault: str, hint: str) -> NoReturn:
    click.echo(f"error: {fault}\nhint: {hint}", err=True)
    sys.exit(1)
