"""`doorman failover`: how long a workload is not whole when its node, or its zone, dies."""

from typing import Any

import click
import msgspec

from doorman.cli.planning.cluster_source import ProgressLine, bad_input, snapshot_from
from doorman.cli.planning.plan_flags import options_of, source_flags
from doorman.cli.server_connection import kubeconfig_option
from doorman.plan.failover_planner import HORIZON_SECONDS, FailoverRequest, failover
from doorman.plan.plan_actions import PlanError
from doorman.plan.plan_options import HORIZON_SECONDS as PLAN_HORIZON_SECONDS
from doorman.plan.plan_script import seconds_of
from doorman.plan.reports.failover_text import failover_text
from doorman.snapshot.snapshot_format import SnapshotError


@click.command("failover", context_settings={"show_default": True, "max_content_width": 100})
@click.argument("workload", default="")
@click.option("--zone", default="", help="Lose a whole zone.")
@click.option("--node", default="", help="Lose this node.  [default: the one with most of the workload's pods]")
@click.option("--target", default="", metavar="DURATION", help="Propose what would make it as fast as this.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to tell it.")
@source_flags
@kubeconfig_option
def command(**flags: Any) -> None:  # click hands flags over by name
    """Say how long until a WORKLOAD (web, deployment/web, shop/deployment/web; or all) is whole again.

    \b
    doorman failover web
    doorman failover --zone a --from cluster.jsonl.gz
    doorman failover deployment/web --target 60s
    """
    progress = ProgressLine()
    try:
        target = seconds_of(flags["target"], "--target") if flags["target"] else None
        if target == 0:
            raise PlanError("--target must be more than nothing", "--target 60s")
        if flags["zone"] and flags["node"]:
            raise PlanError("--zone and --node exclude each other", "leave one of them out")
        request = FailoverRequest(
            workload=flags["workload"], zone=flags["zone"], node=flags["node"], target_seconds=target
        )
        options = options_of(flags)
        if options.horizon_seconds == PLAN_HORIZON_SECONDS:
            options = msgspec.structs.replace(options, horizon_seconds=HORIZON_SECONDS)
        snapshot = snapshot_from(flags["source"], flags["cluster"], progress)
        report = failover(snapshot, request, options, progress=progress.share)
    except (PlanError, SnapshotError) as error:
        progress.clear()
        bad_input(str(error), error.hint)
    progress.clear()
    if flags["output"] == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        click.echo(failover_text(report), nl=False)
