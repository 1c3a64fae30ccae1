"""What every command that talks to a server shares: its flags, its client, how its errors are told."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from doorman.base.durations import parse_duration
from doorman.cli.error_output import fail
from doorman.cli.paths import default_data_dir
from doorman.client.command_line.connection_options import TIMEOUT_SECONDS, ConnectionOptions
from doorman.client.command_line.http_client import HttpClient, find_kubeconfig
from doorman.client.command_line.unreachable import Unreachable

_NO_TIMEOUT: Final = (
    "Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a corresponding "
    "time unit (e.g. 1s | 2m | 3h)"
)

F = TypeVar("F", bound=Callable[..., Any])  # click's decorators take any function


class ClusterChoice(msgspec.Struct, frozen=True):
    """Which cluster the user has named, if any."""

    kubeconfig: Path | None = None
    context: str = ""
    options: ConnectionOptions = ConnectionOptions()

    @property
    def is_named(self) -> bool:
        return self.kubeconfig is not None or bool(self.context) or bool(self.options.server)


def kubeconfig_option(command: F) -> F:
    """Which cluster, as whom, and for how long, handed on as one `ClusterChoice` under the name `cluster`."""

    @functools.wraps(command)
    def with_choice(
        *args: Any, kubeconfig: Path | None, context: str, server: str, as_user: str, as_group: tuple[str, ...],
        request_timeout: str, **kwargs: Any,
    ) -> Any:  # click's  # fmt: skip
        seconds = _request_seconds(request_timeout)
        is_given = request_timeout != ""
        options = ConnectionOptions(
            server=server, user=as_user, groups=as_group, timeout_seconds=seconds, is_timeout_given=is_given
        )
        return command(*args, cluster=ClusterChoice(kubeconfig, context, options), **kwargs)

    help_ = "Which kubeconfig to use.  [default: $KUBECONFIG, then that of `doorman up`]"
    file = click.option("--kubeconfig", type=click.Path(path_type=Path), help=help_)
    name = click.option("--context", default="", help="Which of its contexts to use.  [default: the current one]")
    more = (
        click.option("-s", "--server", default="", metavar="URL", help="Instead of the address in the kubeconfig."),
        click.option("--as", "as_user", default="", metavar="USER", help="With the rights of somebody else."),
        click.option("--as-group", multiple=True, metavar="GROUP", help="And of this group; may be repeated."),
        click.option(
            "--request-timeout", default="", metavar="TIME", help="Of one request: 5, 1m; 0: any.  [default: 30s]"
        ),
    )
    wrapped: Any = with_choice  # click's decorators, one after the other
    for option in reversed((file, name, *more)):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]  # a function still, with the same arguments but one


def _request_seconds(text: str) -> float | None:
    """`5`, `1m30s`; 0: no limit."""
    if not text:
        return TIMEOUT_SECONDS
    try:
        seconds = float(text) if text.isdecimal() else parse_duration(text)
    except ValueError:
        fail(f"error: {_NO_TIMEOUT}")
    return seconds or None


def chunk_size_option(command: F) -> F:
    """`--chunk-size`, which changes nothing: a list comes whole."""
    help_ = "Taken for kubectl's sake: lists come whole."
    return click.option("--chunk-size", type=int, default=500, expose_value=False, help=help_)(command)


def connect(cluster: ClusterChoice) -> HttpClient:
    """A client of the cluster that was named; or of the one that is found, if it is a Doorman."""
    file = find_kubeconfig(cluster.kubeconfig, default_data_dir() / "kubeconfig")
    try:
        client = HttpClient(file, cluster.context, cluster.options, warn=_warn)
        if cluster.options.groups and not cluster.options.user:
            what = f"requesting uid, groups or user-extra for {client.user}"
            fail(f"error: {what} without impersonating a user\nhint: --as=USER")
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
