"""`doorman up`: start a control plane and keep it running."""

import logging
import re
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
import yaml

from doorman.base.process_memory import loading
from doorman.cli.control_plane_flags import check_names, control_plane_flags, control_plane_settings
from doorman.cli.flag_types import ClockRate
from doorman.cli.servers.background_server import (
    DEFAULT_CLUSTER,
    NotStarted,
    directory_of,
    find_server,
    server_log,
    start,
)
from doorman.cli.storage.etcd_flags import etcd_options, etcd_settings_of
from doorman.nodes.fleet import Fleet, FleetError, parse_fleet
from doorman.runtime.settings import Settings
from doorman.store.store_contract import Entry, Unusable

if TYPE_CHECKING:
    from doorman.runtime.access.kubeconfig_file import WrittenKubeconfig

_PATH: Final = click.Path(path_type=Path)

TRY: Final = "try:  "
"""Begins the last thing that a server says when it serves."""


@click.command("up", context_settings={"show_default": True, "max_content_width": 100})
@click.option(
    "--nodes",
    type=click.IntRange(min=0),
    help="Simulated nodes node-1 … node-N; 0 for none.  [default: 3 where nothing is stored yet]",
)
@click.option(
    "--components",
    type=bool,
    default=True,
    help="false: the API server alone; `doorman scheduler`, `controllers` and `nodes` run against it.",
)
@click.option("--bind-address", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--advertise-address",
    default="",
    metavar="ADDRESS",
    help="Under which others reach this server.  [default: the one it listens on, or the machine's]",
)
@click.option(
    "--tls-san", multiple=True, metavar="NAME", help="A name or address the certificate is to be for, too. Repeatable."
)
@click.option("--secure-port", type=click.IntRange(0, 65535), default=6443, help="Port to listen on; 0 for a free one.")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Where everything is kept.  [default: in the user's state folder]",
)
@click.option("--in-memory", is_flag=True, help="Keep nothing: everything is gone when the process ends.")
@etcd_options
@click.option(
    "--kubeconfig-out",
    type=click.Path(path_type=Path),
    help="Where to write the kubeconfig.  [default: in the data directory]",
)
@click.option(
    "--max-requests-inflight", type=click.IntRange(min=1), default=400, help="Requests that read, worked on at once."
)
@click.option(
    "--max-mutating-requests-inflight",
    type=click.IntRange(min=1),
    default=200,
    help="Requests that write, worked on at once.",
)
@click.option("--audit-log-path", type=_PATH, help="Where to log who did what, one JSON line a request.")
@click.option("--nodes-config", type=_PATH, help="Simulated nodes by profile, instead of --nodes.")
@click.option(
    "--simulate-provisioners",
    is_flag=True,
    help="Volumes of every storage class are simulated, not only those of `standard`: nobody else makes any.",
)
@click.option(
    "--from",
    "source",
    type=_PATH,
    help="Take up a cluster: a file of `doorman snapshot save`, or a dump by kubectl. Its nodes become simulated.",
)
@click.option(
    "--clock",
    type=ClockRate(),
    default="real",
    metavar="real|virtual|60x",
    help="virtual: stands still until `doorman clock` moves it; 60x: so many times as fast as real time.",
)
@control_plane_flags
@click.option(
    "--name", default=DEFAULT_CLUSTER, help="Which of your clusters: each keeps its own, in a folder of its own."
)
@click.option("--detach", "-d", is_flag=True, help="Run in the background; see `doorman status`, `logs` and `down`.")
@click.option("--verbose", "-v", is_flag=True, help="Log what the components do.")
def command(**flags: Any) -> None:  # click hands flags over by name
    """Start a control plane: API server, scheduler, controllers, simulated nodes.

    When it serves, one line on standard output says where and with which kubeconfig. SIGTERM or Ctrl-C stops it.

    \b
    doorman up                                      three simulated nodes, everything kept in your state folder
    doorman up --nodes 10 --in-memory               ten, and nothing kept
    doorman up --detach --name ci                   in the background; see doorman status, logs and down
    doorman up --clock=virtual --in-memory          a clock that doorman clock moves
    doorman up --from cluster.jsonl.gz              a cluster that doorman snapshot has saved
    """
    _check_cluster_name(flags["name"])
    if flags["detach"]:
        settings_of(flags)  # what is wrong with the flags is told at once
        _detach(flags["name"])
        return
    logging.basicConfig(
        level=logging.INFO if flags["verbose"] else logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    settings = settings_of(flags)
    check_names(settings)
    initial: tuple[Entry, ...] = ()
    if flags["source"] is not None:
        settings, initial = _taken_up(settings, flags["source"])
    for warning in settings.gates.warnings:
        click.echo(f"warning: {warning}", err=True)
    with loading():
        from doorman.runtime.clock.clock_file import WrongClock
        from doorman.runtime.real_time.serve import serve

    try:
        serve(settings, _announce, initial)
    except Unusable as error:
        click.echo(f"error: {error}\nhint: {error.hint}", err=True)
        sys.exit(2 if isinstance(error, WrongClock) else 1)


def _check_cluster_name(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name):
        raise click.UsageError(f'--name "{name}" is no name\nhint: small letters, digits and "-", such as ci-1')


def _detach(name: str) -> None:
    running = find_server(name)
    if running is not None and running.is_running:
        click.echo(f'cluster "{name}" runs already: {running.address} kubeconfig={running.kubeconfig}')
        return
    arguments = [word for word in sys.argv[2:] if word not in ("--detach", "-d")]
    if name != DEFAULT_CLUSTER and not any(word.startswith("--secure-port") for word in arguments):
        arguments += ["--secure-port", "0"]  # several may run at once
    try:
        server = start(name, arguments)
    except NotStarted as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    click.echo(server_log(name).partition(TRY)[0], nl=False, err=True)  # of flags and files
    click.echo(f"ready {server.address} kubeconfig={server.kubeconfig}")
    click.echo(_what_to_try(server.kubeconfig), err=True)


def _taken_up(settings: Settings, source: Path) -> tuple[Settings, tuple[Entry, ...]]:
    """Settings with which a cluster goes on, and what is in it."""
    with loading():
        from doorman.snapshot.object_restoration import restored
        from doorman.snapshot.snapshot_file import load
        from doorman.snapshot.snapshot_format import SnapshotError
    try:
        found = restored(load(source))
    except SnapshotError as error:
        raise click.UsageError(f"--from {source}: {error}\nhint: {error.hint}") from error
    lives = settings.pod_lives
    if found.had_real_nodes:
        lives = msgspec.structs.replace(lives, job_run_seconds=None)
    return msgspec.structs.replace(settings, resumed_at=found.resumed_at, pod_lives=lives), found.entries


def settings_of(flags: dict[str, Any]) -> Settings:
    in_memory = flags["in_memory"]
    if in_memory and flags["data_dir"] is not None:
        raise click.UsageError("--in-memory and --data-dir exclude each other\nhint: leave one of them out")
    if flags["clock"] is not None and flags["etcd_servers"] is not None:
        raise click.UsageError(
            "--clock and --etcd-servers exclude each other: others write the same etcd in real time\n"
            "hint: leave one of them out"
        )
    if flags["nodes_config"] is not None and flags["nodes"] is not None:
        raise click.UsageError("--nodes and --nodes-config exclude each other\nhint: leave one of them out")
    if flags["source"] is not None and (flags["nodes_config"] is not None or flags["nodes"] is not None):
        raise click.UsageError("--from brings its own nodes\nhint: leave --nodes and --nodes-config out")
    if not flags["components"] and (flags["nodes_config"] is not None or flags["nodes"]):
        raise click.UsageError("--components=false runs no nodes\nhint: give --nodes to `doorman nodes`")
    return msgspec.structs.replace(
        control_plane_settings(flags),
        components=flags["components"],
        nodes=0 if flags["source"] is not None else flags["nodes"],
        bind_address=flags["bind_address"],
        advertise_address=_address(flags["advertise_address"]),
        tls_names=flags["tls_san"],
        secure_port=flags["secure_port"],
        data_dir=None if in_memory else flags["data_dir"] or directory_of(flags["name"]),
        etcd=etcd_settings_of(flags),
        kubeconfig_out=flags["kubeconfig_out"],
        kubeconfig_name="doorman" if flags["name"] == DEFAULT_CLUSTER else f"doorman-{flags['name']}",
        max_requests_inflight=flags["max_requests_inflight"],
        max_mutating_requests_inflight=flags["max_mutating_requests_inflight"],
        audit_log_path=flags["audit_log_path"],
        fleet=read_fleet(flags["nodes_config"]),
        clock_rate=flags["clock"],
        plays_provisioners=flags["simulate_provisioners"],
    )


def _address(text: str) -> str:
    try:
        return str(ip_address(text)) if text else ""
    except ValueError as error:
        raise click.UsageError(f"--advertise-address: {error}\nhint: such as 10.0.0.7") from error


def read_fleet(file: Path | None) -> Fleet | None:
    if file is None:
        return None
    try:
        return parse_fleet(yaml.safe_load(file.read_text()))
    except OSError as error:
        raise click.UsageError(f"--nodes-config {file}: {error.strerror}\nhint: is the path right?") from error
    except (FleetError, yaml.YAMLError) as error:
        raise click.UsageError(f"--nodes-config {file}: {error}\nhint: see examples/nodes.yaml") from error


def _announce(address: str, written: "WrittenKubeconfig") -> None:
    if written.replaced_context:
        back = f"kubectl config use-context {written.replaced_context}"
        click.echo(f'note: the current context is "{written.context}" now; `{back}` goes back', err=True)
    print(f"ready {address} kubeconfig={written.file}", flush=True)
    click.echo(_what_to_try(str(written.file)), err=True)


def _what_to_try(kubeconfig: str) -> str:
    return f"{TRY}export KUBECONFIG={kubeconfig}\n      kubectl get nodes"
