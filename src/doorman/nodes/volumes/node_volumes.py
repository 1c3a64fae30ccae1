"""Volumes that simulated kubelets use: what each says is in use, and which pods wait until theirs are attached.

A kubelet names a volume in `volumesInUse` before it mounts it and until it has unmounted it, so that it is not detached
meanwhile; it mounts the volume when the attach-detach controller has named it in `volumesAttached`.
"""

from collections.abc import Iterable

from doorman.api.views.nodes import Node
from doorman.api.views.pod_indexes import UNFINISHED_BY_NODE
from doorman.api.views.pods import Pod
from doorman.api.views.storage.csi import CsiDriver
from doorman.api.views.storage.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from doorman.client.actions import Patch, PatchType
from doorman.client.controller_contract import ObjectChange
from doorman.client.informer_cache import ListerOf
from doorman.semantics.volumes.pod_volumes import claim_keys
from doorman.semantics.volumes.volume_attachments import attached_volumes_of


class NodeVolumes:
    """Where there are no volumes it is asked for nothing but that."""

    def __init__(
        self,
        nodes: ListerOf[Node],
        pods: ListerOf[Pod],
        claims: ListerOf[PersistentVolumeClaim],
        volumes: ListerOf[PersistentVolume],
        drivers: ListerOf[CsiDriver],
    ) -> None:
        self._nodes = nodes
        self._pods = pods
        self._claims = claims
        self._volumes = volumes
        self._drivers = drivers
        self._waiting: dict[str, dict[str, None]] = {}
        """Keys of pods that wait until their volumes are attached, by node."""

    def concerned_nodes(self, change: ObjectChange) -> Iterable[str]:
        """The node of a pod with claims that came to it, or has left it."""
        pod: Pod = change.newest
        if not len(self._volumes) or not claim_keys(pod):
            return ()
        old: Pod | None = change.old
        is_same = old is not None and change.new is not None and old.spec.node_name == pod.spec.node_name
        return () if is_same and old is not None and old.is_finished is pod.is_finished else (pod.spec.node_name,)

    def report(self, node: Node) -> Iterable[Patch]:
        """What the kubelet has to say of the volumes that it uses, unless it has said so."""
        in_use = self._in_use(node.metadata.name) if len(self._volumes) else []
        if in_use == sorted(node.status.volumes_in_use):
            return ()
        body = {"status": {"volumesInUse": in_use or None}}
        name = node.metadata.name
        return (Patch(resource="nodes", name=name, subresource="status", body=body, type=PatchType.MERGE),)

    def is_waiting(self, key: str, pod: Pod) -> bool:
        """Whether the pod must wait; `woken` names it when something may have changed."""
        if not len(self._volumes):
            return False
        node = self._nodes.get(pod.spec.node_name)
        wanted = self._unique_names(pod)
        if not wanted or node is None:
            return False
        ready = {each.name for each in node.status.volumes_attached}.intersection(node.status.volumes_in_use)
        if wanted <= ready:
            return False
        self._waiting.setdefault(pod.spec.node_name, {})[key] = None
        return True

    def woken(self, node: str) -> Iterable[str]:
        """Keys of pods to look at again, now that the node has changed."""
        return self._waiting.pop(node, ())

    def _in_use(self, node: str) -> list[str]:
        found: set[str] = set()
        for pod in self._pods.by(UNFINISHED_BY_NODE, node):
            found |= self._unique_names(pod)
        return sorted(found)

    def _unique_names(self, pod: Pod) -> set[str]:
        volumes = attached_volumes_of(pod, self._claims.get, self._volumes.get, self._drivers.get)
        return {csi.unique_name for _, _, csi in volumes}
