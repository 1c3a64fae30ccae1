"""Informer caches of what attaching volumes is about, filled by hand."""

from typing import Any

from doorman.api.views.meta import to_view
from doorman.api.views.nodes import Node
from doorman.api.views.storage.csi import ATTACHMENTS, CSI_DRIVERS, CSI_NODES, VolumeAttachment
from doorman.api.views.storage.persistent_volumes import CLAIMS, VOLUMES
from doorman.client.informer_cache import InformerCache
from doorman.runtime.informer_indexes import indexed_cache
from doorman.semantics.volumes.csi_volumes import csi_volume
from doorman.semantics.volumes.volume_attachments import attachment_name
from support.scheduling import make_pod
from support.volumes import bound_claim_view, uses, volume_view

UNIQUE = "kubernetes.io/csi/d.example.com^h-v"


def node_view(
    name: str = "node-1", *, ready: bool = True, taint: str = "", in_use: bool = False, attached: bool = False
) -> Node:
    document = {
        "metadata": {"name": name, "uid": f"uid-{name}", "annotations": {"doorman.dev/simulated": "true"}},
        "spec": {"taints": [{"key": taint, "effect": "NoExecute"}] if taint else []},
        "status": {
            "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}],
            "volumesInUse": [UNIQUE] if in_use else [],
            "volumesAttached": [{"name": UNIQUE, "devicePath": ""}] if attached else [],
        },
    }
    view: Node = to_view(document, Node)
    return view


def attached_volume(**spec: Any) -> Any:
    """The volume `v` of the claim `c`, of the driver `d.example.com`."""
    reference = {"namespace": "default", "name": "c", "uid": "uid-c"}
    csi = {"driver": "d.example.com", "volumeHandle": "h-v"}
    return volume_view("v", csi=csi, claimRef=reference, phase="Bound", **spec)


def attachment_view(
    node: str = "node-1", *, attached: bool = True, name: str = "", error: str = "", **metadata: Any
) -> VolumeAttachment:
    csi = csi_volume(attached_volume())
    assert csi is not None
    status: dict[str, Any] = {"attached": attached}
    if error:
        status["attachError"] = {"message": error}
    document = {
        "metadata": {"name": name or attachment_name(csi, node), "uid": f"uid-{node}", **metadata},
        "spec": {"attacher": "d.example.com", "nodeName": node, "source": {"persistentVolumeName": "v"}},
        "status": status,
    }
    view: VolumeAttachment = to_view(document, VolumeAttachment)
    return view


def user(name: str = "p", *, node: str = "node-1", namespace: str = "default") -> Any:
    """A pod that runs there and uses the claim `c`."""
    status = {"phase": "Running", "containerStatuses": [{"name": "c", "state": {"running": {}}}]}
    return make_pod(name, namespace=namespace, node=node, volumes=uses("c"), status=status)


class AttachingCaches:
    """With the claim `c` bound to the volume `v`."""

    def __init__(self, **volume: Any) -> None:
        self.caches: dict[str, InformerCache[Any]] = {
            resource: indexed_cache(resource)
            for resource in ("pods", "nodes", CLAIMS, VOLUMES, CSI_DRIVERS, CSI_NODES, ATTACHMENTS)
        }
        self.put(CLAIMS, bound_claim_view("c", "v"))
        self.put(VOLUMES, attached_volume(**volume))

    def put(self, resource: str, *views: Any) -> None:
        for view in views:
            self.caches[resource].put(view.metadata.key, view)

    def remove(self, resource: str, view: Any) -> None:
        self.caches[resource].remove(view.metadata.key)

    def __getitem__(self, resource: str) -> InformerCache[Any]:
        return self.caches[resource]
