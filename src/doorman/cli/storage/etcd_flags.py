"""The flags of kube-apiserver that say where its etcd is, under their own names."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from doorman.api.well_known import JSON
from doorman.cli.flag_types import GoDuration
from doorman.store.etcd.etcd_settings import EtcdSettings
from doorman.store.etcd.etcd_tls import EtcdTls

F = TypeVar("F", bound=Callable[..., Any])  # a command

_URL: Final = re.compile(r"https?://([^/:\[\]]+|\[[0-9a-fA-F:.%]+\]):[0-9]{1,5}")
_PATH: Final = click.Path(path_type=Path, dir_okay=False)
_OPTIONS: Final = (
    click.option("--etcd-servers", metavar="URL,…", help="Keep everything in this etcd cluster."),
    click.option("--etcd-prefix", default="/registry", help="Before all keys in etcd."),
    click.option("--etcd-cafile", type=_PATH, help="The authority of etcd's certificates."),
    click.option("--etcd-certfile", type=_PATH, help="This server's certificate for etcd."),
    click.option("--etcd-keyfile", type=_PATH, help="The key of that certificate."),
    click.option("--etcd-servers-overrides", hidden=True),
    click.option(
        "--etcd-compaction-interval", type=GoDuration(), default="5m", help="0: this server compacts nothing."
    ),
    click.option("--storage-media-type", default=JSON, hidden=True),
    click.option("--event-ttl", type=GoDuration(), default="1h", help="How long etcd keeps events."),
    click.option(
        "--endpoint-reconciler-type",
        type=click.Choice(["lease", "none"]),
        default="lease",
        help="none: with etcd, this server is not behind the service `kubernetes`.",
    ),
    click.option("--lease-reuse-duration-seconds", type=click.IntRange(min=0), default=60, hidden=True),
    click.option("--etcd-healthcheck-timeout", type=GoDuration(), default="2s", hidden=True),
    click.option("--etcd-readycheck-timeout", type=GoDuration(), default="2s", hidden=True),
)


def etcd_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def etcd_settings_of(flags: dict[str, Any]) -> EtcdSettings | None:  # what click has read
    """None: no etcd is wanted. Raises click.UsageError."""
    if flags["etcd_servers"] is None:
        return None
    servers = tuple(url.strip().rstrip("/") for url in flags["etcd_servers"].split(",") if url.strip())
    schemes = {url.partition("://")[0] for url in servers}
    if not servers or not all(map(_URL.fullmatch, servers)):
        raise _usage("--etcd-servers takes URLs with ports", "--etcd-servers=http://127.0.0.1:2379")
    if len(schemes) > 1:
        raise _usage("--etcd-servers mixes http and https", "give all members under one scheme")
    if flags["in_memory"]:
        raise _usage("--in-memory and --etcd-servers exclude each other", "leave one of them out")
    if flags["etcd_servers_overrides"] is not None:
        raise _usage("--etcd-servers-overrides is not supported", "there is one order of revisions over all kinds")
    if flags["storage_media_type"] != JSON:
        raise _usage(f"--storage-media-type is {JSON}", "protobuf is read, and never written")
    if (flags["etcd_certfile"] is None) != (flags["etcd_keyfile"] is None):
        raise _usage("--etcd-certfile and --etcd-keyfile go together", "give both, or none")
    return EtcdSettings(
        servers=servers,
        prefix="/" + flags["etcd_prefix"].strip("/"),
        tls=EtcdTls(flags["etcd_cafile"], flags["etcd_certfile"], flags["etcd_keyfile"]),
        compaction_seconds=flags["etcd_compaction_interval"],
        event_seconds=round(flags["event_ttl"]),
        lease_reuse_seconds=flags["lease_reuse_duration_seconds"],
        healthcheck_seconds=flags["etcd_healthcheck_timeout"],
        readycheck_seconds=flags["etcd_readycheck_timeout"],
        reconciles_endpoints=flags.get("endpoint_reconciler_type", "lease") == "lease",
    )


def _usage(fault: str, hint: str) -> click.UsageError:
    return click.UsageError(f"{fault}\nhint: {hint}")
