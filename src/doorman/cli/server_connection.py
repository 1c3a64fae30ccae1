"""What every command that talks to a server shares: its flags, its client, how its errors are told."""

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click
import msgspec

from doorman.base.errors import ApiError
from doorman.cli.paths import default_data_dir
from doorman.client.command_line.http_client import HttpClient, Unreachable, find_kubeconfig

_COLOURS: Final = (
    (re.compile(r"^(?:error:|Error from server(?: \(\w+\))?:)", re.MULTILINE), "red"),
    (re.compile(r"^hint:", re.MULTILINE), "cyan"),
)

F = TypeVar("F", bound=Callable[..., Any])  # click's decorators take any function


class ClusterChoice(msgspec.Struct, frozen=True):
    """Which cluster the user has named, if any."""

    kubeconfig: Path | None = None
    context: str = ""

    @property
    def is_named(self) -> bool:
        return self.kubeconfig is not None or bool(self.context)


def kubeconfig_option(command: F) -> F:
    """`--kubeconfig` and `--context`, handed on as one `ClusterChoice` under the name `cluster`."""

    @functools.wraps(command)
    def with_choice(*args: Any, kubeconfig: Path | None, context: str, **kwargs: Any) -> Any:  # click's
        return command(*args, cluster=ClusterChoice(kubeconfig, context), **kwargs)

    help_ = "Which kubeconfig to use.  [default: $KUBECONFIG, then that of `doorman up`]"
    file = click.option("--kubeconfig", type=click.Path(path_type=Path), help=help_)
    name = click.option("--context", default="", help="Which of its contexts to use.  [default: the current one]")
    return file(name(with_choice))  # type: ignore[return-value]  # a function still, with the same arguments but one


def connect(cluster: ClusterChoice) -> HttpClient:
    """A client of the cluster that was named; or of the one that is found, if it is a Doorman."""
    file = find_kubeconfig(cluster.kubeconfig, default_data_dir() / "kubeconfig")
    try:
        client = HttpClient(file, cluster.context, warn=_warn)
        if not cluster.is_named and not client.is_doorman():
            fail(
                f"error: {client.server}, the current context of {file}, is not a Doorman; nothing was done\n"
                "hint: `doorman up` starts one; --kubeconfig or --context names another cluster, should you mean it"
            )
        return client
    except Unreachable as error:
        fail(f"error: {error}\nhint: {error.hint}")


def _warn(text: str) -> None:
    click.echo(f"Warning: {text}", err=True)


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
