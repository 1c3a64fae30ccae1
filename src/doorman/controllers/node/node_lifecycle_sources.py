"""Which changes of nodes and pods concern the node-lifecycle-controller, and as which keys."""

from collections.abc import Iterable
from typing import Final

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.client.controller_contract import ObjectChange, Source
from doorman.controllers.node.node_health import ready_status


def node_keys(change: ObjectChange) -> Iterable[str]:
    name = change.newest.metadata.name
    old: Node | None = change.old
    new: Node | None = change.new
    if new is None:
        return ()
    if old is not None and ready_status(old) == "True" and ready_status(new) not in ("True", None):
        return (f"node/{name}", f"flipped/{name}")
    return (f"node/{name}",)


def pod_keys(change: ObjectChange) -> Iterable[str]:
    """A pod that gets a node."""
    old: Pod | None = change.old
    new: Pod | None = change.new
    if new is None or not new.spec.node_name or (old is not None and old.spec.node_name == new.spec.node_name):
        return ()
    return (f"pod/{new.metadata.namespace}/{new.metadata.name}",)


SOURCES: Final = (Source("nodes", node_keys), Source("pods", pod_keys))
