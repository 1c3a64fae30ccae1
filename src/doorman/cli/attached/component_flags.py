"""The flags that `doorman scheduler`, `controllers` and `nodes` share, under upstream's names."""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import uvloop

from doorman.api.well_known import SYSTEM_NAMESPACE
from doorman.attached.component_settings import (
    ALWAYS_ALLOWED,
    ComponentSettings,
    ElectionSettings,
    ServingSettings,
)
from doorman.cli.flag_types import GoDuration, NameList
from doorman.client.leader_election import ElectionTimes

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from doorman.attached.component_process import Make
    from doorman.client.http.api_requests import ApiRequests
    from doorman.client.http.remote_client import RemoteClient

F = TypeVar("F", bound=Callable[..., Any])  # click's decorators take any function

_PATH: Final = click.Path(path_type=Path)


def component_flags(*, qps: float, burst: int, port: int, lease: str) -> Callable[[F], F]:
    options = (
        click.option("--kubeconfig", type=_PATH, help="Which server, and as whom.  [default: $KUBECONFIG, or a pod's]"),
        click.option("--context", default="", help="Which context of it.  [default: the current one]"),
        click.option("--master", default="", help="The server's URL, instead of that in the kubeconfig."),
        click.option("--kube-api-qps", type=float, default=qps, help="Requests a second; 0: no limit."),
        click.option("--kube-api-burst", type=int, default=burst, help="Requests at once."),
        *_election_flags(lease),
        click.option("--bind-address", default="0.0.0.0", help="Address of the port with health and metrics."),
        click.option("--secure-port", type=click.IntRange(0, 65535), default=port, help="That port; 0: none."),
        click.option("--tls-cert-file", type=_PATH, help="Its certificate.  [default: signed by itself]"),
        click.option("--tls-private-key-file", type=_PATH, help="Its key."),
        click.option("--client-ca-file", type=_PATH, help="Who signs certificates of those who ask it."),
        click.option("--authentication-kubeconfig", type=_PATH, help="With the next: who asks is looked up."),
        click.option("--authorization-kubeconfig", type=_PATH, help="Who may see metrics is looked up."),
        click.option(
            "--authorization-always-allow-paths",
            type=NameList(),
            default=",".join(ALWAYS_ALLOWED),
            help="Paths that everybody may see.",
        ),
        click.option("--check-access", is_flag=True, help="Say which rights are missing, and start nothing."),
        click.option("--verbosity", "--v", "-v", type=int, default=0, help="From 1 on: log what it does."),
    )

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _election_flags(lease: str) -> tuple[Callable[[F], F], ...]:
    return (
        click.option(
            "--leader-elect",
            is_flag=False,
            flag_value=True,
            type=bool,
            default=True,
            help="Act only while the lease is held.",
        ),
        click.option("--leader-elect-lease-duration", type=GoDuration(), default="15s", help="How long it is held."),
        click.option("--leader-elect-renew-deadline", type=GoDuration(), default="10s", help="Lost when not renewed."),
        click.option("--leader-elect-retry-period", type=GoDuration(), default="2s", help="How often it is tried."),
        click.option(
            "--leader-elect-resource-lock", type=click.Choice(["leases"]), default="leases", help="What it is."
        ),
        click.option("--leader-elect-resource-name", default=lease, help="Its name."),
        click.option("--leader-elect-resource-namespace", default=SYSTEM_NAMESPACE, help="Its namespace."),
    )


def component_settings(name: str, flags: Mapping[str, Any]) -> ComponentSettings:
    times = ElectionTimes(
        lease_seconds=flags["leader_elect_lease_duration"],
        renew_seconds=flags["leader_elect_renew_deadline"],
        retry_seconds=flags["leader_elect_retry_period"],
    )
    if flags["leader_elect"] and times.fault():
        raise click.UsageError(f"{times.fault()}\nhint: see --leader-elect-lease-duration")
    if (flags["tls_cert_file"] is None) != (flags["tls_private_key_file"] is None):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file go together\nhint: give both, or none")
    return ComponentSettings(
        name=name,
        kubeconfig=_kubeconfig(flags["kubeconfig"]),
        context=flags["context"],
        master=flags["master"],
        qps=flags["kube_api_qps"],
        burst=flags["kube_api_burst"],
        election=ElectionSettings(
            is_on=flags["leader_elect"],
            times=times,
            name=flags["leader_elect_resource_name"],
            namespace=flags["leader_elect_resource_namespace"],
        ),
        serving=ServingSettings(
            bind_address=flags["bind_address"],
            secure_port=flags["secure_port"],
            tls_cert_file=flags["tls_cert_file"],
            tls_private_key_file=flags["tls_private_key_file"],
            client_ca_file=flags["client_ca_file"],
            asks_server=flags["authorization_kubeconfig"] is not None,
            always_allowed=flags["authorization_always_allow_paths"],
        ),
    )


def _kubeconfig(given: Path | None) -> Path | None:
    if given is not None:
        return given
    named = [name for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    if named:
        return Path(named[0])
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return None
    raise click.UsageError("which server is not known\nhint: give --kubeconfig; `doorman up` writes one")


def set_up_logging(verbosity: int) -> None:
    logging.basicConfig(
        level=logging.INFO if verbosity > 0 else logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )


def run_or_check(
    settings: ComponentSettings,
    clients: "Callable[[ApiRequests], RemoteClient]",
    make: "Make",
    *,
    checks_access: bool,
) -> None:
    """Run a component, or say which rights it lacks, and leave with its exit code."""
    from doorman.attached.component_process import check_access, run_component

    if checks_access:
        run(lambda: check_access(settings, make, announce))
    else:
        run(lambda: run_component(settings, clients, make, announce))


def run(work: Callable[[], "Coroutine[Any, Any, int]"]) -> None:
    """Run a component and leave with its exit code."""
    from doorman.attached.component_process import PortTaken
    from doorman.client.command_line.unreachable import Unreachable

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            code = runner.run(work())
        except Unreachable as error:
            click.echo(f"error: {error}\nhint: {error.hint}", err=True)
            code = 1
        except PortTaken as error:
            click.echo(f"error: {error}\nhint: give another --secure-port, or 0 for none", err=True)
            code = 1
    sys.exit(code)


def announce(line: str) -> None:
    print(line, flush=True)
