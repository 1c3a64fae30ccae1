"""How many volumes of each CSI driver nodes can attach, by row: what their CSINodes say."""

from typing import Final

import numpy as np

from doorman.api.views.storage.csi import CsiNode
from doorman.scheduler.cache.cluster_state import ClusterState
from doorman.scheduler.cache.node_columns import Column
from doorman.scheduler.volumes.volume_state import VolumeState

NO_LIMIT: Final = np.iinfo(np.int64).max


def limits_of(csi_node: CsiNode) -> dict[str, int]:
    """By driver; those without a limit are left out.

    >>> limits_of(CsiNode())
    {}
    """
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


class AttachLimits:
    """Worked out anew when a CSINode or the order of rows changes, which is rare."""

    def __init__(self, cluster: ClusterState, state: VolumeState) -> None:
        self._cluster = cluster
        self._state = state
        self._columns: dict[str, Column] = {}
        self._version = (-1, -1)

    def has_any(self, driver: str) -> bool:
        return driver in self._columns

    def column(self, driver: str) -> Column | None:
        """None: no node says one."""
        return self._columns.get(driver)

    def refresh(self) -> None:
        version = (self._state.csi_nodes_version, self._cluster.layout_version)
        if version == self._version:
            return
        self._version = version
        self._columns = {}
        for name, csi_node in self._state.csi_nodes.items():
            row = self._cluster.row_or_none(name)
            if row is None:
                continue
            for driver, limit in limits_of(csi_node).items():
                if driver not in self._columns:
                    self._columns[driver] = np.full(self._cluster.size, NO_LIMIT, dtype=np.int64)
                self._columns[driver][row] = limit
