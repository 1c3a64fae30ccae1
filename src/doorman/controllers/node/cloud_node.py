"""cloud-node-controller: initialises simulated nodes of a cloud, as a cloud controller manager would.

A kubelet with `--cloud-provider=external` registers its node with the taint `node.cloudprovider.kubernetes.io/
uninitialized`. This controller looks the node up in a cloud that is simulated too, which takes a moment, gives it a
provider id and takes the taint off. Nodes of others, which a real cloud controller manager looks after, are left alone.

Keys: names of nodes.
"""

from collections.abc import Iterable
from typing import Final

from doorman.api.taints import UNINITIALIZED
from doorman.api.views.nodes import Node
from doorman.api.well_known import CLOUD_PROVIDER_ANNOTATION
from doorman.base.clock import Instant
from doorman.base.instants import from_time
from doorman.client.actions import Action, ObjectReference, Patch, RecordEvent
from doorman.client.controller_contract import DONE, ObjectChange, Result, Source
from doorman.client.informer_cache import ListerOf
from doorman.controllers.node.node_taints import taint_body

NAME: Final = "cloud-node-controller"
WORKERS: Final = 4
INITIALIZE_SECONDS: Final = 2.0
"""How long the simulated cloud takes to answer."""


def is_uninitialized(node: Node) -> bool:
    is_ours = node.metadata.annotations.get(CLOUD_PROVIDER_ANNOTATION) == "external"
    return is_ours and any(taint.key == UNINITIALIZED for taint in node.spec.taints)


def node_keys(change: ObjectChange) -> Iterable[str]:
    return (change.new.metadata.name,) if change.new is not None and is_uninitialized(change.new) else ()


SOURCES: Final = (Source("nodes", node_keys),)


def decide_initialization(node: Node) -> tuple[Action, ...]:
    """The provider id, and every taint but the one that says it is missing."""
    name = node.metadata.name
    left = [taint_body(taint) for taint in node.spec.taints if taint.key != UNINITIALIZED]
    spec = {"providerID": node.spec.provider_id or f"doorman://{name}", "taints": left or None}
    body = {"metadata": {"resourceVersion": node.metadata.resource_version}, "spec": spec}
    about = ObjectReference(kind="Node", name=name, uid=node.metadata.uid, api_version="v1")
    told = RecordEvent(
        regarding=about, reason="Synced", message="Node synced successfully", component="cloud-node-controller"
    )
    return (Patch(resource="nodes", name=name, body=body), told)


class CloudNodeController:
    name = NAME
    sources = SOURCES
    workers = WORKERS

    def __init__(self, nodes: ListerOf[Node]) -> None:
        self._nodes = nodes

    def start(self, now: Instant) -> Result:  # noqa: ARG002 the contract gives it
        return DONE

    def reconcile(self, key: str, now: Instant) -> Result:
        node = self._nodes.get(key)
        if node is None or not is_uninitialized(node):
            return DONE
        ready = from_time(node.metadata.creation_timestamp) + INITIALIZE_SECONDS
        if now < ready:
            return Result(wakes=((key, ready),))
        return Result(actions=decide_initialization(node))

    def gave_up(self, key: str, error: Exception, now: Instant) -> None:
        """The next change of the node is the next try."""
