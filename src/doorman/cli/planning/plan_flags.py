"""What all `doorman plan` commands, and `doorman failover`, share: their flags, and running the planner."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from doorman.cli.control_plane_flags import check_names, control_plane_flags, control_plane_settings
from doorman.cli.flag_types import GoDuration
from doorman.cli.planning.cluster_source import ProgressLine, bad_input, snapshot_from
from doorman.cli.server_connection import ClusterChoice, kubeconfig_option
from doorman.nodes.agent_settings import PodLives
from doorman.plan.plan_actions import PlanError, Step
from doorman.plan.plan_options import PlanOptions
from doorman.plan.plan_result import Plan
from doorman.plan.planner import plan
from doorman.runtime.settings import Settings
from doorman.snapshot.snapshot_format import Snapshot, SnapshotError

F = TypeVar("F", bound=Callable[..., Any])  # click's decorators take any function

FAIL_ON: Final = {
    "evictions": "evicted",
    "pending": "pending",
    "budgets": "budgets_broken",
    "below": "workloads_below",
    "preemptions": "preempted",
    "unreplaced": "not_replaced",
    "full": "nodes_full",
}
"""What `--fail-on` takes, and the member of the summary that must be 0."""


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for besides the action."""

    source: Path | None
    cluster: ClusterChoice
    options: PlanOptions
    as_it_is: PlanOptions
    """The same with the control plane's flags as they are by default."""
    output: str
    fail_on: tuple[str, ...]
    compares: bool


class FailOn(click.ParamType[tuple[str, ...]]):
    """A list with commas."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found = tuple(part.strip() for part in value.split(",") if part.strip())
        for one in found:
            if one not in FAIL_ON:
                self.fail(f'"{one}" is nothing to fail on\nhint: {", ".join(FAIL_ON)}', param, ctx)
        return found


_SOURCE: Final = (
    click.option(
        "--from",
        "source",
        type=click.Path(path_type=Path),
        help="A snapshot, or a dump by kubectl.  [default: the cluster as it is now]",
    ),
    click.option("--horizon", type=GoDuration(), default="1h", help="How far to look ahead."),
    click.option("--seed", type=int, default=1, help="Of names that are made up; one seed, one plan."),
    click.option("--pod-startup", type=GoDuration(), default="0s", help="How long pods take to start."),
    click.option("--pod-termination", type=GoDuration(), default="0s", help="How long pods take to stop."),
)
_OUTPUT: Final = (
    click.option("-o", "--output", type=click.Choice(["text", "json", "html"]), default="text", help="How to tell it."),
    click.option("--fail-on", type=FailOn(), default="", help=f"Exit with 3 if there are any: {', '.join(FAIL_ON)}."),
    click.option("--compare", "compares", is_flag=True, help="Show it beside the cluster as it is."),
)


def source_flags(command: F) -> F:
    """Where the cluster comes from and how the plan is made."""
    for option in reversed(_SOURCE):
        command = option(command)
    return control_plane_flags(command)


def plan_flags(command: F) -> F:
    """All of them; the command is given one `PlanRequest` under the name `request`."""

    @functools.wraps(command)
    def with_request(**flags: Any) -> Any:  # click's
        own = command.__code__.co_varnames[: command.__code__.co_argcount + command.__code__.co_kwonlyargcount]
        request = request_of(flags)
        return command(request=request, **{name: value for name, value in flags.items() if name in own})

    wrapped: Any = with_request
    for option in reversed(_OUTPUT):
        wrapped = option(wrapped)
    return kubeconfig_option(source_flags(wrapped))  # type: ignore[no-any-return]  # a function still


def request_of(flags: dict[str, Any]) -> PlanRequest:
    options = options_of(flags)
    return PlanRequest(
        source=flags["source"],
        cluster=flags["cluster"],
        options=options,
        as_it_is=msgspec.structs.replace(options, settings=Settings(pod_lives=options.settings.pod_lives)),
        output=flags["output"],
        fail_on=flags["fail_on"],
        compares=flags["compares"],
    )


def options_of(flags: dict[str, Any]) -> PlanOptions:
    settings = control_plane_settings(flags)
    check_names(settings)
    lives = PodLives(startup_seconds=flags["pod_startup"], termination_seconds=flags["pod_termination"])
    settings = msgspec.structs.replace(settings, pod_lives=lives)
    return PlanOptions(settings=settings, horizon_seconds=flags["horizon"], seed=flags["seed"])


def planned(request: PlanRequest, steps: Sequence[Step]) -> tuple[Plan, Plan | None]:
    """The plan, and, to compare, that of the cluster as it is. What is wrong ends the command with 2."""
    progress = ProgressLine()
    snapshot = snapshot_from(request.source, request.cluster, progress)
    found = made(snapshot, steps, request.options, progress)
    if not request.compares:
        return found, None
    is_other = request.as_it_is.settings != request.options.settings
    return found, made(snapshot, steps if is_other else (), request.as_it_is, progress)


def made(snapshot: Snapshot, steps: Sequence[Step], options: PlanOptions, progress: ProgressLine) -> Plan:
    try:
        return plan(snapshot, steps, options, progress=progress.share)
    except (PlanError, SnapshotError) as error:
        progress.clear()
        bad_input(str(error), error.hint)
    finally:
        progress.clear()
