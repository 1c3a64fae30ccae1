"""`doorman why POD`: the explanation, for people."""

from typing import Any

import click
import msgspec
import yaml

from doorman.base.errors import ApiError
from doorman.cli.server_connection import ClusterChoice, connect, fail_with, kubeconfig_option
from doorman.client.http_client import Unreachable
from doorman.scheduler.explain.explanation import Explanation
from doorman.scheduler.explain.explanation_text import explanation_text


@click.command("why")
@click.argument("pod")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-o", "--output", type=click.Choice(["", "json", "yaml"]), default="", help="How to print.")
@kubeconfig_option
def command(pod: str, namespace: str, output: str, cluster: ClusterChoice) -> None:
    """Say why a pod is where it is, is not placed, is about to leave, or is gone.

    \b
    doorman why tolerant
    doorman why web-0 -n shop -o json
    """
    client = connect(cluster)
    space = namespace or client.namespace
    try:
        found = client.request("GET", f"/apis/doorman.dev/v1/namespaces/{space}/podexplanations/{pod}")
    except (ApiError, Unreachable) as error:
        fail_with([error])
    if output == "json":
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    elif output == "yaml":
        print(yaml.safe_dump(found, sort_keys=False, allow_unicode=True), end="")
    else:
        print("\n".join(lines(found)))


def lines(found: dict[str, Any]) -> list[str]:  # a PodExplanation
    """The explanation as text: what holds now, then what happened."""
    name = f"{found['metadata']['namespace']}/{found['metadata']['name']}"
    out: list[str] = []
    if not found["exists"]:
        out.append(f"{name} is gone.")
    else:
        if "scheduling" in found:
            out += explanation_text(msgspec.convert(found["scheduling"], Explanation)).splitlines()
        if "eviction" in found:
            coming = found["eviction"]
            out.append(
                f"It leaves {coming['node']} at {coming['at']} (in {coming['inSeconds']} s): taint {coming['taint']} "
                f"is tolerated for {coming['tolerationSeconds']} s."
            )
        if "deviceEviction" in found:
            coming = found["deviceEviction"]
            out.append(
                f"It leaves {coming['node']} at {coming['at']} (in {coming['inSeconds']} s), because of its devices: "
                f"{', '.join(coming['reasons'])}."
            )
    if found.get("history"):
        out += ["", "What happened:"]
        out += [f"  {event['time']}  {event['reason']}: {event['message']}" for event in found["history"]]
    return out
