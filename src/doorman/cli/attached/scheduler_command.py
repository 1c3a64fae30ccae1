"""`doorman scheduler`: the scheduler against an API server, with kube-scheduler's flags."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
import yaml
from click.core import ParameterSource

from doorman.base.durations import parse_duration
from doorman.base.process_memory import loading
from doorman.cli.attached.component_flags import component_flags, component_settings, run_or_check, set_up_logging
from doorman.cli.attached.known_flags import SCHEDULER_SWITCHES, SCHEDULER_VALUES, check_rest
from doorman.cli.control_plane_flags import scheduler_config
from doorman.cli.flag_types import Gates

NAME: Final = "scheduler"
PORT: Final = 10259

_IN_FILE: Final[Mapping[str, tuple[str, str]]] = {
    "kubeconfig": ("clientConnection", "kubeconfig"),
    "kube_api_qps": ("clientConnection", "qps"),
    "kube_api_burst": ("clientConnection", "burst"),
    "leader_elect": ("leaderElection", "leaderElect"),
    "leader_elect_lease_duration": ("leaderElection", "leaseDuration"),
    "leader_elect_renew_deadline": ("leaderElection", "renewDeadline"),
    "leader_elect_retry_period": ("leaderElection", "retryPeriod"),
    "leader_elect_resource_name": ("leaderElection", "resourceName"),
    "leader_elect_resource_namespace": ("leaderElection", "resourceNamespace"),
}
"""Flags that the configuration file may say instead, when they are not given."""


@click.command(
    NAME,
    context_settings={
        "show_default": True,
        "max_content_width": 100,
        "ignore_unknown_options": True,
        "allow_extra_args": True,
    },
)
@click.option("--config", type=click.Path(path_type=Path), help="A KubeSchedulerConfiguration.")
@click.option("--feature-gates", type=Gates(), default="", show_default=False, help="Feature gates to set.")
@component_flags(qps=50.0, burst=100, port=PORT, lease="kube-scheduler")
@click.pass_context
def command(ctx: click.Context, /, **flags: Any) -> None:  # click hands flags over by name
    """Run the scheduler against an API server, as kube-scheduler does.

    When everything it needs to know has been read, one line on standard output says so. SIGTERM or Ctrl-C stops it.

    \b
    doorman scheduler --kubeconfig admin.conf
    doorman scheduler --kubeconfig admin.conf --config scheduler.yaml
    """
    set_up_logging(flags["verbosity"])
    check_rest(ctx.args, SCHEDULER_VALUES, SCHEDULER_SWITCHES)
    config = scheduler_config(flags["config"])
    if flags["config"] is not None:
        flags = {**flags, **_said_in(flags["config"], ctx)}
    settings = component_settings(NAME, flags)
    gates = flags["feature_gates"]
    with loading():
        from doorman.attached.scheduler_component import SchedulerComponent, scheduler_client

    run_or_check(
        settings,
        scheduler_client,
        lambda around: SchedulerComponent(around, config, gates),
        checks_access=flags["check_access"],
    )


def _said_in(file: Path, ctx: click.Context) -> dict[str, Any]:
    """What the file says of the process, for flags that were not given."""
    document = yaml.safe_load(file.read_text())
    found: dict[str, Any] = {}
    for flag, (section, member) in _IN_FILE.items():
        value: Any = (document.get(section) or {}).get(member)
        if value in (None, "") or ctx.get_parameter_source(flag) is ParameterSource.COMMANDLINE:
            continue
        try:
            if flag in ("leader_elect_lease_duration", "leader_elect_renew_deadline", "leader_elect_retry_period"):
                value = parse_duration(str(value))
        except ValueError as error:
            raise click.UsageError(f"--config {file}: {section}.{member}: {error}\nhint: such as 15s") from error
        found[flag] = Path(value) if flag == "kubeconfig" else value
    return found
