"""`doorman version`: of this program, and of the server it would talk to."""

from typing import Any

import click

from doorman.api.well_known import KUBERNETES_VERSION
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail
from doorman.cli.kubectl_words import KubectlCommand
from doorman.cli.objects.whole_objects import as_json, as_yaml
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.unreachable import Unreachable
from doorman.version import __version__


@click.command("version", cls=KubectlCommand)
@click.option("--client", "is_client_only", is_flag=True, help="Ask no server.")
@click.option("-o", "--output", default="", metavar="json|yaml", help="As an object.")
@kubeconfig_option
def command(is_client_only: bool, output: str, cluster: ClusterChoice) -> None:
    """Print the versions of client and server.

    \b
    doorman version
    doorman version --client
    """
    if output not in ("", "json", "yaml"):
        fail("error: --output must be 'yaml' or 'json'")
    versions: dict[str, Any] = {"doormanVersion": __version__, "kubernetesAPI": KUBERNETES_VERSION}
    if not output:
        click.echo(f"Doorman Version: {__version__}\nKubernetes API: {KUBERNETES_VERSION}")
    if not is_client_only:
        try:
            versions["serverVersion"] = connect(cluster).request("GET", "/version")
        except (ApiError, Unreachable) as error:
            fail(f"error: {error}")
    if output:
        click.echo(as_json(versions) if output == "json" else as_yaml(versions).rstrip("\n"))
    elif not is_client_only:
        click.echo(f"Server Version: {versions['serverVersion']['gitVersion']}")
