"""How errors are told: in kubectl's words, on standard error, with its exit status."""

import os
import re
import sys
from collections.abc import Iterable
from typing import Final, NoReturn

import click

from doorman.base.errors import ApiError
from doorman.client.command_line.unreachable import Unreachable

_COLOURS: Final = (
    (re.compile(r"^(?:error:|Error from server(?: \(\w+\))?:)", re.MULTILINE), "red"),
    (re.compile(r"^hint:", re.MULTILINE), "cyan"),
)


def fail(text: str) -> NoReturn:
    """Say it and stop with status 1, as kubectl does for every error."""
    click.echo(painted(text, is_terminal=sys.stderr.isatty()), err=True)
    sys.exit(1)


def painted(text: str, *, is_terminal: bool) -> str:
    """On a terminal the words that lines of an error begin with have colours, unless $NO_COLOR is set."""
    if not is_terminal or os.environ.get("NO_COLOR"):
        return text
    for pattern, colour in _COLOURS:
        text = pattern.sub(lambda found, colour=colour: click.style(found[0], fg=colour), text)  # type: ignore[misc]
    return text


def told(error: Exception) -> str:
    """An error in kubectl's words."""
    if isinstance(error, ApiError):
        if error.reason == "Invalid" and error.details:
            return _invalid(error)
        reason = f" ({error.reason})" if error.reason else ""
        return f"Error from server{reason}: {error}"
    if isinstance(error, Unreachable):
        return f"{error}\nhint: {error.hint}"
    return f"error: {error}"


def fail_with(errors: Iterable[Exception]) -> NoReturn:
    """One error is told with its head, several each on a line of its own without."""
    found = list(errors)
    if len(found) == 1:
        fail(told(found[0]))
    lines = [str(error) if not isinstance(error, ApiError) else told(error) for error in found]
    fail("\n".join(lines))


def _invalid(error: ApiError) -> str:
    details = error.details or {}
    group = f".{details['group']}" if details.get("group") else ""
    head = f'The {details.get("kind", "")}{group} "{details.get("name", "")}" is invalid: '
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in error.causes))
    if len(texts) == 1:
        return head + texts[0]
    return head + "".join(f"\n* {text}" for text in texts)
