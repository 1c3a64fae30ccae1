"""`doorman backup` and `doorman restore`: everything a server keeps in its data directory, in one file."""

import sys
from pathlib import Path
from typing import Final, NoReturn

import click

from doorman.cli.paths import default_data_dir
from doorman.store.backup import back_up, restore
from doorman.store.data_directory import held
from doorman.store.store_contract import Unusable

_PATH: Final = click.Path(path_type=Path, dir_okay=False)
_DIRECTORY: Final = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Of the server.  [default: in the user's state folder]"
)


@click.command("backup")
@click.argument("file", type=_PATH)
@_DIRECTORY
def backup_command(file: Path, data_dir: Path | None) -> None:
    """Copy what a server keeps, and its keys, to FILE. The server may run meanwhile.

    FILE holds Secrets and keys, so only its owner may read it. Of a server with --etcd-servers, take etcd's snapshots.

    \b
    doorman backup doorman.tar.gz
    """
    directory = data_dir or default_data_dir()
    try:
        revision = back_up(directory, file)
    except (Unusable, OSError) as error:
        _fail(error)
    click.echo(f"{directory} backed up to {file}, up to revision {revision}")


@click.command("restore")
@click.argument("file", type=_PATH)
@_DIRECTORY
@click.option("--force", is_flag=True, help="Replace what the directory holds.")
def restore_command(file: Path, data_dir: Path | None, force: bool) -> None:
    """Make a data directory of a backup. The server that uses the directory must not run.

    \b
    doorman restore doorman.tar.gz --data-dir again
    doorman up --data-dir again
    """
    directory = data_dir or default_data_dir()
    try:
        with held(directory):
            revision = restore(file, directory, replaces=force)
    except (Unusable, OSError) as error:
        _fail(error)
    click.echo(f"{directory} restored from {file}, up to revision {revision}")
    click.echo(f"hint: doorman up --data-dir {directory}", err=True)


def _fail(error: Unusable | OSError) -> NoReturn:
    hint = error.hint if isinstance(error, Unusable) else "may you write there?"
    click.echo(f"error: {error}\nhint: {hint}", err=True)
    sys.exit(1)
