"""`doorman store copy`: between a data directory and etcd."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from doorman.cli.paths import default_data_dir
from doorman.cli.storage.etcd_flags import etcd_options, etcd_settings_of
from doorman.store.store_contract import Unusable


@click.group("store")
def command() -> None:
    """Move what is stored.

    \b
    doorman store copy --from data-dir --to etcd --etcd-servers http://127.0.0.1:2379
    """


@command.command("copy", context_settings={"show_default": True, "max_content_width": 100})
@click.option("--from", "source", type=click.Choice(["data-dir", "etcd"]), required=True, help="Where it is.")
@click.option("--to", "target", type=click.Choice(["data-dir", "etcd"]), required=True, help="Where it is to be.")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), help="The directory.  [default: in the user's state folder]"
)
@etcd_options
def copy(source: str, target: str, data_dir: Path | None, **flags: Any) -> None:  # click hands flags over by name
    """Copy all objects from a data directory into etcd, or back. No server may run on the directory meanwhile.

    Names, uids and times are kept; resource versions are the target's own, so watches begin anew.

    \b
    doorman store copy --from data-dir --to etcd --etcd-servers http://127.0.0.1:2379
    doorman store copy --from etcd --to data-dir --etcd-servers http://127.0.0.1:2379 --data-dir moved
    """
    if source == target:
        raise click.UsageError("--from and --to are the same\nhint: one is data-dir, the other etcd")
    etcd = etcd_settings_of({**flags, "in_memory": False})
    if etcd is None:
        raise click.UsageError("--etcd-servers is missing\nhint: --etcd-servers=http://127.0.0.1:2379")
    from doorman.runtime.settings import Settings

    directory = data_dir or default_data_dir()
    plain, shared = Settings(data_dir=directory), Settings(data_dir=directory, etcd=etcd)
    settings = (plain, shared) if target == "etcd" else (shared, plain)
    try:
        count = asyncio.run(_copy(*settings))
    except Unusable as error:
        click.echo(f"error: {error}\nhint: {error.hint}", err=True)
        sys.exit(1)
    click.echo(f"{count} objects copied from {source} to {target}")


async def _copy(source: Any, target: Any) -> int:  # Settings, which are loaded when they are needed
    from doorman.api.scheme import builtin_scheme
    from doorman.base.clock import SystemClock
    from doorman.runtime.open_store import open_store
    from doorman.runtime.store_copy import copy_store, learn_custom_kinds

    clock, scheme = SystemClock(), builtin_scheme()
    reading = await open_store(source, scheme, clock)
    try:
        learn_custom_kinds(reading, scheme)
        writing = await open_store(target, scheme, clock)
        try:
            return await copy_store(reading, writing, _progress)
        finally:
            await writing.close()
    finally:
        await reading.close()


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total} objects", nl=done == total, err=True)
