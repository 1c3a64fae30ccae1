"""What every command that talks to a server shares: its flags, its client, how its errors are told."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from doorman.base.errors import ApiError
from doorman.cli.paths import default_data_dir
from doorman.client.http_client import HttpClient, Unreachable, find_kubeconfig

F = TypeVar("F", bound=Callable[..., Any])  # click's decorators take any function


def kubeconfig_option(command: F) -> F:
    help_ = "Which kubeconfig to use.  [default: $KUBECONFIG, then that of `doorman up`]"
    return click.option("--kubeconfig", type=click.Path(path_type=Path), help=help_)(command)


def connect(kubeconfig: Path | None) -> HttpClient:
    try:
        return HttpClient(find_kubeconfig(kubeconfig, default_data_dir() / "kubeconfig"))
    except Unreachable as error:
        fail(f"error: {error}\nhint: {error.hint}")


def fail(text: str) -> NoReturn:
    """Say it and stop with status 1, as kubectl does for every error."""
    click.echo(text, err=True)
    sys.exit(1)


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
