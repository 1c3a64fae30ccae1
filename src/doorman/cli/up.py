"""`doorman up`: start a control plane and keep it running."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import yaml

from doorman.admission.admission_configuration import ConfigurationError, Configurations, read_configuration
from doorman.base.gates import FeatureGates
from doorman.cli.etcd_flags import etcd_options, etcd_settings_of
from doorman.cli.flag_types import ClockRate, Gates, GoDuration, NameList
from doorman.cli.loading import loading
from doorman.cli.paths import default_data_dir
from doorman.controllers.node.node_lifecycle_settings import NodeLifecycleSettings
from doorman.controllers.pods.pod_gc import PodGcSettings
from doorman.controllers.taint_eviction.taint_eviction import EvictionTimers, TaintEvictionSettings
from doorman.nodes.fleet import Fleet, FleetError, parse_fleet
from doorman.runtime.settings import Settings, without_aliases
from doorman.scheduler.config.config_file import read_config
from doorman.scheduler.config.plugin_args import ConfigError
from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.semantics.taints.toleration_lists import toleration_document
from doorman.store.store_contract import Unusable
from doorman.validation.pods.tolerations import toleration_errors

if TYPE_CHECKING:
    from doorman.runtime.kubeconfig_file import WrittenKubeconfig

NODES_DEFAULT: Final = 3
_POSITIVE: Final = ("node_monitor_period", "node_monitor_grace_period", "node_startup_grace_period")
_NOT_NEGATIVE: Final = ("node_eviction_rate", "secondary_node_eviction_rate", "eviction_rate")
_PATH: Final = click.Path(path_type=Path)


@click.command("up", context_settings={"show_default": True, "max_content_width": 100})
@click.option(
    "--nodes", type=click.IntRange(min=0), default=NODES_DEFAULT, help="Simulated nodes node-1 … node-N; 0 for none."
)
@click.option("--bind-address", default="127.0.0.1", help="Address to listen on.")
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
@click.option("--feature-gates", type=Gates(), default="", show_default=False, help="Feature gates to set.")
@click.option(
    "--controllers", type=NameList(), default="*", help="Controllers to run: '*', names, and '-name' to leave one out."
)
@click.option(
    "--enable-admission-plugins", type=NameList(), default="", show_default=False, help="Admission plugins to add."
)
@click.option(
    "--disable-admission-plugins",
    type=NameList(),
    default="",
    show_default=False,
    help="Admission plugins to leave out.",
)
@click.option(
    "--admission-control-config-file",
    type=_PATH,
    help="An AdmissionConfiguration, for PodTolerationRestriction and ResourceQuota.",
)
@click.option("--default-not-ready-toleration-seconds", type=int, default=300, help="Given to pods that do not say.")
@click.option("--default-unreachable-toleration-seconds", type=int, default=300, help="Given to pods that do not say.")
@click.option("--node-monitor-period", type=GoDuration(), default="5s", help="How often nodes are looked at.")
@click.option("--node-monitor-grace-period", type=GoDuration(), default="50s", help="Silence before a node is Unknown.")
@click.option("--node-startup-grace-period", type=GoDuration(), default="1m", help="The same for a node that starts.")
@click.option("--node-eviction-rate", type=float, default=0.1, help="Nodes tainted a second in a healthy zone.")
@click.option("--secondary-node-eviction-rate", type=float, default=0.01, help="The same in an unhealthy zone.")
@click.option("--large-cluster-size-threshold", type=int, default=50, help="Below it the secondary rate is zero.")
@click.option(
    "--unhealthy-zone-threshold", type=float, default=0.55, help="Share of nodes not ready in an unhealthy zone."
)
@click.option(
    "--terminated-pod-gc-threshold",
    type=int,
    default=12500,
    help="Finished pods that are kept; 0: all of them.",
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
@click.option(
    "--eviction-timers",
    type=click.Choice([timers.value for timers in EvictionTimers]),
    default=EvictionTimers.FROZEN.value,
    help="frozen: as Kubernetes; persistent: from the taint's timeAdded, through restarts.",
)
@click.option("--eviction-respect-pdb", is_flag=True, help="NoExecute waits for disruption budgets.")
@click.option("--eviction-rate", type=click.FloatRange(min=0), default=0.0, help="Pods evicted a second; 0: no limit.")
@click.option("--config", type=_PATH, help="A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1).")
@click.option("--nodes-config", type=_PATH, help="Simulated nodes by profile, instead of --nodes.")
@click.option(
    "--clock",
    type=ClockRate(),
    default="real",
    metavar="real|virtual|60x",
    help="virtual: stands still until `doorman clock` moves it; 60x: so many times as fast as real time.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log what the components do.")
def command(**flags: Any) -> None:  # click hands flags over by name
    """Start a control plane: API server, scheduler, controllers, simulated nodes.

    When it serves, one line on standard output says where and with which kubeconfig. SIGTERM or Ctrl-C stops it.
    """
    logging.basicConfig(
        level=logging.INFO if flags["verbose"] else logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    settings = settings_of(flags)
    check_names(settings)
    for warning in settings.gates.warnings:
        click.echo(f"warning: {warning}", err=True)
    with loading():
        from doorman.runtime.clock.clock_file import WrongClock
        from doorman.runtime.serve import serve  # the whole control plane: loaded when the flags are right

    try:
        serve(settings, _announce)
    except Unusable as error:
        click.echo(f"error: {error}\nhint: {error.hint}", err=True)
        sys.exit(2 if isinstance(error, WrongClock) else 1)


def check_names(settings: Settings) -> None:
    """Names of controllers and admission plugins that nobody knows are a mistake of the caller's."""
    from doorman.admission.chain import AdmissionSettings, build_chain
    from doorman.runtime.controller_registry import CONTROLLERS

    for element in settings.controllers:
        name = element.removeprefix("-")
        if name != "*" and name not in CONTROLLERS:
            raise click.UsageError(
                f'"{name}" is not in the list of known controllers\nhint: one of {", ".join(CONTROLLERS)}'
            )
    if settings.controllers and all(element.startswith("-") for element in settings.controllers):
        click.echo(
            "warning: --controllers names only controllers to leave out, so none runs\n"
            f"hint: --controllers='*,{','.join(settings.controllers)}' runs all others",
            err=True,
        )
    try:
        build_chain(
            AdmissionSettings(suffix=str),
            enabled=settings.enable_admission_plugins,
            disabled=settings.disable_admission_plugins,
        )
    except ValueError as error:
        raise click.UsageError(f"{error}\nhint: names look like PodTolerationRestriction") from error


def settings_of(flags: dict[str, Any]) -> Settings:
    in_memory = flags["in_memory"]
    if in_memory and flags["data_dir"] is not None:
        raise click.UsageError("--in-memory and --data-dir exclude each other\nhint: leave one of them out")
    if flags["clock"] is not None and flags["etcd_servers"] is not None:
        raise click.UsageError(
            "--clock and --etcd-servers exclude each other: others write the same etcd in real time\n"
            "hint: leave one of them out"
        )
    _check_numbers(flags)
    gates: FeatureGates = flags["feature_gates"]
    plugins = _plugins(flags["admission_control_config_file"], gates)
    return Settings(
        nodes=flags["nodes"],
        bind_address=flags["bind_address"],
        secure_port=flags["secure_port"],
        data_dir=None if in_memory else flags["data_dir"] or default_data_dir(),
        etcd=etcd_settings_of(flags),
        kubeconfig_out=flags["kubeconfig_out"],
        gates=gates,
        controllers=without_aliases(flags["controllers"]),
        enable_admission_plugins=flags["enable_admission_plugins"],
        disable_admission_plugins=flags["disable_admission_plugins"],
        toleration_restriction=plugins.restriction,
        quota_limits=plugins.limits,
        default_not_ready_toleration_seconds=flags["default_not_ready_toleration_seconds"],
        default_unreachable_toleration_seconds=flags["default_unreachable_toleration_seconds"],
        max_requests_inflight=flags["max_requests_inflight"],
        max_mutating_requests_inflight=flags["max_mutating_requests_inflight"],
        audit_log_path=flags["audit_log_path"],
        node_lifecycle=NodeLifecycleSettings(
            node_monitor_period_seconds=flags["node_monitor_period"],
            node_monitor_grace_period_seconds=flags["node_monitor_grace_period"],
            node_startup_grace_period_seconds=flags["node_startup_grace_period"],
            node_eviction_rate=flags["node_eviction_rate"],
            secondary_node_eviction_rate=flags["secondary_node_eviction_rate"],
            large_cluster_size_threshold=flags["large_cluster_size_threshold"],
            unhealthy_zone_threshold=flags["unhealthy_zone_threshold"],
        ),
        taint_eviction=TaintEvictionSettings(
            comparison_operators=gates.comparison_operators,
            timers=EvictionTimers(flags["eviction_timers"]),
            respects_budgets=flags["eviction_respect_pdb"],
            evictions_per_second=flags["eviction_rate"],
        ),
        pod_gc=PodGcSettings(terminated_pod_gc_threshold=flags["terminated_pod_gc_threshold"]),
        scheduler=_scheduler_config(flags["config"]),
        fleet=_fleet(flags["nodes_config"]),
        clock_rate=flags["clock"],
    )


def _check_numbers(flags: dict[str, Any]) -> None:  # what click has read
    """Numbers that no controller could work with."""
    bounds = (
        *((name, 0.0, None, "more than 0") for name in _POSITIVE),
        *((name, -0.0, None, "0 or more") for name in _NOT_NEGATIVE),
        ("unhealthy_zone_threshold", -0.0, 1.0, "between 0 and 1"),
    )
    for name, low, high, words in bounds:
        value = flags[name]
        is_low = value <= low if words.startswith("more") else value < low
        if is_low or (high is not None and value > high):
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} must be {words}\nhint: leave it out for kube-controller-manager's default")
    if flags["nodes_config"] is not None and flags["nodes"] != NODES_DEFAULT:
        raise click.UsageError("--nodes and --nodes-config exclude each other\nhint: leave one of them out")


def _scheduler_config(file: Path | None) -> SchedulerConfig:
    if file is None:
        return SchedulerConfig()
    try:
        return read_config(file.read_text())
    except OSError as error:
        raise click.UsageError(f"--config {file}: {error.strerror}\nhint: is the path right?") from error
    except ConfigError as error:
        raise click.UsageError(
            f"--config {file}: {error}\nhint: kind KubeSchedulerConfiguration, version v1"
        ) from error


def _plugins(file: Path | None, gates: FeatureGates) -> Configurations:
    if file is None:
        return Configurations()
    try:
        found = read_configuration(file.read_text(), lambda path: (file.parent / path).read_text())
    except OSError as error:
        at = error.filename or file
        raise click.UsageError(
            f"--admission-control-config-file {at}: {error.strerror}\nhint: is the path right?"
        ) from error
    except ConfigurationError as error:
        raise click.UsageError(
            f"--admission-control-config-file {file}: {error}\nhint: kind AdmissionConfiguration, "
            "version apiserver.config.k8s.io/v1"
        ) from error
    faults = [
        fault
        for field, tolerations in (("default", found.restriction.default), ("whitelist", found.restriction.whitelist))
        for fault in toleration_errors(
            [toleration_document(one) for one in tolerations],
            f"podtolerationrestriction.{field}",
            comparison_operators=gates.comparison_operators,
        )
    ]
    if faults:
        told = ", ".join(map(str, faults))
        raise click.UsageError(
            f"--admission-control-config-file {file}: invalid config: {told}\nhint: tolerations are written as in pods"
        )
    return found


def _fleet(file: Path | None) -> Fleet | None:
    if file is None:
        return None
    try:
        return parse_fleet(yaml.safe_load(file.read_text()))
    except OSError as error:
        raise click.UsageError(f"--nodes-config {file}: {error.strerror}\nhint: is the path right?") from error
    except (FleetError, yaml.YAMLError) as error:
        raise click.UsageError(f"--nodes-config {file}: {error}\nhint: see examples/nodes.yaml") from error


def _announce(address: str, written: "WrittenKubeconfig") -> None:
    print(f"ready {address} kubeconfig={written.file}", flush=True)
    if written.replaced_context:
        back = f"kubectl config use-context {written.replaced_context}"
        click.echo(f'note: the current context is "doorman" now; `{back}` goes back', err=True)
    click.echo(f"try:  export KUBECONFIG={written.file}\n      kubectl get nodes", err=True)
