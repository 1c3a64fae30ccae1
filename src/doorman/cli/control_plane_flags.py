"""The flags of a control plane that more than one command takes, under the names that kube-controller-manager has.

`doorman up` runs what they describe; `doorman plan` asks what would be if it ran so.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from doorman.admission.admission_configuration import ConfigurationError, Configurations, read_configuration
from doorman.base.gates import FeatureGates
from doorman.base.process_memory import loading
from doorman.cli.flag_types import Gates, GoDuration, NameList
from doorman.controllers.node.node_lifecycle_settings import NodeLifecycleSettings
from doorman.controllers.pods.pod_gc import PodGcSettings
from doorman.controllers.taint_eviction.taint_eviction import EvictionTimers, TaintEvictionSettings
from doorman.controllers.volumes.attach_detach_settings import AttachDetachSettings
from doorman.runtime.settings import Settings, without_aliases
from doorman.scheduler.config.config_file import read_config
from doorman.scheduler.config.plugin_args import ConfigError
from doorman.scheduler.config.scheduler_config import SchedulerConfig
from doorman.semantics.taints.toleration_lists import toleration_document
from doorman.validation.pods.tolerations import toleration_errors

F = TypeVar("F", bound=Callable[..., Any])  # click's decorators take any function

_POSITIVE: Final = ("node_monitor_period", "node_monitor_grace_period", "node_startup_grace_period")
_NOT_NEGATIVE: Final = ("node_eviction_rate", "secondary_node_eviction_rate", "eviction_rate")
_PATH: Final = click.Path(path_type=Path)


_FIRST_FLAGS: Final = (
    click.option("--feature-gates", type=Gates(), default="", show_default=False, help="Feature gates to set."),
    click.option(
        "--controllers",
        type=NameList(),
        default="*",
        help="Controllers to run: '*', names, and '-name' to leave one out.",
    ),
)

_API_SERVER_FLAGS: Final = (
    click.option(
        "--enable-admission-plugins", type=NameList(), default="", show_default=False, help="Admission plugins to add."
    ),
    click.option(
        "--disable-admission-plugins",
        type=NameList(),
        default="",
        show_default=False,
        help="Admission plugins to leave out.",
    ),
    click.option(
        "--admission-control-config-file",
        type=_PATH,
        help="An AdmissionConfiguration, for PodTolerationRestriction and ResourceQuota.",
    ),
    click.option(
        "--default-not-ready-toleration-seconds", type=int, default=300, help="Given to pods that do not say."
    ),
    click.option(
        "--default-unreachable-toleration-seconds", type=int, default=300, help="Given to pods that do not say."
    ),
)

_CONTROLLER_FLAGS: Final = (
    click.option("--node-monitor-period", type=GoDuration(), default="5s", help="How often nodes are looked at."),
    click.option(
        "--node-monitor-grace-period", type=GoDuration(), default="50s", help="Silence before a node is Unknown."
    ),
    click.option(
        "--node-startup-grace-period", type=GoDuration(), default="1m", help="The same for a node that starts."
    ),
    click.option("--node-eviction-rate", type=float, default=0.1, help="Nodes tainted a second in a healthy zone."),
    click.option("--secondary-node-eviction-rate", type=float, default=0.01, help="The same in an unhealthy zone."),
    click.option("--large-cluster-size-threshold", type=int, default=50, help="Below it the secondary rate is zero."),
    click.option(
        "--unhealthy-zone-threshold", type=float, default=0.55, help="Share of nodes not ready in an unhealthy zone."
    ),
    click.option(
        "--concurrent-device-taint-eviction-syncs",
        type=click.IntRange(min=1),
        default=256,
        help="Pods and rules that are looked at, at once, because of devices' taints.",
    ),
    click.option(
        "--disable-force-detach-on-timeout",
        is_flag=True,
        help="Volumes in use on a lost node stay attached; otherwise they are detached after six minutes.",
    ),
    click.option(
        "--terminated-pod-gc-threshold",
        type=int,
        default=12500,
        help="Finished pods that are kept; 0: all of them.",
    ),
    click.option(
        "--eviction-timers",
        type=click.Choice([timers.value for timers in EvictionTimers]),
        default=EvictionTimers.FROZEN.value,
        help="frozen: as Kubernetes; persistent: from the taint's timeAdded, through restarts.",
    ),
    click.option("--eviction-respect-pdb", is_flag=True, help="NoExecute waits for disruption budgets."),
    click.option(
        "--eviction-rate", type=click.FloatRange(min=0), default=0.0, help="Pods evicted a second; 0: no limit."
    ),
)

_SCHEDULER_FLAGS: Final = (
    click.option("--config", type=_PATH, help="A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)."),
)

_FLAGS: Final = (*_FIRST_FLAGS, *_API_SERVER_FLAGS, *_CONTROLLER_FLAGS, *_SCHEDULER_FLAGS)

_WITHOUT_API_SERVER: Final = {
    "enable_admission_plugins": (),
    "disable_admission_plugins": (),
    "admission_control_config_file": None,
    "default_not_ready_toleration_seconds": 300,
    "default_unreachable_toleration_seconds": 300,
    "config": None,
}
"""What those flags are for a command that runs controllers alone."""


def control_plane_flags(command: F) -> F:
    """All of them, for a click command; `control_plane_settings` reads what was given."""
    for option in reversed(_FLAGS):
        command = option(command)
    return command


def controller_flags(command: F) -> F:
    """Those of controllers alone; `controller_settings` reads what was given."""
    for option in reversed((*_FIRST_FLAGS, *_CONTROLLER_FLAGS)):
        command = option(command)
    return command


def controller_settings(flags: dict[str, Any]) -> Settings:
    return control_plane_settings({**_WITHOUT_API_SERVER, **flags})


def control_plane_settings(flags: dict[str, Any]) -> Settings:
    """Settings that say nothing of where to listen, what to keep and which nodes there are."""
    _check_numbers(flags)
    gates: FeatureGates = flags["feature_gates"]
    plugins = _plugins(flags["admission_control_config_file"], gates)
    return Settings(
        gates=gates,
        controllers=without_aliases(flags["controllers"]),
        enable_admission_plugins=flags["enable_admission_plugins"],
        disable_admission_plugins=flags["disable_admission_plugins"],
        toleration_restriction=plugins.restriction,
        quota_limits=plugins.limits,
        default_not_ready_toleration_seconds=flags["default_not_ready_toleration_seconds"],
        default_unreachable_toleration_seconds=flags["default_unreachable_toleration_seconds"],
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
        attach_detach=AttachDetachSettings(disable_force_detach_on_timeout=flags["disable_force_detach_on_timeout"]),
        device_taint_eviction_workers=flags["concurrent_device_taint_eviction_syncs"],
        pod_gc=PodGcSettings(terminated_pod_gc_threshold=flags["terminated_pod_gc_threshold"]),
        scheduler=scheduler_config(flags["config"]),
    )


def check_names(settings: Settings) -> None:
    """Names of controllers and admission plugins that nobody knows are a mistake of the caller's."""
    with loading():
        from doorman.admission.chain import AdmissionSettings, build_chain

    _check_controllers(settings.controllers)
    try:
        build_chain(
            AdmissionSettings(suffix=str),
            enabled=settings.enable_admission_plugins,
            disabled=settings.disable_admission_plugins,
        )
    except ValueError as error:
        raise click.UsageError(f"{error}\nhint: names look like PodTolerationRestriction") from error
    if settings.scheduler != SchedulerConfig():
        _check_plugins(settings)


def _check_controllers(elements: Sequence[str]) -> None:
    names = [element.removeprefix("-") for element in elements if element.removeprefix("-") != "*"]
    if names:  # all of them are half of a program
        from doorman.runtime.controller_registry import CONTROLLERS

        unknown = next((name for name in names if name not in CONTROLLERS), None)
        if unknown is not None:
            raise click.UsageError(
                f'"{unknown}" is not in the list of known controllers\nhint: one of {", ".join(CONTROLLERS)}'
            )
    if elements and all(element.startswith("-") for element in elements):
        click.echo(
            "warning: --controllers names only controllers to leave out, so none runs\n"
            f"hint: --controllers='*,{','.join(elements)}' runs all others",
            err=True,
        )


def _check_plugins(settings: Settings) -> None:
    """Plugins of the scheduler that are not there."""
    from doorman.scheduler.out_of_tree_plugins import find_plugins
    from doorman.scheduler.scheduler import Scheduler

    try:
        Scheduler(settings.scheduler, comparison_operators=settings.gates.comparison_operators, plugins=find_plugins())
    except (ValueError, ImportError) as error:
        hint = "a plugin of somebody else must be installed beside Doorman: see docs/scheduler.md"
        raise click.UsageError(f"--config: plugin {error}\nhint: {hint}") from error


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


def scheduler_config(file: Path | None) -> SchedulerConfig:
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
