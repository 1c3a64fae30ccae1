"""`--help` of each command is enough to get going: it has an example, and the example is taken as it stands."""

import inspect
import re
import shlex
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from doorman.cli.main import main

SHELL = re.compile(r"\s(?:\||<|>|&|&&)\s|^source <\(")


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def examples(command: click.Command) -> list[str]:
    """The lines of the parts that keep their lines, without what explains them (two spaces off)."""
    parts = inspect.cleandoc(command.help or "").split("\n\n\b\n")[1:]
    lines = [re.split(r"\s{2,}", line.strip())[0] for part in parts for line in part.splitlines()]
    return [line for line in lines if "doorman " in line]


ALL = list(commands(main, "doorman"))


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_help_has_an_example(path: str, command: click.Command) -> None:
    assert any(f"{path} " in f"{line} " for line in examples(command)), f"{path} --help has no example"


@pytest.mark.parametrize("line", sorted({line for _, command in ALL for line in examples(command)}))
def test_example_is_taken(line: str) -> None:
    """Parsed with every flag and argument, and not run."""
    for part in SHELL.split(line):
        if "doorman " in part:
            taken(shlex.split(part[part.index("doorman ") :].rstrip(")"), comments=True)[1:])


def taken(words: list[str]) -> None:
    context = click.Context(main)
    command: click.Command = main
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, name
        command = found
    command.make_context(command.name, words).close()


def test_help_without_arguments_tells_where_to_begin() -> None:
    told = CliRunner().invoke(main, ["--help"])
    assert told.exit_code == 0
    assert "doorman up" in told.output


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_help_does_not_tell_of_defaults_that_are_nothing(path: str, command: click.Command) -> None:
    told = CliRunner().invoke(main, [*path.split()[1:], "--help"])
    assert told.exit_code == 0
    assert '[default: ""]' not in " ".join(told.output.split())
    assert command.help is not None
