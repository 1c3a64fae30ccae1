"""VolumeZone: a pod goes to nodes of the zone and region that its volumes' labels name."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from doorman.api.views.nodes import Node
from doorman.api.views.pods import Pod
from doorman.api.views.storage.persistent_volumes import PersistentVolume
from doorman.api.views.storage.volume_classes import WAIT_FOR_FIRST_CONSUMER, StorageClass
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Lookup, Rows
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.framework import (
    FINAL,
    ActionType,
    ClusterEvent,
    Detail,
    EventResource,
    Hint,
    NodeFilter,
    PreFilterReject,
    always,
)
from doorman.scheduler.plugins.volumes.volume_binding import is_own_claim
from doorman.scheduler.volumes.pod_volume_claims import not_found
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.volume_matching import class_of_claim

REASON: Final = "node(s) had no available volume zone"
_CONFLICT: Final = 1 | FINAL

ZONE_LABELS: Final[Mapping[str, str]] = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Labels of volumes, and under which name nodes have them today."""

ZONES_SEPARATOR: Final = "__"

Topology = tuple[str, frozenset[str]]
"""A label and the values that a volume allows."""


class VolumeZone:
    name = "VolumeZone"
    is_for_volumes = True

    def __init__(self, state: VolumeState) -> None:
        self._state = state

    def filter_for_pod(self, pod: Pod, cluster: ClusterState) -> NodeFilter | PreFilterReject | None:
        volumes: list[PersistentVolume] = []
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                found = self._volume_of(pod, volume.persistent_volume_claim.claim_name)
                if isinstance(found, PreFilterReject):
                    return found
                volumes += [found] if found is not None else []
        topologies = [topology for found in volumes for topology in topologies_of(found)]
        return _Filter(cluster, topologies) if topologies else None

    def hints(self) -> Sequence[Hint]:
        add_or_update = ActionType.ADD | ActionType.UPDATE_OTHER
        return (
            Hint(EventResource.STORAGE_CLASS, ActionType.ADD, _is_class_worth_a_try),
            Hint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, always),
            Hint(EventResource.PERSISTENT_VOLUME_CLAIM, add_or_update, always, is_own_claim),
            Hint(EventResource.PERSISTENT_VOLUME, add_or_update, _is_volume_worth_a_try),
        )

    def _volume_of(self, pod: Pod, name: str) -> PersistentVolume | PreFilterReject | None:
        """The claim's volume; None when it is chosen with the node."""
        claim = self._state.seen_claim(f"{pod.metadata.namespace}/{name}")
        if claim is None:
            return PreFilterReject(message=not_found(name))
        if not claim.spec.volume_name:
            class_name = class_of_claim(claim)
            if not class_name:
                return PreFilterReject(message="PersistentVolumeClaim had no pv name and storageClass name")
            storage_class = self._state.classes.get(class_name)
            if storage_class is None:
                return PreFilterReject(message=f'storageclass.storage.k8s.io "{class_name}" not found')
            if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
                return None
            return PreFilterReject(message="PersistentVolume had no name")
        found = self._state.seen_volume(claim.spec.volume_name)
        return found or PreFilterReject(message=f'persistentvolume "{claim.spec.volume_name}" not found')


def topologies_of(volume: PersistentVolume) -> list[Topology]:
    """
    >>> from doorman.api.views.meta import ObjectMeta
    >>> labels = {"topology.kubernetes.io/zone": "a__b"}
    >>> [(key, sorted(values)) for key, values in topologies_of(PersistentVolume(metadata=ObjectMeta(labels=labels)))]
    [('topology.kubernetes.io/zone', ['a', 'b'])]
    """
    found = []
    for label in ZONE_LABELS:
        zones = [zone.strip() for zone in volume.metadata.labels.get(label, "").split(ZONES_SEPARATOR)]
        if all(zones):  # a label with an empty part cannot be read, and is passed over
            found.append((label, frozenset(zones)))
    return found


def _is_class_worth_a_try(_shape: Shape, event: ClusterEvent) -> bool:
    new: StorageClass = event.new
    return new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def _is_volume_worth_a_try(_shape: Shape, event: ClusterEvent) -> bool:
    return event.old is None or topologies_of(event.old) != topologies_of(event.new)


def conflicting_rows(cluster: ClusterState, topologies: Sequence[Topology]) -> Column:
    """1 where a node is in a zone or region that the volumes are not for; one that is in none takes every volume."""
    rows = cluster.all_rows
    is_said = {label: Lookup(cluster.labels(label), _is_said).at(rows) for label in ZONE_LABELS}
    is_somewhere: Column = np.bitwise_or.reduce(list(is_said.values()))
    found: Column = np.zeros(cluster.size, dtype=np.int64)
    for key, allowed in topologies:
        question = partial(_is_among, allowed)
        is_right = np.where(
            is_said[key] == 1,
            Lookup(cluster.labels(key), question).at(rows),
            Lookup(cluster.labels(ZONE_LABELS[key]), question).at(rows),
        )
        found |= is_somewhere & (1 - is_right)
    return found


def _is_said(value: str | None) -> int:
    return int(value is not None)


def _is_among(allowed: frozenset[str], value: str | None) -> int:
    return int(value in allowed)


class _Filter:
    def __init__(self, cluster: ClusterState, topologies: Sequence[Topology]) -> None:
        self._cluster = cluster
        self._topologies = topologies
        self._codes = conflicting_rows(cluster, topologies) * _CONFLICT

    def codes(self, rows: Rows) -> Column:
        found: Column = self._codes[rows]
        return found

    def reasons(self, code: int) -> Sequence[str]:
        assert code == _CONFLICT, "there is one verdict"
        return (REASON,)

    def details(self, row: int) -> Sequence[Detail]:
        conflict = self._conflict(self._cluster.node(row))
        if conflict is None:
            return ()
        key, values = conflict
        return (Detail(reason=REASON, what=f"a volume is for {key} {','.join(sorted(values))}"),)

    def _conflict(self, node: Node) -> Topology | None:
        """Nodes that are in no zone and no region take every volume."""
        labels = node.metadata.labels
        if not any(label in labels for label in ZONE_LABELS):
            return None
        for key, values in self._topologies:
            value = labels[key] if key in labels else labels.get(ZONE_LABELS[key])
            if value is None or value not in values:
                return key, values
        return None
