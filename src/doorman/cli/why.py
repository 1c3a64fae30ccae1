"""`doorman why POD`: the explanation, for people."""

from pathlib import Path
from typing import Any, Final

import click
import msgspec
import yaml

from doorman.base.errors import ApiError
from doorman.cli.connection import connect, fail_with, kubeconfig_option
from doorman.client.http import Unreachable

SCORES_SHOWN_MAX: Final = 10


@click.command("why")
@click.argument("pod")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-o", "--output", type=click.Choice(["", "json", "yaml"]), default="", help="How to print.")
@kubeconfig_option
def command(pod: str, namespace: str, output: str, kubeconfig: Path | None) -> None:
    """Say why a pod is where it is, is not placed, is about to leave, or is gone.

    \b
    doorman why tolerant
    doorman why web-0 -n shop -o json
    """
    client = connect(kubeconfig)
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
        out += _scheduling(name, found.get("scheduling", {}))
        if "eviction" in found:
            coming = found["eviction"]
            out.append(
                f"It leaves {coming['node']} at {coming['at']} (in {coming['inSeconds']} s): taint {coming['taint']} "
                f"is tolerated for {coming['tolerationSeconds']} s."
            )
    if found.get("history"):
        out += ["", "What happened:"]
        out += [f"  {event['time']}  {event['reason']}: {event['message']}" for event in found["history"]]
    return out


def _scheduling(name: str, what: dict[str, Any]) -> list[str]:
    match what.get("state"):
        case "Bound":
            head = f"{name} is on {what['boundTo']}."
        case "Schedulable":
            head = f"{name} fits {what['feasibleNodes']} node(s); it would go to {what.get('best', '')}."
        case "Gated":
            head = f"{name} waits: {what.get('message', '')}"
        case "Unschedulable":
            head = f"{name} fits no node. {what.get('message', '')}"
        case _:
            head = f"{name} is another scheduler's ({what.get('profile', '')})."
    out = [head]
    for group in what.get("groups", ()):
        names = ", ".join(group.get("nodes", ()))
        more = group["count"] - len(group.get("nodes", ()))
        listed = names + (f" and {more} more" if names and more > 0 else "")
        out += ["", f"{group['count']} node(s) refuse it{': ' + listed if listed else ''}"]
        for objection in group["objections"]:
            detail = f" ({objection['what']})" if objection.get("what") else ""
            out.append(f"  {objection['plugin']}: {objection['reason']}{detail}")
        if group.get("tolerations"):
            out.append("  this would let it in:")
            text = yaml.safe_dump({"tolerations": list(group["tolerations"])}, sort_keys=False)
            out += [f"    {line}" for line in text.splitlines()]
    return out + _scores(what)


def _scores(what: dict[str, Any]) -> list[str]:
    fits = sorted((node for node in what.get("nodes", ()) if node["fits"]), key=lambda node: -node.get("total", 0))
    if not fits or not fits[0].get("scores"):
        return []
    shown = fits[:SCORES_SHOWN_MAX]
    out = ["", "Scores (weight × score):"]
    for node in shown:
        parts = ", ".join(f"{s['plugin']} {s['weight']}×{s['score']}" for s in node["scores"])
        out.append(f"  {node['node']}  {node.get('total', 0)}  = {parts}")
    if len(fits) > len(shown):
        out.append(f"  … and {len(fits) - len(shown)} more that fit")
    return out
