"""Giving orders to simulated nodes of a running cluster: to which, and that only those get one that obey."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doorman.api.well_known import MERGE_PATCH, ZONE_LABEL
from doorman.client.command_line.api_client import ApiClient
from doorman.nodes.node_annotations import SIMULATED, is_simulated

Order = Callable[[Mapping[str, str]], dict[str, Any]]
"""Makes a merge patch of a node's annotations."""


class NotSimulated(Exception):
    """A node of somebody else's: nobody would obey."""


class NoSuchNodes(ValueError):
    """Nothing was named, or nothing is there by that description."""


def give_order(client: ApiClient, name: str, order: Order) -> None:
    """Raises ApiError and NotSimulated."""
    path = f"/api/v1/nodes/{name}"
    annotations = client.request("GET", path)["metadata"].get("annotations", {})
    if not is_simulated(annotations):
        raise NotSimulated(f'node "{name}" is not simulated: it has no annotation {SIMULATED}: "true"')
    client.request("PATCH", path, body=order(annotations), content_type=MERGE_PATCH)


def chosen_nodes(client: ApiClient, names: Sequence[str], *, selector: str = "", zone: str = "") -> list[str]:
    """Names as they are, or the nodes with these labels and in that zone. Raises NoSuchNodes and ApiError."""
    if not (names or selector or zone):
        raise NoSuchNodes("no node is named: give names, -l SELECTOR or --zone ZONE")
    if names:
        if selector or zone:
            raise NoSuchNodes("names exclude -l and --zone: leave one of them out")
        return list(names)
    wanted = ",".join(filter(None, (selector, f"{ZONE_LABEL}={zone}" if zone else "")))
    found = [
        node["metadata"]["name"]
        for node in client.request("GET", "/api/v1/nodes", query={"labelSelector": wanted})["items"]
    ]
    if not found:
        raise NoSuchNodes(f"no node has {wanted}")
    return found
