"""Pods that hold a place on a node, bound or assumed, and what the columns show of them."""

import msgspec

from doorman.api.views.pods import Pod
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.pod_record import PodRecord
from doorman.scheduler.cache.pod_shapes import Shape, ShapeTable


class PodCache:
    """Holds a use of each pod's shape."""

    def __init__(self, cluster: ClusterState, shapes: ShapeTable) -> None:
        self._cluster = cluster
        self._shapes = shapes
        self._records: dict[str, PodRecord] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._records

    def __len__(self) -> int:
        return len(self._records)

    @property
    def assumed_count(self) -> int:
        return sum(1 for record in self._records.values() if record.assumed)

    def get(self, key: str) -> PodRecord | None:
        return self._records.get(key)

    def assume(self, key: str, pod: Pod, shape: Shape, node: str) -> None:
        """A pod whose shape is held already is to go there."""
        self._add(PodRecord(key, pod, shape, node, assumed=True))

    def place(self, key: str, pod: Pod) -> None:
        """A pod that nobody knew is on a node."""
        self._add(PodRecord(key, pod, self._shapes.take(pod, placed=True), pod.spec.node_name, assumed=False))

    def replace(self, record: PodRecord, new: Pod) -> None:
        """Take over the pod's new state; the columns change only if they would show it."""
        if record.row >= 0 and record.pod.status.start_time != new.status.start_time:
            self._cluster.starts.note(record.row)
        leaving = bool(new.metadata.deletion_timestamp)
        if not record.assumed and not self._cluster.shows_pods and _has_same_shape(record.pod, new):
            record.pod = new
            if leaving is not record.leaving:
                self._cluster.reshape(record, record.shape, leaving=leaving)
            return
        old_shape = record.shape
        shape = self._shapes.take(new, placed=True)
        node = new.spec.node_name
        if (shape.demand, node, new.spec.priority) == (old_shape.demand, record.node, record.priority):
            record.pod = new
            record.assumed = False
            if shape is not old_shape or leaving is not record.leaving:
                # Usual when a pod is bound: it gets labels that say in which zone it is.
                self._cluster.reshape(record, shape, leaving=leaving)
        else:
            self.give_up(record)
            self._add(PodRecord(record.key, new, shape, node, assumed=False))
        self._shapes.release(old_shape)

    def give_up(self, record: PodRecord) -> None:
        """The sub_queue is free; whoever calls has a use for the shape."""
        del self._records[record.key]
        self._cluster.remove_pod(record)

    def remove(self, record: PodRecord) -> None:
        """The pod is gone."""
        self.give_up(record)
        self._shapes.release(record.shape)

    def _add(self, record: PodRecord) -> None:
        self._records[record.key] = record
        self._cluster.add_pod(record)


def on_node(record: PodRecord) -> Pod:
    """The pod as if it were bound to the node it was to go to."""
    if record.pod.spec.node_name:
        return record.pod
    return msgspec.structs.replace(record.pod, spec=msgspec.structs.replace(record.pod.spec, node_name=record.node))


def _has_same_shape(old: Pod, new: Pod) -> bool:
    """Most changes of a placed pod are of its status, which neither its shape nor the columns show."""
    before, after = old.metadata, new.metadata
    return before.labels == after.labels and before.owner_references == after.owner_references and old.spec == new.spec
