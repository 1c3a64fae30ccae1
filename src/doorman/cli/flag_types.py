"""What flags may be: durations as Go writes them, feature gates, lists, a clock's speed."""

import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from doorman.base.durations import parse_duration
from doorman.base.gates import FeatureGates, GateError, parse_gates
from doorman.cli.kubectl_words import go_bool

F = TypeVar("F", bound=Callable[..., Any])  # click's decorators take any function

CLOCK_RATE_MAX: Final = 10_000.0


class GoDuration(click.ParamType[float]):
    """`50s`, `1m30s`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(f'{error}\nhint: durations look like "50s", "1m30s" or "2h"', param, ctx)


class Gates(click.ParamType[FeatureGates]):
    """`A=true,B=false`."""

    name = "A=true,B=false"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> FeatureGates:
        if isinstance(value, FeatureGates):
            return value
        try:
            return parse_gates(value)
        except GateError as error:
            self.fail(f"{error}\nhint: gates look like TaintTolerationComparisonOperators=false", param, ctx)


class ClockRate(click.ParamType[float | None]):
    """`real` (None), `virtual` (0) or how many times as fast as real time."""

    name = "clock"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        if value is None or isinstance(value, float):
            return value
        if value in ("real", "virtual"):
            return None if value == "real" else 0.0
        try:
            rate = float(value.removesuffix("x")) if value.endswith("x") else 0.0
        except ValueError:
            rate = 0.0
        if not 0 < rate <= CLOCK_RATE_MAX:
            self.fail(f'"{value}" is no clock\nhint: real, virtual, or a speed up to 10000x such as 60x', param, ctx)
        return rate


class OptionalTruth(click.ParamType[bool | None]):
    """True, false, or not said."""

    name = "bool"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:  # noqa: ARG002
        if isinstance(value, bool):
            return value
        assert isinstance(param, click.Option), "given on the command line"
        return go_bool(value, param)


class DryRun(click.ParamType[str]):
    """`none`, `client` or `server`, with kubectl's words for others; `unchanged` is the flag without more."""

    name = "none|client|server"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        if value == "unchanged":
            click.echo("Warning: --dry-run is deprecated and can be replaced with --dry-run=client.", err=True)
            return "client"
        if value not in ("none", "client", "server"):
            click.echo(f'error: Invalid dry-run value ({value}). Must be "none", "server", or "client".', err=True)
            sys.exit(1)
        return str(value)


def dry_run_option(help_: str) -> Callable[[F], F]:
    return click.option("--dry-run", type=DryRun(), default="none", is_flag=False, flag_value="unchanged", help=help_)


class NameList(click.ParamType[tuple[str, ...]]):
    """A list with commas."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ARG002
        if isinstance(value, tuple):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())
