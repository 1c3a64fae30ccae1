"""NodePorts: a host port can be held once a node."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from doorman.api.views.pods import Pod
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column, Rows
from doorman.scheduler.cache.pod_shapes import Shape
from doorman.scheduler.framework import ActionType, ClusterEvent, Detail, EventResource, Hint, NodeFilter, Scope, always
from doorman.semantics.pods.host_ports import HostPort, do_conflict, host_ports

REASON: Final = "node(s) didn't have free ports for the requested pod ports"
_TAKEN: Final = 1


class NodePorts:
    name = "NodePorts"
    filter_scope = Scope.ROW

    def filter_for(self, shape: Shape, cluster: ClusterState) -> NodeFilter | None:
        ports = shape.demand.ports
        return _Filter(cluster, ports) if ports else None

    def hints(self) -> Sequence[Hint]:
        return (
            Hint(EventResource.ASSIGNED_POD, ActionType.DELETE, _frees_a_port),
            Hint(EventResource.NODE, ActionType.ADD, always),
        )


def _frees_a_port(shape: Shape, event: ClusterEvent) -> bool:
    gone: Pod = event.old
    if not gone.spec.node_name and not gone.status.nominated_node_name:
        return False
    return do_conflict(shape.demand.ports, host_ports(gone.spec))


class _Filter:
    def __init__(self, cluster: ClusterState, ports: Sequence[HostPort]) -> None:
        self._cluster = cluster
        self._ports = ports

    def codes(self, rows: Rows) -> Column:
        if isinstance(rows, int):
            one: Column = np.array(len(self._cluster.ports.conflicts(rows, self._ports)) > 0) * np.int64(_TAKEN)
            return one
        codes: Column = np.zeros(self._cluster.size, dtype=np.int64)
        codes[self._cluster.ports.rows_with_conflict(self._ports)] = _TAKEN
        picked: Column = codes[rows]
        return picked

    def reasons(self, code: int) -> Sequence[str]:
        assert code == _TAKEN, "there is one verdict"
        return (REASON,)

    def details(self, row: int) -> Sequence[Detail]:
        taken = self._cluster.ports.conflicts(row, self._ports)
        return [Detail(reason=REASON, what=f"{port.protocol} {port.address}:{port.port} is in use") for port in taken]
