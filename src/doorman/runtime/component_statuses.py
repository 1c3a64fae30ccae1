"""`kubectl get componentstatuses`: the parts of the control plane, which here are one process."""

from typing import Final

from doorman.base.errors import GroupResource, not_found
from doorman.base.json_types import Document

RESOURCE: Final = "componentstatuses"
NAMES: Final = ("controller-manager", "etcd-0", "scheduler")


def component_statuses(name: str) -> Document:
    """One of them, or all as `items`. Whoever gets an answer has asked a server whose parts are all there."""
    if not name:
        return {"items": [_status(one) for one in NAMES]}
    if name not in NAMES:
        raise not_found(GroupResource("", "componentstatus"), name)
    return {"kind": "ComponentStatus", "apiVersion": "v1", **_status(name)}


def _status(name: str) -> Document:
    healthy = {"type": "Healthy", "status": "True", "message": "ok"}
    return {"metadata": {"name": name}, "conditions": [healthy]}
