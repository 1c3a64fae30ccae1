"""`doorman version`: of this program, and of the server it would talk to."""

import sys

import click

from doorman.api.well_known import KUBERNETES_VERSION
from doorman.base.errors import ApiError
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.http_client import Unreachable
from doorman.version import __version__


@click.command("version", cls=KubectlCommand)
@click.option("--client", "is_client_only", is_flag=True, help="Ask no server.")
@kubeconfig_option
def command(is_client_only: bool, cluster: ClusterChoice) -> None:
    """Print the versions of client and server.

    \b
    doorman version
    doorman version --client
    """
    click.echo(f"Doorman Version: {__version__}\nKubernetes API: {KUBERNETES_VERSION}")
    if is_client_only:
        return
    try:
        found = connect(cluster).request("GET", "/version")
    except (ApiError, Unreachable) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    click.echo(f"Server Version: {found['gitVersion']}")
