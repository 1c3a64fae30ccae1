"""As which node a simulated kubelet takes an action."""

from collections.abc import Callable

from doorman.api.well_known import EVENTS, PODS
from doorman.base.errors import GroupResource, not_found
from doorman.client.actions import Create, Delete, Patch, Update

NodeOf = Callable[[str], str | None]
"""The node that an object of that key is about; None: there is no such object, or nobody knows."""


def node_of_created(action: Create) -> str:
    """An event says whose it is; all else that kubelets make is named after the node."""
    return str(action.body["source"]["host"] if action.resource == EVENTS else action.body["metadata"]["name"])


def node_of_changed(action: Patch | Update | Delete, *, pod_node: NodeOf, event_node: NodeOf) -> str:
    """Raises ApiError: a pod, or an event, that has just gone is not found, as the server would say."""
    if action.resource not in (PODS, EVENTS):
        return action.name
    found = (pod_node if action.resource == PODS else event_node)(f"{action.namespace}/{action.name}")
    if found is None:
        raise not_found(GroupResource("", action.resource), action.name)
    return found
