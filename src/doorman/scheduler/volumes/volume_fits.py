"""Where a pod's claims can be satisfied: a code for every node.

Volumes that claims have are asked over columns, all nodes at once. Claims that are still to be bound are searched node
by node, but only where nodes can differ: new volumes of a class that is for any node can be made everywhere or nowhere.
"""

from collections.abc import Iterable

import numpy as np

from doorman.api.views.storage.persistent_volumes import PersistentVolumeClaim
from doorman.api.volume_annotations import SELECTED_NODE
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column
from doorman.scheduler.cache.node_selection import AnyTerm
from doorman.scheduler.framework import FINAL
from doorman.scheduler.volumes.pod_volume_claims import PodVolumeClaims
from doorman.scheduler.volumes.volume_search import NO_VOLUME, NODE_CONFLICT, publishes_capacities, search_volumes
from doorman.scheduler.volumes.volume_state import VolumeState
from doorman.semantics.volumes.volume_matching import class_of_claim


def volume_codes(claims: PodVolumeClaims, cluster: ClusterState, state: VolumeState) -> Column:
    """By row."""
    codes = _bound_codes(claims, cluster, state)
    if not claims.delayed:
        return codes
    delayed = PodVolumeClaims(delayed=claims.delayed)
    rows = cluster.rows_in_order()
    if are_for_any_node(claims.delayed, state):
        return np.asarray(codes | search_volumes(delayed, cluster.node(int(rows[0])), state).code)
    for row in rows.tolist():
        codes[row] |= search_volumes(delayed, cluster.node(row), state).code
    return codes


def _bound_codes(claims: PodVolumeClaims, cluster: ClusterState, state: VolumeState) -> Column:
    """The first claim that stands in the way says why."""
    codes: Column = np.zeros(cluster.size, dtype=np.int64)
    for claim in claims.bound:
        volume = state.volume(claim.spec.volume_name)
        if volume is None:
            codes[codes == 0] = NO_VOLUME | FINAL
            break
        affinity = volume.spec.node_affinity
        if affinity is not None and affinity.required is not None:
            reachable = AnyTerm(cluster, affinity.required.node_selector_terms).matches(cluster.all_rows)
            codes[(codes == 0) & (reachable == 0)] = NODE_CONFLICT | FINAL
    return codes


def are_for_any_node(claims: Iterable[PersistentVolumeClaim], state: VolumeState) -> bool:
    """Whether a search for the claims comes to the same on every node."""
    return all(_is_for_any_node(claim, state) for claim in claims)


def _is_for_any_node(claim: PersistentVolumeClaim, state: VolumeState) -> bool:
    name = class_of_claim(claim)
    storage_class = state.classes.get(name)
    if storage_class is None or storage_class.allowed_topologies or SELECTED_NODE in claim.metadata.annotations:
        return False
    return not publishes_capacities(storage_class, state) and not state.has_volumes_of_class(name)
