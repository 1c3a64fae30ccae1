"""Commands that kubectl has, too: what is wrong with their flags is told in its words, with its exit status."""

from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from doorman.cli.error_output import fail

_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_FALSE: Final = ("0", "f", "F", "FALSE", "false", "False")


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
            return super().parse_args(ctx, as_pflag_reads(self.params, args))
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


def as_pflag_reads(params: Sequence[click.Parameter], words: Sequence[str]) -> list[str]:
    """Words as click must have them to mean what they mean to kubectl.

    A switch may be followed by `=true` or `=false`; a flag whose value may be left out never takes the next word.
    Raises click.BadParameter.
    """
    flags = {name: one for one in params if isinstance(one, click.Option) for name in one.opts if name.startswith("--")}
    read: list[str] = []
    for at, word in enumerate(words):
        name, sign, value = word.partition("=")
        option = flags.get(name)
        if word == "--":
            return [*read, *words[at:]]
        if option is not None and option.is_flag and sign:
            read += [name] if go_bool(value, option) else []
        elif option is not None and isinstance(option.flag_value, str) and not sign:
            read.append(f"{name}={option.flag_value}")
        else:
            read.append(word)
    return read


def go_bool(text: str, option: click.Option) -> bool:
    """As Go's strconv reads it. Raises click.BadParameter."""
    if text not in _TRUE and text not in _FALSE:
        raise click.BadParameter(f'strconv.ParseBool: parsing "{text}": invalid syntax', param=option)
    return text in _TRUE


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
