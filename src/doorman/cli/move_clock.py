"""`doorman clock`: the clock of a server that was started with `--clock`."""

import sys
from typing import Any

import click

from doorman.api.well_known import CLOCK_PATH
from doorman.base.durations import human_span, parse_duration
from doorman.base.errors import ApiError
from doorman.base.instants import from_time, to_time
from doorman.cli.error_output import fail_with
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.unreachable import Unreachable


@click.group("clock", invoke_without_command=True)
@kubeconfig_option
@click.pass_context
def command(ctx: click.Context, cluster: ClusterChoice) -> None:
    """Show the cluster's clock, or move it.

    \b
    doorman up --clock=virtual        it stands still until it is told
    doorman clock                     what it shows
    doorman clock advance 5m          everything of those five minutes happens
    doorman clock run-until-idle      until nothing more happens
    """
    ctx.obj = cluster
    if ctx.invoked_subcommand is None:
        print(_told(_request(connect(cluster), "GET", None)))


@command.command("advance")
@click.argument("span", metavar="DURATION")
@kubeconfig_option
@click.pass_context
def advance(ctx: click.Context, span: str, cluster: ClusterChoice) -> None:
    """Let so much time pass: 90s, 5m, 1h30m.

    \b
    doorman clock advance 5m
    """
    _check_span("DURATION", span)
    client = connect(cluster if cluster.is_named else ctx.obj)
    print(_told(_move(client, {"advance": span}, {})))


@command.command("run-until-idle")
@click.option("--quiet", default="10m", show_default=True, help="Idle is when nothing has changed for so long.")
@click.option("--limit", default="24h", show_default=True, help="So far at most.")
@kubeconfig_option
@click.pass_context
def run_until_idle(ctx: click.Context, quiet: str, limit: str, cluster: ClusterChoice) -> None:
    """Let time pass until nothing changes and nothing is waited for any more.

    Leases, events and nodes that report nothing new do not count. Exit status 1: it was not idle by the limit.

    \b
    doorman clock run-until-idle
    doorman clock run-until-idle --quiet 1m --limit 1h
    """
    _check_span("--quiet", quiet)
    _check_span("--limit", limit)
    client = connect(cluster if cluster.is_named else ctx.obj)
    found = _move(
        client, {"runUntilIdle": True, "quiet": quiet, "limit": limit}, {"runUntilIdle": True, "quiet": quiet}
    )
    print(f"{_told(found)}, last change {_second(found['changedAt'])}")
    if not found["isIdle"]:
        hint = "what happens again and again, such as a CronJob, never ends; --limit sets another end"
        click.echo(f"error: not idle within {limit}\nhint: {hint}", err=True)
        sys.exit(1)


def _move(client: HttpClient, first: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """As many requests as it takes, with the way that is left shown to people who wait."""
    found = _request(client, "POST", first)
    while not found["isDone"]:
        if sys.stderr.isatty():
            left = from_time(found["target"]) - from_time(found["now"])
            click.echo(f"\r{_second(found['now'])}, {human_span(left)} to go \x1b[K", nl=False, err=True)
        found = _request(client, "POST", {**again, "advanceTo": found["target"]})
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", nl=False, err=True)
    return found


def _request(client: HttpClient, method: str, body: dict[str, Any] | None) -> dict[str, Any]:
    try:
        found: dict[str, Any] = client.request(method, CLOCK_PATH, body=body)
    except ApiError as error:
        if error.code == 409:
            raise click.UsageError(f"{error}\nhint: doorman up --clock=virtual") from None
        fail_with([error])
    except Unreachable as error:
        fail_with([error])
    return found


def _told(found: dict[str, Any]) -> str:
    pace = {0.0: "virtual, stands still", 1.0: "real"}.get(found["rate"], f"virtual, {found['rate']:g}x")
    if found["mode"] == "virtual" and found["rate"] == 1.0:
        pace = "virtual, 1x"
    return f"{_second(found['now'])}  {pace}"


def _second(text: str) -> str:
    return to_time(from_time(text))


def _check_span(name: str, text: str) -> None:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise click.UsageError(f"{name}: {error}\nhint: write 90s, 5m or 1h30m") from None
    if seconds <= 0:
        raise click.UsageError(f"{name} must be more than nothing: {text}\nhint: time does not run backwards")
