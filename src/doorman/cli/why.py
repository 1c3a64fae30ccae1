"""`doorman why POD`: the explanation, for people."""

import re
from collections.abc import Sequence
from typing import Any

import click
import msgspec
import yaml

from doorman.api.taints import Taint, Toleration
from doorman.base.durations import format_duration
from doorman.base.errors import ApiError
from doorman.cli.error_output import fail, fail_with
from doorman.cli.server_connection import ClusterChoice, connect, kubeconfig_option
from doorman.client.command_line.http_client import HttpClient
from doorman.client.command_line.resource_lookup import NoSuchResource, ServedResource, find_resource
from doorman.client.command_line.unreachable import Unreachable
from doorman.scheduler.explain.explanation import Explanation
from doorman.scheduler.explain.explanation_text import explanation_text
from doorman.semantics.taints.eviction_time import At, decide_eviction
from doorman.semantics.taints.matching import is_tolerated
from doorman.semantics.taints.taint_spec import parse_taint


@click.command("why")
@click.argument("words", nargs=-1, required=True, metavar="POD | TYPE/NAME | TYPE NAME")
@click.option("-n", "--namespace", default="", help="Which namespace.  [default: the kubeconfig's]")
@click.option("-o", "--output", type=click.Choice(["", "json", "yaml"]), default="", help="How to print.")
@click.option("--if", "supposed", multiple=True, metavar="TAINT", help="As if the node were tainted so. Repeatable.")
@kubeconfig_option
def command(
    words: tuple[str, ...], namespace: str, output: str, supposed: Sequence[str], cluster: ClusterChoice
) -> None:
    """Say why a pod is where it is, is not placed, is about to leave, or is gone.

    Of a workload, where its pods are and what those that wait lack; of a node, who is on it and which of its taints
    they tolerate.

    \b
    doorman why tolerant
    doorman why pod/web-0 -n shop -o json
    doorman why deploy/web
    doorman why node/node-1
    doorman why node/node-1 --if maintenance:NoExecute
    """
    if len(words) > 2 or (len(words) == 2 and "/" in "".join(words)):
        raise click.UsageError(f"one object at a time, not {' '.join(words)}\nhint: doorman why pod/NAME")
    what = "/".join(words)
    taints = _parsed(supposed)
    client = connect(cluster)
    space = namespace or client.namespace
    kind, sign, name = what.rpartition("/")
    try:
        resource = find_resource(client, kind).name if sign else "pods"
        if resource == "nodes":
            print("\n".join(node_lines(client, name, taints)))
            return
        if taints:
            raise click.UsageError(f"--if is about a node\nhint: doorman plan taint NODE {supposed[0]}")
        names = [name] if resource == "pods" else pods_of(client, find_resource(client, kind), space, name)
        found = [
            client.request("GET", f"/apis/doorman.dev/v1/namespaces/{space}/podexplanations/{one}") for one in names
        ]
    except NoSuchResource as error:
        fail(f"error: {error}")
    except (ApiError, Unreachable) as error:
        fail_with([error])
    if not found:
        fail(f"error: {what} has no pods\nhint: doorman get {what} -n {space} says how many it wants")
    whole = found[0] if len(found) == 1 else {"kind": "List", "apiVersion": "v1", "items": found}
    if output == "json":
        print(msgspec.json.format(msgspec.json.encode(whole), indent=2).decode())
    elif output == "yaml":
        print(yaml.safe_dump(whole, sort_keys=False, allow_unicode=True), end="")
    else:
        print("\n".join(lines(found[0]) if len(found) == 1 else workload_lines(found)))


def pods_of(client: HttpClient, resource: ServedResource, namespace: str, name: str) -> list[str]:
    """The pods that a workload owns, itself or through what it owns. Raises its 404."""
    owner = client.request("GET", resource.path(namespace, name))["metadata"]["uid"]
    owners = {owner}
    for path in (f"/apis/apps/v1/namespaces/{namespace}/replicasets", f"/apis/batch/v1/namespaces/{namespace}/jobs"):
        owners |= {one["metadata"]["uid"] for one in client.request("GET", path)["items"] if _is_owned(one, {owner})}
    pods = client.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
    return [pod["metadata"]["name"] for pod in pods if _is_owned(pod, owners)]


def _is_owned(doc: dict[str, Any], owners: set[str]) -> bool:
    return any(reference.get("uid") in owners for reference in doc["metadata"].get("ownerReferences") or ())


def _parsed(texts: Sequence[str]) -> list[Taint]:
    try:
        return [parse_taint(text) for text in texts]
    except ValueError as error:
        raise click.UsageError(f"--if: {error}\nhint: such as maintenance=disk:NoExecute") from error


def node_lines(client: HttpClient, name: str, supposed: Sequence[Taint] = ()) -> list[str]:
    """Who is on a node, and what each makes of its taints, and of those that it is supposed to have."""
    node = client.request("GET", f"/api/v1/nodes/{name}")
    known = msgspec.convert(node["spec"].get("taints") or [], list[Taint])
    out = [f"{name} has no taints." if not known else f"{name} is tainted: {', '.join(map(str, known))}."]
    if supposed:
        out.append(f"If it were tainted {', '.join(map(str, supposed))}:")
    replaced = {(taint.key, taint.effect) for taint in supposed}
    taints = [*(taint for taint in known if (taint.key, taint.effect) not in replaced), *supposed]
    pods = client.request("GET", "/api/v1/pods", query={"fieldSelector": f"spec.nodeName={name}"})["items"]
    if not pods:
        out.append("No pod is on it.")
    for pod in pods:
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        tolerations = msgspec.convert(pod["spec"].get("tolerations") or [], list[Toleration])
        out.append(f"  {where}: {_verdict(taints, tolerations)}")
    return out


def _verdict(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> str:
    """What the taints mean for a pod that is there already."""
    missing = [taint for taint in taints if not is_tolerated(taint, tolerations)]
    evicting = [taint for taint in missing if taint.effect == "NoExecute"]
    if evicting:
        return f"leaves, because it does not tolerate {', '.join(map(str, evicting))}"
    eviction = decide_eviction(taints, tolerations, 0.0)
    if isinstance(eviction, At):
        return f"leaves after {format_duration(eviction.instant)}: so long it tolerates {eviction.taint}"
    if missing:
        return f"stays, though it would not be placed here now: it does not tolerate {', '.join(map(str, missing))}"
    return "tolerates all of them" if taints else "nothing repels it"


def workload_lines(found: Sequence[dict[str, Any]]) -> list[str]:  # PodExplanations
    """Where its pods are, and of those that have no place, or are about to leave, why: once for all that are alike."""
    placed: dict[str, int] = {}
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for one in found:
        node = one.get("scheduling", {}).get("boundTo", "")
        if node:
            placed[node] = placed.get(node, 0) + 1
        if not node or "eviction" in one or "deviceEviction" in one:
            # Claims that are made for a pod are named after it.
            own_names = re.compile(re.escape(one["metadata"]["name"]) + r"[a-z0-9.-]*")
            alike.setdefault(tuple(own_names.sub("", line) for line in _state_lines(one)), []).append(one)
    where = [f"{count} on {node}" for node, count in sorted(placed.items())]
    without = len(found) - sum(placed.values())
    out = [f"{len(found)} pods: {', '.join([*where, f'{without} without a node'] if without else where)}"]
    for first, *others in alike.values():
        out += ["", *lines(first)]
        if others:
            out.append(f"So it is with {len(others)} more: {', '.join(one['metadata']['name'] for one in others)}")
    if placed:
        bound = next(one for one in found if one.get("scheduling", {}).get("boundTo"))
        out += ["", f"doorman why pod/{bound['metadata']['name']} says why it is where it is."]
    return out


def lines(found: dict[str, Any]) -> list[str]:  # a PodExplanation
    """The explanation as text: what holds now, then what happened."""
    out = _state_lines(found)
    if found.get("history"):
        out += ["", "What happened:"]
        out += [f"  {event['time']}  {event['reason']}: {event['message']}" for event in found["history"]]
    return out


def _state_lines(found: dict[str, Any]) -> list[str]:  # a PodExplanation
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
    return out
