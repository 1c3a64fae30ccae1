"""Write a page with every command and flag, from the commands themselves."""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from doorman.cli.main import main

HEAD = """# Commands and flags

Made from the commands themselves by `scripts/docs reference`; `doorman COMMAND --help` says the same. Flags that every
command which talks to a server has are told once, here:

| flag | |
|---|---|
"""
SHARED = ("--kubeconfig", "--context", "--help")


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def cell(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip().replace("|", "\\|")
    return re.sub(r"<([\w./-]+)>", r"`<\1>`", text)


def rows(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=path, show_default=True)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[0].startswith("-"):
            names, text = record
            yield names.replace("|", "\\|"), text.replace('[default: ""]', "")


def page() -> str:
    found = list(commands(main, "doorman"))
    connected = next(command for path, command in found if path == "doorman get")
    shared = [row for row in rows(connected, "doorman get") if row[0].split()[0].strip(",") in SHARED]
    out = [HEAD + "".join(f"| `{names}` | {cell(text)} |\n" for names, text in shared)]
    for path, command in found:
        out.append(f"\n{'#' * (path.count(' ') + 1)} {path}\n\n")
        context = click.Context(command, info_name=path)
        out.append(f"```\n{' '.join([path, *command.collect_usage_pieces(context)])}\n```\n\n")
        told = inspect.cleandoc(command.help or command.short_help or "")
        plain, *examples = told.split("\n\n\b\n")
        out.append(plain.replace("\b\n", "") + "\n")
        out += [f"\n```\n{example.strip()}\n```\n" for example in examples]
        flags = [row for row in rows(command, path) if row not in shared and not row[0].endswith("--help")]
        if flags:
            out.append("\n| flag | |\n|---|---|\n")
            out += [f"| `{names}` | {cell(text)} |\n" for names, text in flags]
    return "".join(out)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
