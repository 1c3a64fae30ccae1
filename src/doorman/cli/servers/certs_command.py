"""`doorman certs check` and `renew`: until when the certificates of a data directory are good, and new ones."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import click

from doorman.base.clock import SystemClock
from doorman.cli.objects.output import print_columns
from doorman.cli.paths import default_data_dir
from doorman.runtime.access.credentials import certificates_of, renew_server_certificate
from doorman.store.store_contract import Unusable

_directory = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Of the server.  [default: in the user's state folder]"
)


@click.group("certs")
def command() -> None:
    """The certificates that a server has made for itself.

    \b
    doorman certs check
    doorman certs renew
    """


@command.command("check")
@_directory
@click.option("--within", type=click.IntRange(min=0), default=30, show_default=True, help="Days that must be left.")
def check(data_dir: Path | None, within: int) -> None:
    """Show until when they are good. Exit status 1: one is not good for that long.

    \b
    doorman certs check --within 30
    """
    now = datetime.fromtimestamp(SystemClock().now(), UTC)
    try:
        found = certificates_of(data_dir or default_data_dir())
    except Unusable as error:
        _fail(error)
    rows = [
        (file, f"{certificate.not_valid_after_utc:%Y-%m-%d}", str((certificate.not_valid_after_utc - now).days))
        for file, certificate in found.items()
    ]
    print_columns([("CERTIFICATE", "EXPIRES", "DAYS-LEFT"), *rows])
    if any(int(days) < within for _, _, days in rows):
        click.echo("hint: doorman certs renew, then start the server again", err=True)
        sys.exit(1)


@command.command("renew")
@_directory
def renew(data_dir: Path | None) -> None:
    """Make a new server certificate of the same authority: kubeconfigs stay good. A server takes it when it starts.

    \b
    doorman certs renew
    """
    directory = data_dir or default_data_dir()
    try:
        renew_server_certificate(directory, datetime.fromtimestamp(SystemClock().now(), UTC))
    except Unusable as error:
        _fail(error)
    click.echo(f"{directory / 'pki' / 'server.crt'} renewed; start the server again to use it")


def _fail(error: Unusable) -> NoReturn:
    click.echo(f"error: {error}\nhint: {error.hint}", err=True)
    sys.exit(1)
