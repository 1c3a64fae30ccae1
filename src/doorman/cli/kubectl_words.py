"""Commands that kubectl has, too: what is wrong with their flags is told in its words, with its exit status."""

from collections.abc import Sequence
from typing import Any, NoReturn

import click

from doorman.cli.server_connection import fail


class KubectlCommand(click.Command):
    """What click would tell of a flag with a usage and status 2 is told as pflag does, with status 1.

    | typed | told |
    |---|---|
    | `--nope` | unknown flag: --nope |
    | `-z` | unknown shorthand flag: 'z' in -z |
    | `--output` without more | flag needs an argument: --output |
    | `--timeout=soon` | invalid argument "soon" for "--timeout" flag: time: invalid duration "soon" |
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            _fail_for_flag(ctx, _unknown(error.option_name, typed), *map(_meant, (error.possibilities or ())[:1]))
        except click.BadOptionUsage as error:
            _fail_for_flag(ctx, f"flag needs an argument: {_named(error.option_name)}")
        except click.BadParameter as error:
            if not isinstance(error.param, click.Option):
                raise
            told, *hints = error.message.split("\n")
            flags = ", ".join(sorted(error.param.opts, key=len))
            _fail_for_flag(ctx, f'invalid argument "{_value(error.param, typed)}" for "{flags}" flag: {told}', *hints)

    def invoke(self, ctx: click.Context) -> Any:  # whatever the command gives
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            fail_for_usage(ctx, error.message)


def fail_for_usage(ctx: click.Context, text: str) -> NoReturn:
    """A command line that cannot be meant: what is wrong, and where to look. Hints stand last."""
    told, *hints = text.split("\n")
    fail("\n".join([f"error: {told}", f"See '{ctx.command_path} -h' for help and examples", *hints]))


def _fail_for_flag(ctx: click.Context, text: str, *hints: str) -> NoReturn:
    fail("\n".join([f"error: {text}", f"See '{ctx.command_path} --help' for usage.", *hints]))


def _unknown(name: str, typed: Sequence[str]) -> str:
    if name.startswith("--"):
        return f"unknown flag: {name}"
    letter = name[1:2]
    word = next((word for word in typed if word.startswith("-") and letter in word), name)
    return f"unknown shorthand flag: {letter!r} in {word}"


def _named(name: str) -> str:
    return name if name.startswith("--") else f"{name[1:2]!r} in {name}"


def _meant(name: str) -> str:
    return f"hint: did you mean {name}?"


def _value(param: click.Option, typed: Sequence[str]) -> str:
    """What was typed for a flag, the last time it was."""
    for at, word in reversed(list(enumerate(typed))):
        for name in param.opts:
            if word == name:
                return typed[at + 1] if at + 1 < len(typed) else ""
            if word.startswith(f"{name}=") and name.startswith("--"):
                return word.removeprefix(f"{name}=")
            if word.startswith(name) and not name.startswith("--"):
                return word.removeprefix(name).removeprefix("=")
    return ""
